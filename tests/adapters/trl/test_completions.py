"""Rows of completions files, with and without what the arrangement tells."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from rollprof.adapters.base import MapperContext
from rollprof.adapters.trl import ADAPTER
from rollprof.adapters.trl.completions import COLUMNS

KEYS = ("step", "prompt", "completion", "exact", "brevity", "gold", "advantage")


def mapped(rows: list[dict[str, Any]], **hints: str) -> list[dict[str, Any]]:
    mapper = ADAPTER.mapper(
        MapperContext("completions/completions_00007.parquet", "completions_00007", "train", {}, hints, KEYS)
    )
    assert mapper.columns == COLUMNS
    out = []
    for row in rows:
        values = mapper({**dict.fromkeys(KEYS), "step": 7, **row})
        assert isinstance(values, tuple)
        out.append(dict(zip(COLUMNS, values, strict=True)))
    return out


def test_groups_are_blocks_of_rows_in_generation_order() -> None:
    rows = [{"prompt": p, "completion": "x"} for p in "aaaabbbb"]
    found = mapped(rows, group_size="4")
    assert [(r["group"], r["sample_index"]) for r in found] == [
        *(("0", i) for i in range(4)),
        *(("1", i) for i in range(4)),
    ]
    assert {r["step"] for r in found} == {7}


def test_neighbouring_groups_of_one_prompt_stay_two() -> None:
    found = mapped([{"prompt": "a", "completion": "x"}] * 8, group_size="4")
    assert [r["group"] for r in found] == ["0"] * 4 + ["1"] * 4


def test_without_a_size_runs_of_equal_prompts_are_groups() -> None:
    found = mapped([{"prompt": p, "completion": "x"} for p in "aaabb"])
    assert [(r["group"], r["sample_index"]) for r in found] == [
        ("0", 0),
        ("0", 1),
        ("0", 2),
        ("1", 0),
        ("1", 1),
    ]


def test_engines_are_equal_blocks_of_rows() -> None:
    rows = [{"prompt": p, "completion": "x"} for p in "aaaabbbbcccc"]
    found = mapped(rows, group_size="4", engine_rows="6", engine_name="rank")
    assert [r["engine"] for r in found] == ["rank0"] * 6 + ["rank1"] * 6
    assert found[5]["group"] == found[6]["group"] == "1"  # a group may span ranks


def test_the_reward_is_the_weighted_sum_and_components_keep_their_names() -> None:
    hints = {"rewards": json.dumps(["exact", "brevity"]), "weights": json.dumps([1.0, 0.5])}
    (row,) = mapped([{"prompt": "a", "completion": "x", "exact": 1.0, "brevity": -0.5, "gold": 9.0}], **hints)
    assert row["reward"] == 0.75
    assert row["rewards"] == {"exact": 1.0, "brevity": -0.5}


def test_a_function_that_returned_nothing_is_left_out_of_the_sum() -> None:
    hints = {"rewards": json.dumps(["exact", "brevity"]), "weights": json.dumps([1.0, 1.0])}
    one, none = mapped(
        [
            {"prompt": "a", "completion": "x", "exact": math.nan, "brevity": -0.5},
            {"prompt": "a", "completion": "x", "exact": math.nan, "brevity": None},
        ],
        **hints,
    )
    assert (one["reward"], one["rewards"]) == (-0.5, {"brevity": -0.5})
    assert (none["reward"], none["rewards"]) == (None, None)


def test_without_weights_there_is_no_reward_but_its_components() -> None:
    (row,) = mapped([{"prompt": "a", "completion": "x", "exact": 1.0, "gold": "36"}])
    assert row["reward"] is None
    assert row["rewards"] == {"exact": 1.0}


def test_the_string_era_is_text() -> None:
    (row,) = mapped([{"prompt": "user\nWhat?\nassistant\n", "completion": "36", "advantage": -1.5}])
    assert (row["prompt"], row["response"], row["advantage"]) == ("user\nWhat?\nassistant\n", "36", -1.5)
    assert row["turns"] is None


def test_the_chat_era_loses_the_nulls_of_parquet() -> None:
    """The same prompt has the same messages in a file with tool calls and in one without."""
    with_tools = [{"role": "user", "content": "What?", "tool_calls": None, "name": None}]
    plain = [{"role": "user", "content": "What?"}]
    one, other = mapped(
        [
            {
                "prompt": with_tools,
                "completion": [{"role": "assistant", "content": "36", "tool_calls": None}],
            },
            {"prompt": plain, "completion": [{"role": "assistant", "content": "36"}]},
        ]
    )
    assert one["prompt"] == other["prompt"] == plain
    assert one["response"] == other["response"]
    assert one["turns"] == 1


def test_what_tools_answered_is_not_the_policys_text() -> None:
    calls = [{"function": {"name": "add", "arguments": {"a": 1}}}]
    chat = [
        {"role": "assistant", "content": "Let me see.", "tool_calls": calls},
        {"role": "tool", "content": "a very long answer " * 50},
        {"role": "assistant", "content": "3"},
    ]
    (row,) = mapped([{"prompt": "a", "completion": chat}])
    said = [m["content"] for m in row["response"]]
    assert said == ["Let me see.", json.dumps(calls), "3"]
    assert row["turns"] == 2


def test_training_rows_before_the_rows_of_an_evaluation() -> None:
    rows = [{"prompt": p, "completion": "x"} for p in "aaaabbbbEE"]
    found = mapped(rows, group_size="4", train_rows="8", eval_rows="2", engine_rows="5")
    assert [r["split"] for r in found] == [None] * 8 + ["eval"] * 2
    assert [r["group"] for r in found[8:]] == ["eval0", "eval0"]
    assert [r["sample_index"] for r in found[8:]] == [0, 1]
    assert found[9]["engine"] is None


@pytest.mark.parametrize(("given", "step"), [(12, 12), ("12", 12), (None, 7)])
def test_the_step_of_the_row_or_of_the_name(given: Any, step: int) -> None:
    (row,) = mapped([{"step": given, "prompt": "a", "completion": "x"}])
    assert row["step"] == step


def test_map_overrides_columns() -> None:
    mapper = ADAPTER.mapper(MapperContext("c.parquet", "c", "train", {"correct": "gold"}, {}, KEYS))
    values = mapper({**dict.fromkeys(KEYS), "step": 1, "prompt": "a", "completion": "b", "gold": 1.0})
    assert isinstance(values, tuple)
    assert dict(zip(mapper.columns, values, strict=True))["correct"] is True
