from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rollprof.adapters.base import Arranger, Dropped, MapperContext
from rollprof.adapters.openrlhf import ADAPTER
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

Make = Callable[..., SniffedFile]


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


GENERATED = {"input": "what is 1+1?", "output": "two"}
SCORED = GENERATED | {"reward": 1.5}
PAIR = {"prompt": "q", "chosen": "a", "chosen_reward": 1.5, "rejected": "b", "rejected_reward": 0.0}


@pytest.mark.parametrize(
    ("row", "role", "score"),
    [
        (GENERATED, "rollouts", 0.45),
        (SCORED, "rollouts", 0.6),
        (SCORED | {"input": "q <rm_score>: -1.00 "}, "rollouts", 0.9),
        (PAIR, "config", 0.9),
    ],
)
def test_claims(make: Make, row: dict[str, Any], role: str, score: float) -> None:
    claim = ADAPTER.claim(make(lines(row, row), "out.jsonl"))
    assert claim is not None
    assert (claim.role, claim.score) == (role, score)


@pytest.mark.parametrize(
    "row",
    [
        {"input": "q"},
        GENERATED | {"score": 1.0, "step": 3},  # verl
        GENERATED | {"instruction": "x"},
        SCORED | {"reward": "high"},
    ],
)
def test_rows_of_others(make: Make, row: dict[str, Any]) -> None:
    assert ADAPTER.claim(make(lines(row, row), "out.jsonl")) is None


def test_a_row_as_columns() -> None:
    mapper = ADAPTER.mapper(MapperContext("out.jsonl", "out", "train"))
    assert mapper.columns == ("prompt", "response", "reward")
    assert mapper(SCORED) == ("what is 1+1?", "two", 1.5)
    assert mapper(GENERATED) == ("what is 1+1?", "two", None)
    # the score that conditions a prompt is no part of it: the same prompt keeps one identity
    assert mapper(SCORED | {"input": "what is 1+1? <rm_score>: 1.00 "}) == ("what is 1+1?", "two", 1.5)
    with pytest.raises(ValueError, match="no input and no output"):
        mapper({"reward": 1.0})
    mapped = ADAPTER.mapper(MapperContext("out.jsonl", "out", "train", columns={"response": "text"}))
    row = mapped(SCORED | {"text": "other"})
    assert not isinstance(row, Dropped)
    assert row[1] == "other"


def test_pairs_give_no_rollouts(make: Make) -> None:
    file, ledger = make(lines(PAIR, PAIR), "dpo.jsonl"), Ledger()
    claim = ADAPTER.claim(file)
    assert claim is not None
    assert ADAPTER.read(file, claim, ledger) == []
    assert "not a sample of its responses" in claim.why


def test_shards_beside_the_joined_file_are_not_counted_twice(make: Make) -> None:
    assert isinstance(ADAPTER, Arranger)
    files = []
    for name in ("rm.jsonl", "rm.jsonl0", "rm.jsonl1"):
        file = make(lines(SCORED, SCORED), name)
        claim = ADAPTER.claim(file)
        assert claim is not None
        files.append((file, claim))
    assert {claim.series for _, claim in files} == {"rm.jsonl"}
    ledger = Ledger()
    assert [f.name for f, _ in ADAPTER.arrange(files, {}, ledger)] == ["rm.jsonl"]
    assert ledger.notes == 2
    assert [f.name for f, _ in ADAPTER.arrange(files[1:], {}, ledger)] == ["rm.jsonl0", "rm.jsonl1"]
