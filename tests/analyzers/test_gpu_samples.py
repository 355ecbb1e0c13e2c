"""GPU samples are counted in generation, with an interval; never integrated, never of another time."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import frame, tables

from rollprof.analyzers.analyze import analyze
from rollprof.analyzers.results import Analysis
from rollprof.analyzers.tables import Settings
from rollprof.schema.tables import BY_NAME

T0 = 1_796_000_000.0
STEPS = [
    {"step": 1, "logged_at": T0 + 100, "step_s": 100.0, "generate_s": 50.0, "rollouts": 4},
    {"step": 2, "logged_at": T0 + 200, "step_s": 100.0, "generate_s": 50.0, "rollouts": 4},
]


def run(
    samples: list[dict[str, Any]], steps: list[dict[str, Any]] | None = None, moved: float = 0.0
) -> Analysis:
    gpus = frame(BY_NAME["gpus"], [{**s, "time": s["time"] + T0 + moved} for s in samples])
    made = tables(steps=STEPS if steps is None else steps, fact={"mode": "sync", "gpus": 2})
    return analyze(replace(made, gpus=gpus), Settings(resamples=20))


def each_second(idle_from: float) -> list[dict[str, Any]]:
    """Two GPUs for 200 s: busy, but idle from second `idle_from` of each step's generation on."""
    return [
        {"time": float(t), "gpu": g, "utilization": 0.01 if t % 100 >= idle_from else 0.9}
        for t in range(200)
        for g in ("0", "1")
    ]


def test_samples_in_generation_are_counted() -> None:
    a = run(each_second(40))
    figure = a.figures["gpu_util_idle"]
    assert (figure.basis, figure.bound) == ("measured", "lower")
    # of the 51 seconds 0..50 of each generation 11 are idle
    assert figure.value == pytest.approx(11 / 51)
    assert figure.n == 204
    assert [s.figures["gpu_util_idle"].value for s in a.steps] == [pytest.approx(11 / 51)] * 2


def test_two_gpus_at_one_moment_are_one_observation() -> None:
    figure = run(each_second(40)).figures["gpu_util_idle"]
    assert figure.interval is not None
    # Wilson's 90 % interval of 22 in 102
    assert figure.interval == (pytest.approx(0.157, abs=0.002), pytest.approx(0.289, abs=0.002))


def test_few_samples_tell_the_run_but_no_step() -> None:
    a = run([s for s in each_second(40) if s["time"] % 15 == 0])
    assert a.figures["gpu_util_idle"].value is not None
    assert all("gpu_util_idle" not in s.figures for s in a.steps)


def test_telemetry_of_another_time_is_refused() -> None:
    a = run(each_second(40), moved=86400.0)
    assert a.figures["gpu_util_idle"].value is None
    assert "--tz" in a.figures["gpu_util_idle"].note


def test_without_a_clock_the_whole_of_it_counts_and_says_so() -> None:
    a = run(each_second(40), [{"step": 1, "generate_s": 50.0, "step_s": 100.0, "rollouts": 4}])
    figure = a.figures["gpu_util_idle"]
    assert figure.value == pytest.approx(0.6)
    assert "no clock" in figure.note


def test_no_telemetry_no_figure() -> None:
    assert run([]).figures["gpu_util_idle"].value is None
