from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, run_of

from rollprof.analyzers.phases import PhaseResult, analyze_phases

TWO = [
    {"step": 1, "step_s": 10.0, "generate_s": 6.0, "update_s": 3.0},
    {"step": 2, "step_s": 30.0, "generate_s": 12.0, "update_s": 9.0, "checkpoint_s": 5.0},
]


def shares(steps, **fact) -> PhaseResult:  # type: ignore[no-untyped-def]
    return analyze_phases(run_of(steps=steps, fact=fact))


def test_shares_are_sums_over_sums() -> None:
    r = shares(TWO)
    assert {n: f.value for n, f in r.shares.items()} == {
        "generate": pytest.approx(18 / 40),
        "update": pytest.approx(12 / 40),
        "checkpoint": pytest.approx(5 / 40),  # a step without a checkpoint spent no time on one
        "other": pytest.approx(5 / 40),
    }
    assert sum(f.value or 0 for f in r.shares.values()) == pytest.approx(1)
    assert r.figures["generation_share"].value == r.figures["phase_share_generate"].value
    assert r.figures["phase_share_update"].basis == "logged"
    assert r.steps[1]["phase_share_checkpoint"].value == pytest.approx(1 / 6)
    assert not r.overlap


def test_generation_beside_training_is_not_part_of_the_sum() -> None:
    steps = [{"step": 1, "step_s": 10.0, "generate_s": 9.5, "wait_s": 1.0, "update_s": 8.0}]
    r = shares(steps)
    assert r.beside == {"generate"}
    assert r.shares["other"].value == pytest.approx(0.1)
    assert "beside" in r.shares["generate"].note
    # an asynchronous run is not waited for even where the sum would fit
    slow = [{"step": 1, "step_s": 20.0, "generate_s": 9.5, "update_s": 8.0}]
    assert shares(slow, mode="async").shares["other"].value == pytest.approx(0.6)


def test_evaluation_after_the_clock_has_stopped() -> None:
    steps = [{"step": 1, "step_s": 10.0, "generate_s": 6.0, "update_s": 3.0, "eval_s": 4.0}]
    assert shares(steps).beside in ({"generate"}, {"eval"})


def test_phases_that_cannot_fit_are_an_alarm() -> None:
    steps = [{"step": 1, "step_s": 10.0, "reward_s": 9.0, "update_s": 8.0}]
    r = shares(steps)
    assert r.overlap
    assert "other" not in r.shares
    a = analyzed(steps=steps)
    assert [f.code for f in a.findings if f.severity == "alarm"] == ["phases_exceed_step"]


def test_without_step_times_there_are_no_shares() -> None:
    r = shares([{"step": 1, "generate_s": 5.0}])
    assert r.shares == {}
    assert r.figures["generation_share"].value is None


def test_columns_are_medians_over_steps() -> None:
    steps = [{"step": s, "update_s": u, "step_s": 10.0} for s, u in ((1, 1.0), (2, 2.0), (3, 90.0))]
    f = analyzed(steps=steps).figures["update_s"]
    assert (f.value, f.unit, f.basis, f.n) == (2, "s", "logged", 3)
    assert "values_s" not in analyzed(steps=steps).figures


def test_throughput_is_logged_or_counted() -> None:
    steps = [{"step": 1, "step_s": 10.0, "tokens_total": 8000.0}, {"step": 2, "tokens_per_gpu_s": 300.0}]
    a = analyzed(steps=steps, fact={"gpus": 4})
    assert a.steps[0].figures["tokens_per_gpu_s"].value == 200
    assert a.figures["tokens_per_gpu_s"].value == 250
