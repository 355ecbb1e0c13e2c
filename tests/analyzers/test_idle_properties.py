"""What holds for any run: the order of the idle figures, weights, and what does not matter."""

from __future__ import annotations

import itertools
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, timed_rows

from rollprof.analyzers.results import Analysis
from rollprof.analyzers.tables import Settings

ORDER = ("engine_idle", "effective_idle", "slot_idle")
FRACTIONS = (*ORDER, "generation_idle", "step_idle", "tail_time_share", "recoverable", "queue_share")

rollout = st.tuples(
    st.integers(1, 3000),  # tokens
    st.floats(0.0, 5.0),  # submitted
    st.floats(0.01, 100.0),  # took
    st.sampled_from(["a", "b", "c"]),
)
steps = st.lists(st.lists(rollout, min_size=1, max_size=30), min_size=1, max_size=5)
slots = st.one_of(st.none(), st.integers(1, 20))


def rows_of(run: list[list[tuple[int, float, float, str]]], k: float = 1.0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for s, step in enumerate(run):
        L, begin, took, engine = (list(x) for x in zip(*step, strict=True))
        finish = [k * (b + t) for b, t in zip(begin, took, strict=True)]
        start = [k * b for b in begin]
        rows += timed_rows(L, finish, start, step=s, t0=1.7e9 + 1e6 * s, engine=engine)
    return rows


def run(rows: list[dict[str, Any]], q: int | None, **more: Any) -> Analysis:
    fact = {"mode": "sync", "gpus": 8, **({"max_num_seqs": q} if q else {})}
    return analyzed(rows, fact=fact, settings=Settings(resamples=20, **more))


@given(steps, slots)
@settings(max_examples=40, deadline=None)
def test_dark_engines_then_what_stragglers_cost_then_empty_slots(
    drawn: list[list[tuple[int, float, float, str]]], q: int | None
) -> None:
    a = run(rows_of(drawn), q)
    for holder in (*(s.figures for s in a.steps), a.figures):
        values = [f.value for n in ORDER if (f := holder.get(n)) is not None and f.value is not None]
        assert all(x <= y + 1e-9 for x, y in itertools.pairwise(values)), values
        for name in FRACTIONS:
            figure = holder.get(name)
            if figure is None:
                continue
            for x in (figure.value, *(figure.interval or ())):
                assert x is None or -1e-9 <= x <= 1 + 1e-9, (name, x)
            if figure.value is not None and figure.interval is not None:
                assert figure.interval[0] <= figure.value <= figure.interval[1]


@given(steps, slots, st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_the_order_of_rows_does_not_matter(
    drawn: list[list[tuple[int, float, float, str]]], q: int | None, seed: int
) -> None:
    rows = rows_of(drawn)
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    a, b = run(rows, q), run(shuffled, q)
    assert a.figures.keys() == b.figures.keys()
    for name in (
        "slot_idle",
        "engine_idle",
        "straggler_wait_mean_s",
        "tail_time_share",
        "response_tokens_p99",
    ):
        assert a.figures[name].value == pytest.approx(b.figures[name].value, abs=1e-9)


@given(steps, slots)
@settings(max_examples=15, deadline=None)
def test_a_run_is_the_weighted_mean_of_its_halves(
    drawn: list[list[tuple[int, float, float, str]]], q: int | None
) -> None:
    rows = rows_of([*drawn, *drawn[::-1]])
    middle = len(drawn) - 1
    whole, first, second = (
        run(rows, q),
        run(rows, q, steps=(None, middle)),
        run(rows, q, steps=(middle + 1, None)),
    )
    assert first.run.steps + second.run.steps == whole.run.steps
    for name in ("gpu_hours_lost", "tail_time_s"):
        all_, one, other = (part.figures[name] for part in (whole, first, second))
        # a decode cost is fitted to the steps that are there: six may carry one where three do not
        if {all_.basis, one.basis, other.basis} == {"measured"}:
            assert all_.value == pytest.approx(one.value + other.value)
    halves = [(p.figures["slot_idle"].value, slot_seconds(p, rows, q)) for p in (first, second)]
    mean = sum(v * w for v, w in halves if v is not None) / sum(w for _, w in halves)
    assert whole.figures["slot_idle"].value == pytest.approx(mean)


def slot_seconds(part: Analysis, rows: list[dict[str, Any]], q: int | None) -> float:
    """`C*T` of the steps of a part, from the rows as stored: seconds since 1970 are good to 0.2 us, which
    shows in a step of 10 ms."""
    by_step = {s.step: [r for r in rows if r["step"] == s.step] for s in part.steps}
    engines = max(len({r["engine"] for r in step}) for step in by_step.values())
    total = 0.0
    for step in by_step.values():
        C = min(len(step), engines * q) if q else len(step)
        total += C * (max(r["completed_at"] for r in step) - min(r["started_at"] for r in step))
    return total


@given(steps, slots, st.sampled_from([0.25, 8.0]))
@settings(max_examples=15, deadline=None)
def test_a_slower_clock_changes_times_and_no_share(
    drawn: list[list[tuple[int, float, float, str]]], q: int | None, k: float
) -> None:
    a, b = run(rows_of(drawn), q), run(rows_of(drawn, k), q)
    for name in ("slot_idle", "engine_idle", "tail_time_share", "queue_share"):
        assert a.figures[name].value == pytest.approx(b.figures[name].value, abs=1e-6)
    for name in ("straggler_wait_mean_s", "straggler_wait_max_s", "tail_time_s"):
        assert k * a.figures[name].value == pytest.approx(b.figures[name].value, rel=1e-4, abs=1e-5)


def test_everything_at_once_leaves_nothing_idle() -> None:
    a = run(timed_rows([50] * 40, [7.0] * 40, engine=["a", "b"] * 20), None)
    assert [a.figures[n].value for n in ("slot_idle", "engine_idle", "tail_time_share")] == [0, 0, 0]
    assert a.findings == [] or {f.severity for f in a.findings} == {"info"}
