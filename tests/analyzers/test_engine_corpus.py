"""A real engine's own requests: the clock, with and without a queue, and what durations alone may claim."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, engine_requests

from rollprof.analyzers.results import Analysis

CLOCK = {
    "wide_256": (None, [0.672, 0.817, 0.570, 0.726, 0.646]),
    "queue_32slots": (32, [0.194, 0.453, 0.525, 0.395]),
}


def of(corpus: Path, name: str, **more: object) -> Analysis:
    slots = CLOCK[name][0]
    fact = {"mode": "sync", "engines": 1, **({"max_num_seqs": slots} if slots else {})}
    return analyzed(engine_requests(corpus, name), fact=fact, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CLOCK)
def test_slot_idle_is_the_clock(corpus: Path, name: str) -> None:
    a = of(corpus, name)
    got = [s.figures["slot_idle"] for s in a.steps]
    assert [f.value for f in got] == pytest.approx(CLOCK[name][1], abs=0.001)
    assert {f.basis for f in got} == {"measured"}


@pytest.mark.parametrize("name", CLOCK)
def test_the_order_and_the_bracket_hold_on_every_step(corpus: Path, name: str) -> None:
    from small_runs import tables

    from rollprof.analyzers.generations import generations
    from rollprof.analyzers.idle.run import analyze_idle
    from rollprof.analyzers.run_data import load_run
    from rollprof.analyzers.tables import Settings

    slots = CLOCK[name][0]
    fact = {"mode": "sync", "engines": 1, **({"max_num_seqs": slots} if slots else {})}
    run = load_run(tables(engine_requests(corpus, name), fact=fact), Settings(), "train")
    for phase in analyze_idle(run, generations(run)).phases:
        slot, effective, engine = (
            phase.figures[n].value for n in ("slot_idle", "effective_idle", "engine_idle")
        )
        assert slot is not None
        assert effective is not None
        assert engine is not None
        assert engine <= effective <= slot
        bracket = phase.slot_others["modelled"]
        assert isinstance(bracket, tuple)
        assert bracket[0] <= slot <= bracket[1]


@pytest.mark.parametrize("name", CLOCK)
def test_the_identity_on_the_fitted_cost_gives_back_the_clock(corpus: Path, name: str) -> None:
    from rollprof.model.calibrate import fit_rollouts
    from rollprof.model.shape import slot_idle, step_shape

    slots, clock = CLOCK[name]
    rows = engine_requests(corpus, name)
    for step, expected in enumerate(clock):
        mine = sorted((r for r in rows if r["step"] == step), key=lambda r: r["started_at"])
        L = [r["response_tokens"] for r in mine]
        start, finish = ([r[k] for r in mine] for k in ("started_at", "completed_at"))
        fit = fit_rollouts(finish, L, None, start, slots, 1)
        assert slot_idle(step_shape(L, slots=slots), fit.cost) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("name", CLOCK)
def test_durations_alone_cover_the_clock_or_stay_a_bracket(corpus: Path, name: str) -> None:
    rows = engine_requests(corpus, name)
    slots, clock = CLOCK[name]
    steps = []
    for step in range(len(clock)):
        mine = [r for r in rows if r["step"] == step]
        took = max(r["completed_at"] for r in mine) - min(r["started_at"] for r in mine)
        steps.append({"step": step, "generate_s": took})
    fact = {"mode": "sync", "engines": 1, **({"max_num_seqs": slots} if slots else {})}
    a = analyzed(engine_requests(corpus, name, times=False), steps, fact=fact)
    for s, expected in zip(a.steps, clock, strict=True):
        f = s.figures["slot_idle"]
        assert f.interval is not None
        assert f.interval[0] <= expected <= f.interval[1]
        assert f.value is None or f.basis == "calibrated"


def test_client_side_means_are_wrong_by_the_queue_and_the_bound_says_so(corpus: Path) -> None:
    rows = engine_requests(corpus, "queue_32slots")
    steps = []
    for step in range(4):
        took = np.array([r["completed_at"] - r["started_at"] for r in rows if r["step"] == step])
        steps.append(
            {"step": step, "rollouts": 128, "rollout_s_mean": took.mean(), "rollout_s_max": took.max()}
        )
    a = analyzed(steps=steps, fact={"mode": "sync", "engines": 1, "max_num_seqs": 32})
    for s, expected in zip(a.steps, CLOCK["queue_32slots"][1], strict=True):
        f = s.figures["slot_idle"]
        assert (f.basis, f.bound) == ("logged", "lower")
        assert f.value is not None
        assert f.interval is not None
        assert f.value <= expected + 0.001
        assert f.interval[0] - 0.001 <= expected <= f.interval[1] + 0.001
