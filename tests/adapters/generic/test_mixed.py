"""Columns of steps in a file of rollouts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rollprof import api
from rollprof.api import OpenOptions
from rollprof.schema.ledger import Ledger

STEPS = (1, 2, 3)
LENGTHS = (10, 40, 20, 30, 90)
TIMES = {step: 5.0 + step for step in STEPS}


def rollouts(**more: Callable[[int, int], Any]) -> list[dict[str, Any]]:
    return [
        {
            "step": s,
            "prompt_id": f"{s}-{i}",
            "response_tokens": n + s,
            **{k: f(s, i) for k, f in more.items()},
        }
        for s in STEPS
        for i, n in enumerate(LENGTHS)
    ]


def json_lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path = path.with_suffix(".parquet")
    pl.DataFrame(rows).write_parquet(path)
    return path


def read(path: Path) -> tuple[pl.DataFrame, pl.DataFrame, Ledger]:
    """rollouts, steps, ledger"""
    run = api.open_run([str(path)], options=OpenOptions(output=str(path.parent / "dataset"), workers=1))
    return run.rollouts.collect(), run.steps.sort("step").collect(), run.ledger


@pytest.mark.parametrize("write", [json_lines, parquet])
def test_repeated_on_each_rollout(tmp_path: Path, write: Callable[..., Path]) -> None:
    rows = rollouts(generate_s=lambda s, _: TIMES[s], step_s=lambda s, _: 2 * TIMES[s], gpus=lambda *_: 8)
    found, steps, ledger = read(write(tmp_path / "log.jsonl", rows))
    assert steps["generate_s"].to_list() == [6.0, 7.0, 8.0]
    assert steps["step_s"].to_list() == [12.0, 14.0, 16.0]
    assert steps["rollouts"].to_list() == [5, 5, 5]
    assert found["generate_s"].null_count() == len(found) == 15  # no rollout's own time
    assert [p.kind for p in ledger.problems] == ["info"]
    assert "generate_s is the same for all rollouts of a step" in ledger.problems[0].reason


def test_a_rollouts_own_time_stays_its_own(tmp_path: Path) -> None:
    rows = rollouts(generate_s=lambda s, i: LENGTHS[i] / 10 + s, step_s=lambda s, _: TIMES[s])
    found, steps, _ = read(json_lines(tmp_path / "log.jsonl", rows))
    assert found["generate_s"].to_list()[:5] == [2.0, 5.0, 3.0, 4.0, 10.0]
    assert steps["generate_s"].to_list() == [None] * 3
    assert steps["step_s"].to_list() == [6.0, 7.0, 8.0]


def test_equal_answers_that_took_equal_times_say_nothing_about_the_step(tmp_path: Path) -> None:
    rows = [{"step": s, "response_tokens": 50, "generate_s": 2.0} for s in STEPS for _ in range(5)]
    found, steps, _ = read(json_lines(tmp_path / "log.jsonl", rows))
    assert found["generate_s"].to_list() == [2.0] * 15
    assert steps["generate_s"].null_count() == 3


def test_records_of_steps_between_the_rollouts(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for s in STEPS:
        rows += [row for row in rollouts() if row["step"] == s]
        rows.append({"step": s, "generate_s": TIMES[s], "step_s": 2 * TIMES[s]})
    found, steps, ledger = read(json_lines(tmp_path / "log.jsonl", rows))
    assert len(found) == 15
    assert steps["generate_s"].to_list() == [6.0, 7.0, 8.0]
    assert (ledger.read, ledger.skipped, ledger.problems) == (18, 0, [])


def test_what_differs_within_a_step_is_left_out_there_and_said(tmp_path: Path) -> None:
    rows = rollouts(step_s=lambda s, i: 9.0 + (i if s == 2 else 0), gpus=lambda *_: 4)
    path = json_lines(tmp_path / "log.jsonl", rows)
    _, steps, ledger = read(path)
    assert steps["step_s"].to_list() == [9.0, None, 9.0]
    assert steps["gpus"].to_list() == [4, 4, 4]
    (problem,) = ledger.problems
    assert problem.kind == "note"
    assert problem.reason == "step_s differs between the rollouts of a step: left out there"
    assert path.read_bytes()[problem.offset :].startswith(json.dumps(rows[6]).encode())


def test_evaluation_keeps_apart(tmp_path: Path) -> None:
    rows = rollouts(step_s=lambda *_: 9.0)
    rows += [{**row, "split": "eval", "step_s": 3.0} for row in rows[:5]]
    _, steps, ledger = read(json_lines(tmp_path / "log.jsonl", rows))
    assert steps.filter(pl.col("split") == "train")["step_s"].to_list() == [9.0] * 3
    assert steps.filter(pl.col("split") == "eval")["step_s"].to_list() == [3.0]
    assert ledger.problems == []
