"""The decode cost fitted to a run's own times, against replays whose cost is known."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, length_rows, timed_rows

from rollprof.model.decode import DecodeCost
from rollprof.model.simulate import Replay, replay

COST = DecodeCost(0.0, 0.008, 0.008 * 0.02, 0.0)
FACT = {"mode": "sync", "engines": 1}


def drawn(seed: int, steps: int, n: int = 128) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [
        np.minimum(
            rng.lognormal(5.0 + rng.normal(0, 0.4), 0.5 + rng.random(), n).astype(int) + 1, 4000
        ).tolist()
        for _ in range(steps)
    ]


def replayed(lengths: list[int]) -> Replay:
    return replay(lengths, COST)


def test_from_completion_times() -> None:
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = []
    truth = []
    for s, L in enumerate(drawn(3, 4)):
        r = replayed(L)
        noise = 1 + 0.01 * rng.standard_normal(len(L))
        rows += timed_rows(L, (r.finish * noise).tolist(), step=s, t0=1.7e9 + 1000 * s)
        truth.append(r.effective_idle)
    a = analyzed(rows, fact=FACT)
    for step, expected in zip(a.steps, truth, strict=True):
        f = step.figures["effective_idle"]
        assert f.basis == "calibrated"
        assert f.value == pytest.approx(expected, abs=0.05)
        assert f.interval is not None
        assert f.interval[0] <= expected <= f.interval[1] + 0.01
        assert step.figures["generation_idle"].value == f.value
        assert step.figures["slot_idle"].basis == "measured"
    run = a.figures["effective_idle"]
    assert "completion times" in run.note
    assert a.figures["generation_idle"].bound is None
    assert a.figures["generation_idle"].others.keys() >= {"measured", "modelled"}


def test_from_the_durations_of_steps() -> None:
    rng = np.random.default_rng(2)
    lengths = drawn(4, 30)
    replays = [replayed(L) for L in lengths]
    rows = [r for s, L in enumerate(lengths) for r in length_rows(L, step=s)]
    steps = [
        {
            "step": s,
            "generate_s": r.duration * (1 + 0.03 * rng.standard_normal()),
            "step_s": 2 * r.duration + 9,
        }
        for s, r in enumerate(replays)
    ]
    a = analyzed(rows, steps, fact=FACT)
    slot, effective = a.figures["slot_idle"], a.figures["effective_idle"]
    assert (slot.basis, effective.basis) == ("calibrated", "calibrated")
    weights = [r.duration for r in replays]
    assert slot.value == pytest.approx(np.average([r.slot_idle for r in replays], weights=weights), abs=0.06)
    covered = 0
    for step, r in zip(a.steps, replays, strict=True):
        interval = step.figures["slot_idle"].interval
        assert interval is not None
        covered += interval[0] <= r.slot_idle <= interval[1]
    assert covered >= 25
    assert "step durations" in effective.note
    assert effective.value is not None
    assert a.figures["step_idle"].basis == "calibrated"
    assert a.headline == "step_idle"


def test_durations_that_do_not_go_with_length_leave_the_bracket() -> None:
    rng = np.random.default_rng(5)
    lengths = drawn(6, 12)
    rows = [r for s, L in enumerate(lengths) for r in length_rows(L, step=s)]
    steps = [{"step": s, "generate_s": float(rng.uniform(20, 60))} for s in range(12)]
    a = analyzed(rows, steps, fact=FACT)
    slot = a.figures["slot_idle"]
    assert (slot.value, slot.basis) == (None, "modelled")
    assert slot.interval is not None
    assert a.figures["effective_idle"].value is None
    assert "do not identify the decode cost" in a.figures["effective_idle"].note
    assert [f.code for f in a.findings if "decode cost" in f.text] == ["decode_cost_not_identified"]


def test_times_with_tools_in_them_are_not_decode_times() -> None:
    L = drawn(7, 1)[0]
    rows = timed_rows(L, replayed(L).finish.tolist(), tool_s=[1.0] * len(L))
    f = analyzed(rows, fact=FACT).figures["effective_idle"]
    assert f.value is None
    assert "tools" in f.note
    agents = analyzed(timed_rows(L, replayed(L).finish.tolist()), fact={**FACT, "multi_turn": True})
    assert agents.figures["effective_idle"].value is None


def test_what_placement_alone_could_win_back() -> None:
    # two engines, all the long rollouts on one of them: a*M is shared by neither
    rng = np.random.default_rng(8)
    short, long = rng.integers(20, 60, 64).tolist(), rng.integers(300, 400, 64).tolist()
    cost = DecodeCost(0.0, 0.001, 0.0005, 0.0)
    finish = [replay(x, cost).finish.tolist() for x in (short, long)]
    rows = timed_rows([*short, *long], [*finish[0], *finish[1]], engine=["a"] * 64 + ["b"] * 64)
    a = analyzed(rows, fact={"mode": "sync"})
    M, work = max(long), sum(short) + sum(long)
    took = 0.001 * M + 0.0005 * sum(long)
    ideal = 0.001 * M + 0.0005 * work / 2
    f = a.figures["recoverable"]
    assert (f.basis, f.value) == ("calibrated", pytest.approx(1 - ideal / took, abs=0.03))
    assert f.value is not None
    assert a.figures["engine_idle"].value is not None
    assert f.value <= a.figures["engine_idle"].value + 1e-9


def test_the_fit_stays_between_engine_idle_and_slot_idle() -> None:
    rng = np.random.default_rng(9)
    L = drawn(10, 1, 200)[0]
    finish = replayed(L).finish * np.exp(0.5 * rng.standard_normal(len(L)))
    a = analyzed(timed_rows(L, finish.tolist()), fact=FACT)
    effective, slot = a.figures["effective_idle"], a.figures["slot_idle"]
    if effective.value is not None and slot.value is not None:
        assert effective.value <= slot.value
        assert effective.interval is not None
        assert effective.interval[1] <= slot.value + 1e-9


def test_a_calibrated_slot_idle_beats_a_mere_bound() -> None:
    lengths = drawn(11, 20)
    cost = DecodeCost(0.0, 0.008, 0.0004, 0.0)
    replays = [replay(L, cost, slots=32) for L in lengths]
    rows = [r for s, L in enumerate(lengths) for r in length_rows(L, step=s)]
    steps = [
        {"step": s, "generate_s": r.duration, "rollout_s_mean": r.finish.mean(), "rollout_s_max": r.duration}
        for s, r in enumerate(replays)
    ]
    a = analyzed(rows, steps, fact={**FACT, "max_num_seqs": 32})
    f = a.figures["slot_idle"]
    assert (f.basis, f.bound) == ("calibrated", None)
    logged = f.others["logged"]
    assert isinstance(logged, tuple)
    assert f.value is not None
    assert logged[0] <= f.value <= logged[1]
    truth = np.average([r.slot_idle for r in replays], weights=[r.duration for r in replays])
    assert f.value == pytest.approx(truth, abs=0.08)
