"""Completions in wandb's tables and in ms-swift's lines of lists."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rollprof.adapters.base import Claim
from rollprof.adapters.trl import ADAPTER
from rollprof.parallel.convert import convert_chunk
from rollprof.parallel.tasks import ConvertOptions, plan
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

COLUMNS = ["step", "prompt", "completion", "len_reward", "digit_reward", "gold", "advantage"]
CONFIG: Mapping[str, Any] = {
    "num_generations": 2,
    "log.reward_functions": ["digit_reward", "len_reward"],
    "reward_weights": [2.0, 1.0],
}


def table(path: Path, rows: Sequence[Sequence[Any]]) -> SniffedFile:
    path.write_text(json.dumps({"columns": COLUMNS, "data": rows}))
    return sniff(str(path), f"media/{path.name}")


def rows(file: SniffedFile, claim: Claim) -> list[dict[str, Any]]:
    (task,) = plan([(file, claim, 0)], ConvertOptions(), workers=1)
    return [row for batch in convert_chunk(task).batches() for row in batch.to_pylist()]


def test_a_table_is_a_copy_whose_rows_are_rollouts(tmp_path: Path) -> None:
    data = [[1, "q", "aa", 0.5, 1.0, "7", 0.1], [1, "q", "bbb", 0.25, 0.0, "7", -0.1]]
    file = table(tmp_path / "t.table.json", data)
    claim = ADAPTER.claim(file)
    assert claim is not None
    assert (claim.role, claim.series, claim.hints["copy"]) == ("rollouts", "media", "1")
    ((file, claim),) = ADAPTER.arrange([(file, claim)], CONFIG, Ledger())
    found = rows(file, claim)
    assert [r["reward"] for r in found] == [
        2.0 * 0.5 + 1.0,
        2.0 * 0.25,
    ]  # weights in the order of the columns
    assert [dict(r["rewards"]) for r in found] == [
        {"len_reward": 0.5, "digit_reward": 1.0},
        {"len_reward": 0.25, "digit_reward": 0.0},
    ]
    assert [r["response_chars"] for r in found] == [2, 3]
    assert found[0]["group_id"] == found[1]["group_id"]


def test_a_table_that_repeats_the_one_before_is_left_out(tmp_path: Path) -> None:
    one = [[1, "q", "aa", 0.5, 1.0, "7", 0.1], [1, "q", "b", 0.5, 1.0, "7", 0.1]]
    files = [
        table(tmp_path / "1.table.json", one),
        table(tmp_path / "2.table.json", [[2, *row[1:]] for row in one]),
        table(tmp_path / "3.table.json", [[3, "q", "c", 0.5, 1.0, "7", 0.1]]),
    ]
    pairs = [(f, c) for f in files if (c := ADAPTER.claim(f)) is not None]
    ledger = Ledger()
    assert [f.name for f, _ in ADAPTER.arrange(pairs, CONFIG, ledger)] == [
        "media/1.table.json",
        "media/3.table.json",
    ]
    assert ledger.dropped == 2


def test_the_table_of_an_evaluation_is_one(tmp_path: Path) -> None:
    file = table(tmp_path / "1.table.json", [[4, "q", "aa", 0.5, 1.0, "7", 0.1]])
    claim = ADAPTER.claim(file)
    assert claim is not None
    ((_, claim),) = ADAPTER.arrange([(file, claim)], {**CONFIG, "log.evaluated.4": 8}, Ledger())
    assert claim.split == "eval"


def test_any_other_table_is_nobody_s(tmp_path: Path) -> None:
    path = tmp_path / "t.table.json"
    path.write_text(json.dumps({"columns": ["global_step", "text", "reward"], "data": [[1, "t", 0.5]]}))
    assert ADAPTER.claim(sniff(str(path), "t.table.json")) is None


def test_ms_swift_writes_a_list_per_column(tmp_path: Path) -> None:
    lines = [
        {
            "step": [str(step)] * 3,
            "prompt": ["p", "p", "q"],
            "completion": ["a", "bb", "ccc"],
            "Accuracy": [1.0, 0.0, 1.0],
            "advantages": [0.5, -0.5, 0.0],
            "solution": ["7", "7", "8"],
        }
        for step in (5, 10)
    ]
    path = tmp_path / "completions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    file = sniff(str(path), "completions.jsonl")
    claim = ADAPTER.claim(file)
    assert claim is not None
    assert (claim.role, claim.series) == ("rollouts", "completions.jsonl")
    config = {"log.reward_functions": ["Accuracy"], "log.reward_weights": {"Accuracy": 1.0}}
    ((file, claim),) = ADAPTER.arrange([(file, claim)], config, Ledger())
    found = rows(file, claim)
    assert [r["step"] for r in found] == [5, 5, 5, 10, 10, 10]
    assert [r["reward"] for r in found] == [1.0, 0.0, 1.0] * 2
    assert [r["advantage"] for r in found] == [0.5, -0.5, 0.0] * 2
    assert found[0]["group_id"] == found[1]["group_id"] != found[2]["group_id"]
    assert found[0]["prompt_id"] == found[3]["prompt_id"]
    assert found[0]["group_id"] != found[3]["group_id"]
