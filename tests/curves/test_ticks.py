"""Whole seconds put back on their tick, silence told from holes, engines added up."""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.curves.ticks import GAP, curve_of, fleet_of, steady

NAN = float("nan")


def rows(*samples: tuple[float, float, float]) -> np.ndarray:
    """(time, running, generation) with nothing waiting and no prompts."""
    return np.array([[t, n, 0.0, 0.0, g] for t, n, g in samples], dtype=np.float64)


@given(st.floats(0.9, 12.0), st.floats(0.0, 1.0, exclude_max=True), st.integers(8, 80), st.integers(0, 10**9))
def test_a_tick_is_found_again_within_a_second(tick: float, phase: float, n: int, start: int) -> None:
    true = start + phase + tick * np.arange(n)
    found = steady(np.floor(true))
    assert np.abs(found - true).max() <= 1.0 + 1e-6
    assert (np.floor(found + 1e-6) >= np.floor(true)).all()


def test_many_ticks_pin_the_phase() -> None:
    true = 1000.31 + 1.31 * np.arange(127)
    assert np.abs(steady(np.floor(true)) - true).max() < 0.05


def test_fractions_are_kept() -> None:
    time = np.array([1.25, 2.5, 3.75, 5.0])
    assert steady(time).tolist() == time.tolist()


def test_silence_after_a_line_of_nothing_is_idle_and_after_another_a_hole() -> None:
    curve = curve_of(
        rows((0.5, 3, 9), (10.5, 0, 0), (160.5, 2, 5), (170.5, 2, 5), (230.5, 1, 5)), silent_when_idle=False
    )
    assert curve.silent.tolist() == [False, True, False, False]
    assert curve.hole.tolist() == [False, False, False, True]


def test_an_engine_that_is_silent_when_idle_has_no_holes() -> None:
    curve = curve_of(rows((0.5, 3, 9), (1.5, 3, 9), (2.5, 3, 9), (99.5, 3, 9)), silent_when_idle=True)
    assert curve.silent.tolist() == [False, False, True]
    assert not curve.hole.any()


def test_engines_add_up_on_common_moments() -> None:
    a = curve_of(rows((0.0, 4, 40), (1.1, 4, 40), (2.2, 0, 0)), silent_when_idle=False)
    b = curve_of(rows((0.5, 2, 20), (1.6, 6, 60), (2.7, 0, 0)), silent_when_idle=False)
    fleet = fleet_of([a, b])
    assert fleet.time.tolist() == pytest.approx([0.0, 1.1, 2.2])
    # b at 1.1 lies between 2 and 6: 2 + 4 * .6/1.1
    assert fleet.load.tolist() == pytest.approx([4.0, 4 + 2 + 4 * 0.6 / 1.1, 6 * 0.5 / 1.1])


def test_one_engine_at_work_is_no_silence_of_the_fleet() -> None:
    quiet = curve_of(rows((0.0, 1, 1), (1.0, 0, 0), (60.0, 1, 1)), silent_when_idle=False)
    busy = curve_of(
        np.column_stack([np.arange(61.0), np.full(61, 2.0), *np.zeros((3, 61))]), silent_when_idle=False
    )
    fleet = fleet_of([quiet, busy])
    assert not fleet.silent.any()
    assert not fleet.hole.any()
    assert fleet.load[30] == 2.0


@pytest.mark.parametrize("seed", range(8))
def test_pauses_of_the_fleet_are_those_of_every_engine(seed: int) -> None:
    """Against each pair of stretches looked at: a pause is silent where no engine has samples across it, and
    a hole where any engine lacks some."""
    rng = np.random.default_rng(seed)
    curves = []
    for quiet in (False, True, False):
        time = 0.3 + np.arange(400.0)
        keep = np.ones(400, dtype=bool)
        for start in rng.integers(0, 380, 12):
            keep[start : start + rng.integers(3, 20)] = False
        load = (rng.random(400) < 0.6) * 4.0
        nothing = np.full(int(keep.sum()), np.nan)
        rows = np.column_stack([time[keep], load[keep], 0 * load[keep], nothing, nothing])
        curves.append(curve_of(rows, silent_when_idle=quiet))
    fleet = fleet_of(curves)
    wide = np.diff(fleet.time) > GAP * fleet.tick
    for m, (low, high) in enumerate(pairwise(fleet.time.tolist())):
        across = [
            (c, k)
            for c in curves
            for k in range(len(c) - 1)
            if low < c.time[k + 1] - 1e-9 and high > c.time[k] + 1e-9
        ]
        hole = any(c.hole[k] for c, k in across)
        sampled = any(not c.silent[k] and not c.hole[k] for c, k in across)
        assert fleet.hole[m] == hole
        assert fleet.silent[m] == (bool(wide[m]) and not sampled and not hole)


def test_many_pauses_of_several_engines_take_no_time() -> None:
    begin = perf_counter()
    curves = []
    for _ in range(4):
        time = 0.3 + np.arange(60_000.0)
        load = (np.arange(60_000) % 60 < 40) * 4.0
        curves.append(curve_of(np.column_stack([time, load, load, load, load]), silent_when_idle=False))
    assert len(fleet_of(curves)) == 60_000
    assert perf_counter() - begin < 5
