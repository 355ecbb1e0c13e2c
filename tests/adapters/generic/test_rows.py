"""Records of any rollout log as rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.adapters.base import Dropped, MapperContext
from rollprof.adapters.generic import ADAPTER
from rollprof.adapters.generic.aliases import ALIASES, normal, resolve
from rollprof.adapters.mapping import CONVERT
from rollprof.errors import UsageProblem


def mapped(
    *records: dict[str, Any], stem: str = "log", columns: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    keys = tuple(dict.fromkeys(key for record in records[:1] for key in record))
    mapper = ADAPTER.mapper(MapperContext(f"{stem}.jsonl", stem, "train", columns=columns or {}, keys=keys))
    out = []
    for record in records:
        row = mapper(record)
        assert not isinstance(row, Dropped)
        out.append({k: v for k, v in zip(mapper.columns, row, strict=True) if v is not None})
    return out


def test_columns_named_as_in_the_schema() -> None:
    record = {
        "step": 3,
        "split": "eval",
        "prompt": "Q",
        "response": "A",
        "dataset": "gsm8k",
        "group_id": 5,
        "sample_index": 2,
        "prompt_tokens": 10,
        "response_tokens": 20,
        "generated_tokens": 15,
        "token_basis": "tokenized",
        "reward": 0.5,
        "rewards": {"format": 1, "note": "x"},
        "correct": True,
        "advantage": -0.5,
        "finish_reason": "stop",
        "started_at": 1.7e9,
        "completed_at": 1.7e9 + 5,
        "queue_s": 0.5,
        "generate_s": 4.5,
        "tool_s": 0.25,
        "reward_s": 0.125,
        "turns": 3,
        "engine": "r0",
        "policy_version_first": 7,
        "policy_version_last": 8,
    }
    wanted = {**record, "group": 5, "rewards": {"format": 1.0, "correct": 1.0, "reward": 0.5}}
    del wanted["group_id"]
    assert mapped(record) == [wanted]


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (
            {"prompt_len": 6, "response_len": 21, "start": 1.0, "end": 2.5, "finish": "length"},
            {
                "prompt_tokens": 6,
                "response_tokens": 21,
                "started_at": 1.0,
                "completed_at": 2.5,
                "finish_reason": "length",
            },
        ),
        (
            {"input_tokens": 6, "output_tokens": 21, "latency": 3.0},
            {"prompt_tokens": 6, "response_tokens": 21, "generate_s": 3.0},
        ),
        (
            {"completion_tokens": 9, "start_time": 1.0, "latency_ms": 1500},
            {"response_tokens": 9, "started_at": 1.0, "generate_s": 1.5, "completed_at": 2.5},
        ),
        (
            {"question": "Q", "text": "A", "score": "0.5", "acc": 1},
            {
                "prompt": "Q",
                "response": "A",
                "reward": 0.5,
                "correct": True,
                "rewards": {"acc": 1.0, "score": 0.5},
            },
        ),
        ({"text": "A", "acc": 0.5}, {"response": "A", "rewards": {"acc": 0.5}}),
        (
            {"output": "A", "is_truncated": True, "uid": "g1"},
            {"response": "A", "finish_reason": "length", "group": "g1"},
        ),
        ({"responseLength": 5, "Global Step": 4}, {"response_tokens": 5, "step": 4}),
        ({"response_ids": [1, 2, 3], "prompt_ids": [1]}, {"response_tokens": 3, "prompt_tokens": 1}),
        (
            {"output": "A", "reward_format": 1.0, "format_score": 0.5},
            {"response": "A", "rewards": {"format_score": 0.5, "reward_format": 1.0}},
        ),
        (
            {"num_tokens": 4, "finish_reason": {"type": "abort"}},
            {"response_tokens": 4, "finish_reason": "abort"},
        ),
        ({"response_tokens": 4, "problem_id": 12}, {"response_tokens": 4, "prompt_id": 12, "group": 12}),
        (
            {"output": "A", "weight_version": 3},
            {"response": "A", "policy_version_first": 3, "policy_version_last": 3},
        ),
    ],
)
def test_aliases(record: dict[str, Any], wanted: dict[str, Any]) -> None:
    basis = {"token_basis": "exact"} if "response_tokens" in wanted else {}
    (found,) = mapped(record)
    assert found == {"step": 1, **basis, **wanted}


def test_a_chat_that_ends_with_the_answer() -> None:
    chat = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]
    (found,) = mapped({"messages": chat})
    assert (found["prompt"], found["response"]) == (chat[:1], "A")
    (found,) = mapped({"prompt": chat, "response": "B"})
    assert (found["prompt"], found["response"]) == (chat, "B")


def test_keys_that_come_later() -> None:
    rows = mapped(
        {"output": "A", "score": 1.0}, {"output": "B", "reward": 0.25}, {"output": "C", "completion_len": 4}
    )
    assert [r.get("reward") for r in rows] == [1.0, 0.25, None]
    assert rows[2]["response_tokens"] == 4


def test_the_surer_name_comes_first() -> None:
    assert resolve(["score", "reward", "start", "started_at"]) == {
        "reward": ["reward", "score"],
        "started_at": ["started_at", "start"],
    }
    (found,) = mapped({"output": "A", "reward": None, "score": 0.5})
    assert found["reward"] == 0.5


def test_steps_by_column_name_file_name_or_assumption() -> None:
    assert mapped({"output": "A", "step": 5})[0]["step"] == 5
    assert mapped({"output": "A"}, stem="7")[0]["step"] == 7
    assert mapped({"output": "A"})[0]["step"] == 1
    rows = mapped({"output": "A", "step": 5}, {"output": "B", "step": None}, {"output": "C"})
    assert [r.get("step") for r in rows] == [5, None, None]


def test_map_reaches_into_records() -> None:
    (found,) = mapped(
        {"i": 3, "m": {"n": 5, "t": [1.0, 2.0]}, "response_tokens": 99},
        columns={"response_tokens": "m.n", "step": "i", "group_id": "i"},
    )
    assert (found["response_tokens"], found["step"], found["group"]) == (5, 3, 3)
    with pytest.raises(UsageProblem):
        mapped({"a": 1}, columns={"responses": "a"})


def test_what_does_not_fit_goes_on_for_the_converter_to_remark_on() -> None:
    (found,) = mapped(
        {"output": "A", "step": 2**70, "reward": "n/a", "response_tokens": -5, "started_at": "soon"}
    )
    assert (found["step"], found["reward"]) == (2**70, "n/a")
    assert (found["response_tokens"], found["started_at"]) == (-5, "soon")


def test_a_record_without_rollout() -> None:
    for record in ({"step": 1, "loss": 0.5}, {"prompt": "Q", "reward": 1.0}, {"started_at": 5.0}):
        with pytest.raises(ValueError, match="no response, no token count and no time"):
            mapped(record)


def test_the_table_of_names_is_consistent() -> None:
    assert set(ALIASES) == set(CONVERT)
    spelled = [alias for aliases in ALIASES.values() for alias in aliases]
    assert len(spelled) == len(set(spelled))
    assert all(normal(alias) == alias for alias in spelled)
    assert all(aliases[0] == column for column, aliases in ALIASES.items())


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.lists(st.dictionaries(st.sampled_from([a for v in ALIASES.values() for a in v]), anything), max_size=3)
)
def test_any_record_gives_a_row_or_a_reason(records: list[dict[str, Any]]) -> None:
    mapper = ADAPTER.mapper(MapperContext("x", "x", "train"))
    for record in records:
        try:
            row = mapper(record)
        except ValueError:
            continue
        assert not isinstance(row, Dropped)
        assert len(row) == len(mapper.columns)
