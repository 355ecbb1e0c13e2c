"""What the generic adapter takes, and what it says about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollprof.adapters.base import Claim, Evidence, Interpretation
from rollprof.adapters.generic import ADAPTER
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.tree import sniff

Make = Callable[..., SniffedFile]


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(r) + "\n" for r in records)


def claimed(file: SniffedFile) -> Claim:
    found = ADAPTER.claim(file)
    assert found is not None
    return found


def test_a_last_resort_that_explains_itself(make: Make) -> None:
    claim = claimed(make(lines({"start": 1.0, "end": 2.0, "response_len": 5, "step": 1}), "requests.jsonl"))
    assert (claim.role, claim.split, claim.series) == ("rollouts", "train", "requests.jsonl")
    assert claim.score < 0.2
    assert claim.why == (
        "records with completed_at from end, response_tokens from response_len, started_at from start, step"
    )
    assert dict(claim.hints) == {"clock": "relative"}


def test_clock_and_assumed_steps(make: Make) -> None:
    epoch = lines({"start": 1.7e9, "end": 1.7e9 + 2, "output": "A"})
    assert dict(claimed(make(epoch, "log.jsonl")).hints) == {
        "clock": "epoch",
        "step": "no step column: one step assumed",
    }
    numbered = claimed(make(lines({"output": "A"}), "dump/12.jsonl"))
    assert (numbered.series, numbered.hints["step"]) == ("dump", "step 12 by the file's name")
    file, ledger = make(epoch, "log.jsonl"), Ledger()
    assert ADAPTER.arrange([(file, claimed(file))], {}, ledger) == [(file, claimed(file))]
    assert [p.reason for p in ledger.problems] == ["no step column: one step assumed"]


@pytest.mark.parametrize(
    "record",
    [
        {"prompt": "Q", "reward": 1.0},  # nothing of a response
        {"question": "Q", "answer": "A"},
        {"loss": 0.5, "step": 1},
        {"started_at": 1.0},
        {"a": 1},
    ],
)
def test_what_is_no_rollout(make: Make, record: dict[str, Any]) -> None:
    assert ADAPTER.claim(make(lines(record, record), "data.jsonl")) is None


def test_text_and_binary_are_nobodys(make: Make) -> None:
    assert ADAPTER.claim(make("response_tokens: 5\n")) is None
    assert ADAPTER.claim(make(b"\x80\x04\x95response_tokens")) is None
    assert ADAPTER.claim(make("")) is None


def test_evaluation_by_folder(make: Make) -> None:
    assert claimed(make(lines({"output": "A"}), "eval/log.jsonl")).split == "eval"
    assert claimed(make(lines({"output": "A"}), "evaluate_me/log.jsonl")).split == "train"


def test_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rollouts.parquet"
    pq.write_table(
        pa.table({"completion_tokens": [5, 6], "latency": [1.0, 2.0], "m": [{"n": 1}, {"n": 2}]}), path
    )
    file = sniff(str(path), path.name)
    assert claimed(file).why == "records with generate_s from latency, response_tokens from completion_tokens"
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"m": [{"n": 1}]}), other)
    file = sniff(str(other), other.name)
    assert ADAPTER.claim(file) is None
    mapped = ADAPTER.claim_mapped(file, {"response_tokens": "m.n"})
    assert mapped is not None
    assert mapped.why == "records with response_tokens from m.n"


STEP = {"step": 1, "generate_s": 5.0, "step_s": 9.0, "response_tokens_mean": 100.0, "gpus": 8, "rollouts": 64}


def interpreted(make: Make, *records: dict[str, Any]) -> tuple[Interpretation, Ledger]:
    file, ledger = make(lines(*records), "metrics.jsonl"), Ledger()
    claim = claimed(file)
    assert claim.role == "metrics"
    (part,) = ADAPTER.read(file, claim, ledger)
    metrics: dict[int, dict[str, float]] = {}
    times: dict[int, float] = {}
    for record in part.metrics:
        assert record.step is not None
        metrics.setdefault(record.step, {})[record.key] = record.value
        if record.time is not None:
            times[record.step] = record.time
    return ADAPTER.interpret(Evidence(metrics, times, {}, {}, {}, {})), ledger


def test_step_metrics_by_column_names(make: Make) -> None:
    second = {"step": 2, "split": "eval", "reward_mean": 0.5, "eval_s": 2.0, "logged_at": 1.7e9, "note": "x"}
    reading, ledger = interpreted(make, STEP, second)
    assert [dict(r) for r in reading.steps] == [
        {**STEP, "split": "train", "gpus": 8.0},
        {"step": 2, "split": "eval", "reward_mean": 0.5, "eval_s": 2.0, "logged_at": 1.7e9},
    ]
    assert {k: (f.value, f.origin) for k, f in reading.facts.items()} == {"gpus": (8.0, "logged")}
    assert ledger.notes == 0


def test_step_metrics_with_little_in_them(make: Make) -> None:
    assert (
        claimed(make(lines({"step": 1, "generate_s": 5.0, "response_tokens_mean": 9.0}), "m.jsonl")).role
        == "metrics"
    )
    assert (
        claimed(make(lines({"step": 1, "generate_s": 5.0, "response_tokens": 9}), "m.jsonl")).role
        == "rollouts"
    )


def test_a_step_without_a_number_is_noted(make: Make) -> None:
    reading, ledger = interpreted(make, STEP, {**STEP, "step": "x"})
    assert len(reading.steps) == 1
    assert [p.reason for p in ledger.problems] == ["no step number, left out"]
