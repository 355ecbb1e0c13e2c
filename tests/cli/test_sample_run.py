"""The run of `rollprof demo`: always the same, long-tailed, and consistent with the cost it is made from."""

from __future__ import annotations

import json
from collections import defaultdict
from statistics import fmean, median
from typing import Any

import pytest

from rollprof.cli import sample_run as run

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [json.loads(line) for line in run.sample_run().rollouts.splitlines()]


@pytest.fixture(scope="module")
def steps() -> dict[int, Row]:
    found = map(json.loads, run.sample_run().steps.splitlines())
    return {row["step"]: row for row in found}


def by_step(rows: list[Row]) -> dict[int, list[Row]]:
    steps: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        steps[row["step"]].append(row)
    return steps


def test_always_the_same() -> None:
    assert run.sample_run() == run.sample_run()


def test_shape(rows: list[Row]) -> None:
    steps = by_step(rows)
    assert sorted(steps) == list(range(1, run.STEPS + 1))
    for members in steps.values():
        prompts: dict[str, int] = defaultdict(int)
        for row in members:
            prompts[row["prompt"]] += 1
        assert list(prompts.values()) == [run.SAMPLES] * run.PROMPTS
        assert len({row["started_at"] for row in members}) == 1


def test_lengths_have_a_long_tail(rows: list[Row]) -> None:
    lengths = [row["response_tokens"] for row in rows]
    assert min(lengths) >= 16
    assert max(lengths) == run.CAP
    assert max(lengths) / median(lengths) > 8
    assert 0 < sum(n == run.CAP for n in lengths) / len(lengths) < 0.03
    assert all((row["finish_reason"] == "length") == (row["response_tokens"] == run.CAP) for row in rows)


def test_hard_prompts_are_longer(rows: list[Row]) -> None:
    right = [row["response_tokens"] for row in rows if row["reward"] == 1]
    wrong = [row["response_tokens"] for row in rows if row["reward"] == 0]
    assert fmean(wrong) > 1.2 * fmean(right)
    assert 0.3 < len(right) / len(rows) < 0.8


def test_times_follow_the_closed_form(rows: list[Row]) -> None:
    """An engine's last completion is prefill + a*M + b*sum(L), exactly."""
    for members in by_step(rows).values():
        engines: dict[str, list[Row]] = defaultdict(list)
        for row in members:
            engines[row["engine"]].append(row)
        assert len(engines) == run.ENGINES
        for mine in engines.values():
            lengths = [row["response_tokens"] for row in mine]
            end = max(row["completed_at"] - row["started_at"] for row in mine)
            wanted = run.PREFILL_S + run.DECODE_S * max(lengths) + run.PER_RESPONSE_S * sum(lengths)
            assert end == pytest.approx(wanted, abs=2e-3)
            order = sorted(mine, key=lambda row: row["completed_at"])
            assert sorted(lengths) == [row["response_tokens"] for row in order]


def test_steps_follow_each_other(rows: list[Row], steps: dict[int, Row]) -> None:
    members = by_step(rows)
    assert sorted(steps) == sorted(members)
    for step in range(2, run.STEPS + 1):
        begin, before = members[step][0]["started_at"], members[step - 1][0]["started_at"]
        assert begin - before == pytest.approx(steps[step - 1]["step_s"], abs=2e-3)


def test_phases_add_up(rows: list[Row], steps: dict[int, Row]) -> None:
    for step, members in by_step(rows).items():
        slowest = max(row["completed_at"] - row["started_at"] for row in members)
        row = steps[step]
        assert row["generate_s"] == pytest.approx(slowest + run.OVERHEAD_S, abs=2e-3)
        parts = sum(v for k, v in row.items() if k.endswith("_s") and k != "step_s")
        assert parts < row["step_s"] < parts + 0.25
        assert 0.4 < row["generate_s"] / row["step_s"] < 0.8
