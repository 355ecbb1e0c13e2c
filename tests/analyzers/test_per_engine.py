"""Each engine's figures against areas worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rollprof.analyzers.per_engine import done, per_engine
from rollprof.curves.ticks import Curve, curve_of, fleet_of
from rollprof.curves.windows import find_windows

Row = tuple[float, float, float, float, float]


def sampled(load: list[tuple[float, float]], *, begin: float = 0.0, rate: float = 10.0) -> np.ndarray:
    """Rows of a second each: (running, waiting) as given; every running request makes `rate` tokens/s."""
    rows, before = [], 0.0
    for k, (running, waiting) in enumerate(load):
        read = 100.0 if running and not before else 0.0
        made = rate * (running + before) / 2
        rows.append((begin + k + 0.25, running, waiting, read, made, running / 20))
        before = running
    return np.array(rows)


def curves(raw: dict[str, np.ndarray], *, silent: bool = False) -> dict[str, Curve]:
    return {n: curve_of(rows[:, :5], silent_when_idle=silent) for n, rows in raw.items()}


IDLE = [(0.0, 0.0)] * 4
FULL = [*IDLE, *[(8.0, 0.0)] * 20, *IDLE]
HALF = [*IDLE, *[(8.0, 0.0)] * 10, *[(0.0, 0.0)] * 10, *IDLE]
QUEUED = [*IDLE, *[(8.0, 8.0)] * 10, *[(8.0, 0.0)] * 10, *IDLE]


def test_engines_beside_each_other_share_the_window_and_the_slots() -> None:
    raw = {"a": sampled(FULL), "b": sampled(HALF), "c": sampled([(n / 2, w) for n, w in FULL])}
    own = curves(raw)
    windows = find_windows(fleet_of(list(own.values())), None)
    assert len(windows) == 1
    found = {e.engine: e.figures for e in per_engine(own, raw, windows, None)}
    for name, slots, dark in (("a", 0.0, 0.0), ("b", 0.5, 0.5), ("c", 0.5, 0.0)):
        assert found[name]["slot_idle"].value == pytest.approx(slots, abs=0.04), name
        assert found[name]["engine_idle"].value == pytest.approx(dark, abs=0.04), name
        for figure in found[name].values():
            assert figure.value is not None
            assert figure.interval is not None
            assert figure.interval[0] <= figure.value <= figure.interval[1]
            assert figure.basis == "measured"
    assert found["b"]["throughput_idle"].value == pytest.approx(0.5, abs=0.05)
    assert found["a"]["kv_usage_max"].value == 0.4
    assert found["c"]["kv_usage_max"].value == 0.2


def test_what_waits_takes_no_slot() -> None:
    raw = {"a": sampled(QUEUED)}
    own = curves(raw)
    (engine,) = per_engine(own, raw, find_windows(own["a"], None), None)
    assert engine.figures["slot_idle"].value == pytest.approx(0.0, abs=0.04)
    # 10 of 20 samples have 8 waiting beside 8 running
    assert engine.figures["queue_share"].value == pytest.approx(80 / 240, abs=0.01)


def test_an_engine_that_is_silent_when_idle_is_done_at_its_last_line() -> None:
    busy = {"a": sampled([(8.0, 0.0)] * 40), "b": sampled([(8.0, 0.0)] * 20)}
    later = np.array([100.0, 0, 0, 0, 0, 0])
    raw = {n: np.concatenate([rows, rows + later]) for n, rows in busy.items()}
    own = curves(raw, silent=True)
    windows = find_windows(fleet_of(list(own.values())), None)
    assert len(windows) == 2
    assert done(own["b"], windows[0]) == pytest.approx(20, abs=1)
    found = {e.engine: e.figures for e in per_engine(own, raw, windows, None)}
    assert found["a"]["engine_idle"].value == pytest.approx(0.0, abs=0.04)
    assert found["b"]["engine_idle"].value == pytest.approx(0.5, abs=0.04)
    assert found["b"]["slot_idle"].value == pytest.approx(0.5, abs=0.04)


def test_an_engine_that_was_not_there_yet_is_not_idle() -> None:
    late = sampled(FULL, begin=100.0)
    raw = {"a": np.concatenate([sampled(FULL), late]), "b": late}
    own = curves(raw)
    windows = find_windows(fleet_of(list(own.values())), None)
    assert len(windows) == 2
    found = {e.engine: e.figures for e in per_engine(own, raw, windows, None)}
    assert found["b"]["slot_idle"].n == 1
    assert found["b"]["slot_idle"].value == pytest.approx(0.0, abs=0.05)
