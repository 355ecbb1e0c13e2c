"""Rules against figures whose value, interval and steps are written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.analyzers.results import Analysis, Figure, Lengths, RunInfo, StepFigure, StepResult
from rollprof.gate.measure import Measured, measure
from rollprof.gate.rules import Limit, Place, Rule
from rollprof.gate.verdict import Outcome, Policy, Verdict, judge


def analysis(figures: Mapping[str, Figure], steps: Sequence[StepResult] = ()) -> Analysis:
    run = RunInfo("verl", None, None, len(steps) or 1, 8, 2, 8.0, 4.0, 1024.0, {}, ())
    lengths = Lengths("tokens", None, None, None)
    return Analysis(run, figures, steps, (), "step_idle", lengths, {}, (), (), (), (), {})


def idle(value: float | None, low: float, high: float) -> Figure:
    return Figure("step_idle", value, "fraction", "calibrated", None, 5, (low, high))


def rule(figure: str, limit: float, kind: str = "max", **more: object) -> Rule:
    return Rule(figure, kind, Limit(limit, str(limit)), Place("--max"), **more)  # type: ignore[arg-type]


def outcome(figure: Figure, one: Rule, **policy: object) -> Outcome:
    verdict = judge(analysis({figure.name: figure}), [one], Policy(**{"min_steps": 0, **policy}))  # type: ignore[arg-type]
    return verdict.outcomes[0]


@pytest.mark.parametrize(
    ("low", "high", "limit", "kind", "status"),
    [
        (0.31, 0.41, 0.30, "max", "broken"),
        (0.30, 0.41, 0.30, "max", "undecided"),  # the low end is the limit: not beyond it
        (0.20, 0.30, 0.30, "max", "holds"),
        (0.20, 0.31, 0.30, "max", "undecided"),
        (0.30, 0.30, 0.30, "max", "holds"),  # comparison is strict
        (0.30, 0.30, 0.30, "min", "holds"),
        (0.20, 0.29, 0.30, "min", "broken"),
        (0.20, 0.30, 0.30, "min", "undecided"),
        (0.30, 0.40, 0.30, "min", "holds"),
        (0.0, 0.0, 0.0, "max", "holds"),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, limit: float, kind: str, status: str) -> None:
    assert outcome(idle((low + high) / 2, low, high), rule("step_idle", limit, kind)).status == status
    # a bracket without a value decides the same way
    assert outcome(idle(None, low, high), rule("step_idle", limit, kind)).status == status


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.sampled_from(["max", "min"]))
def test_broken_never_means_that_the_limit_may_be_kept(a: float, b: float, limit: float, kind: str) -> None:
    low, high = min(a, b), max(a, b)
    status = outcome(idle(None, low, high), rule("step_idle", limit, kind)).status
    keeps = [end <= limit if kind == "max" else end >= limit for end in (low, high)]
    assert status == ("holds" if all(keeps) else "undecided" if any(keeps) else "broken")
    strict = outcome(idle(None, low, high), rule("step_idle", limit, kind), strict=True).status
    assert strict == ("holds" if all(keeps) else "broken")


STEPS = [
    StepResult(n, {"generate_s": float(s)}, {"step_idle": StepFigure(v, "calibrated", (v - 0.1, v + 0.1))})
    for n, s, v in ((1, 90, 0.5), (2, 10, 0.2), (3, 20, 0.3), (4, 30, 0.4), (5, 40, 0.1))
]


@pytest.mark.parametrize(
    ("aggregate", "value"), [("median", 30.0), ("mean", 38.0), ("p95", 90.0), ("max", 90.0)]
)
def test_aggregates_over_steps(aggregate: str, value: float) -> None:
    found = measure(analysis({}, STEPS), "generate_s", aggregate)  # type: ignore[arg-type]
    assert isinstance(found, Measured)
    assert (found.value, found.interval, found.steps) == (value, (value, value), 5)
    assert (found.worst, found.best, found.basis) == ((1, 90.0), (2, 10.0), "logged")


def test_an_aggregate_carries_the_intervals_of_the_steps() -> None:
    found = measure(analysis({}, STEPS), "step_idle", "median")
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(0.3)
    assert found.interval == pytest.approx((0.2, 0.4))
    assert (
        measure(analysis({}, STEPS), "icc_log_length", "mean") == "has no value per step to take the mean of"
    )


def make(status: str, level: str = "error", value: float = 1.0) -> Outcome:
    one = rule("step_idle", 0.5, level=level)
    return Outcome(one, "step_idle", status, "fraction", value=value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outcomes", "policy", "code"),
    [
        ([make("holds")], {}, 0),
        ([make("undecided")], {}, 0),
        ([make("undecided")], {"error_on_warning": True}, 1),
        ([make("broken")], {}, 1),
        ([make("broken")], {"exit_zero": True}, 0),
        ([make("broken", "warn")], {}, 0),
        ([make("broken", "warn")], {"error_on_warning": True}, 1),
        ([make("unknown")], {}, 2),
        ([make("unknown", "warn")], {}, 2),
        ([make("skipped")], {"allow_missing": True, "error_on_warning": True}, 0),
        ([make("unknown"), make("broken")], {}, 1),
        ([make("unknown"), make("broken")], {"exit_zero": True}, 2),
        ([], {}, 0),
    ],
)
def test_exit_codes(outcomes: list[Outcome], policy: dict[str, bool], code: int) -> None:
    assert Verdict(tuple(outcomes), Policy(**policy), 5).exit_code == code  # type: ignore[arg-type]


def test_worst_first() -> None:
    near, far = make("broken", value=0.6), make("broken", value=0.9)
    warns, unsure, lacking, fine = make("broken", "warn"), make("undecided"), make("unknown"), make("holds")
    verdict = Verdict((fine, unsure, near, lacking, warns, far), Policy(), 5)
    assert verdict.worst_first == (far, near, warns, lacking, unsure, fine)
