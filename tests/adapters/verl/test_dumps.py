"""Rows of rollout dumps: every key era, values of any type, lengths from DAPO's penalty."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.adapters import registry
from rollprof.adapters.base import Dropped, MapperContext
from rollprof.adapters.verl import ADAPTER
from rollprof.adapters.verl.dumps import DumpMapper, exact_length, group_of, overlong_hint
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

Make = Callable[..., SniffedFile]
UID = "0a0a0a0a-0000-4000-8000-000001000000"


def context(stem: str = "7", **hints: str) -> MapperContext:
    return MapperContext(f"dump/{stem}.jsonl", stem, "train", hints=hints)


def row(record: dict[str, Any], stem: str = "7", **hints: str) -> dict[str, Any]:
    mapper = DumpMapper(context(stem, **hints))
    found = mapper(record)
    assert not isinstance(found, Dropped)
    return {k: v for k, v in zip(mapper.columns, found, strict=True) if v is not None}


def test_0_4() -> None:
    record = {"input": "Q", "output": "A ", "score": 0.0, "step": 1, "acc": False, "overlong": 0.0}
    assert row(record) == {
        "step": 1,
        "prompt": "Q",
        "response": "A ",
        "reward": 0.0,
        "rewards": {"acc": 0.0, "overlong": 0.0, "score": 0.0},
        "correct": False,
    }


def test_0_7_with_extras_of_every_type() -> None:
    record = {
        "input": "Q",
        "output": "A",
        "gts": '[{"Action": 1}]',
        "score": 1,
        "step": 1,
        "acc": 0.4,
        "pred": 42,
        "incorrect_format": 0,
        "feedback": "close",
        "data_source": "openai/gsm8k",
        "num_turns": 4,
        "detail": {"speed": 0.5, "text": "x"},
        "list": [1, 2],
        "nothing": None,
    }
    found = row(record)
    assert found["rewards"] == {"acc": 0.4, "incorrect_format": 0.0, "detail.speed": 0.5, "score": 1.0}
    assert "correct" not in found  # a share is no truth value
    assert (found["dataset"], found["turns"], found["reward"]) == ("openai/gsm8k", 4, 1.0)


def test_0_8_writes_numpy_scalars_as_strings() -> None:
    found = row(
        {
            "input": "Q",
            "output": "A",
            "score": 0.5,
            "step": 1,
            "acc": "True",
            "format_reward": "0.25",
            "pred": "7",
        }
    )
    assert found["rewards"] == {"acc": 1.0, "format_reward": 0.25, "score": 0.5}
    assert found["correct"] is True


def test_v1_groups_and_padding() -> None:
    found = row({"input": "Q", "output": "A", "gts": "0", "score": 0.0, "step": 1, "uid": f"{UID}_3_0"})
    assert (found["group"], found["sample_index"]) == (UID, 3)
    dropped = DumpMapper(context())(
        {"input": "", "output": "", "gts": "0", "score": 0.0, "step": 1, "uid": "pad0123456789abcdef_0_0"}
    )
    assert isinstance(dropped, Dropped)
    assert dropped.reason == "padding row of the v1 trainer (uid starts with pad)"
    assert isinstance(DumpMapper(context())({"input": "", "output": "", "uid": "pad-x"}), Dropped)
    # a task that happens to be called so, with text, is no padding
    assert row({"input": "Q", "output": "A", "uid": "paddle"})["group"] == "paddle"


@pytest.mark.parametrize(
    ("uid", "wanted"),
    [
        (f"{UID}_11_2", (UID, 11, "")),
        (UID, (UID, None, "")),
        ("a_b_c", ("a_b_c", None, "")),
        ("my_task_0_1", ("my_task", 0, "")),
        ("", (None, None, "")),
        (5, (None, None, "")),
    ],
)
def test_group_ids(uid: Any, wanted: tuple[str | None, int | None, str]) -> None:
    assert group_of(uid) == wanted


def test_the_step_of_the_file_stands_in() -> None:
    assert row({"input": "Q", "output": "A", "score": 0.0})["step"] == 7
    assert row({"input": "Q", "output": "A", "step": 2**70})["step"] == 7
    assert row({"input": "Q", "output": "A", "step": "12"})["step"] == 12
    assert "step" not in row({"input": "Q", "output": "A"}, stem="all")


def test_scores_of_any_type() -> None:
    base = {"input": "Q", "output": "A", "step": 1}
    assert row({**base, "score": {"score": 1.0, "acc": True, "why": "x"}})["rewards"] == {
        "score": 1.0,
        "acc": 1.0,
    }
    assert row({**base, "score": "0.5"})["reward"] == 0.5
    assert row({**base, "score": True})["reward"] == 1.0
    assert row({**base, "reward": 0.3})["reward"] == 0.3
    # what is no finite number goes on, for the converter to remark on
    assert math.isnan(row({**base, "score": math.nan})["reward"])
    assert row({**base, "score": "n/a"})["reward"] == "n/a"


def test_chats_and_strangers() -> None:
    chat = [{"role": "user", "content": "Q"}]
    assert row({"input": chat, "output": "A", "score": 0})["prompt"] == chat
    assert row({"input": chat[0], "output": "A"})["prompt"] == chat
    with pytest.raises(ValueError, match="not a rollout of verl"):
        DumpMapper(context())({"step": 1, "data": {"timing_s/gen": 1.5}})


def test_exact_length_from_the_overlong_penalty() -> None:
    # dapo.py: exceed = len - (max_resp_len - buffer); reward = min(-exceed / buffer * factor, 0)
    cap, buffer, factor = 20480, 4096, 1.0
    for tokens in (16385, 17000, 20479, 20480):
        penalty = min(-(tokens - (cap - buffer)) / buffer * factor, 0)
        assert exact_length(penalty, cap, buffer, factor) == tokens
    assert exact_length(0.0, cap, buffer, factor) is None
    assert exact_length(None, cap, buffer, factor) is None
    assert exact_length(-0.12345, cap, buffer, factor) is None  # of no whole number
    assert exact_length(-5.0, cap, buffer, factor) is None  # beyond the cap
    record = {"input": "Q", "output": "A", "score": 0.5, "step": 1, "overlong_reward": -0.25}
    found = row(record, overlong="20480,4096,1.0")
    assert (found["response_tokens"], found["token_basis"]) == (17408, "exact")
    assert "response_tokens" not in row(record)
    assert "response_tokens" not in row({**record, "overlong_reward": 0.0}, overlong="20480,4096,1.0")
    assert row({**record, "overlong_reward": "-0.25"}, overlong="20480,4096,1.0")["response_tokens"] == 17408


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        (
            {
                "reward_model.overlong_buffer.enable": True,
                "reward_model.overlong_buffer.len": 4096,
                "reward_model.overlong_buffer.penalty_factor": 1.0,
                "data.max_response_length": 20480,
            },
            "20480,4096,1.0",
        ),
        (
            {
                "reward_model.reward_kwargs.overlong_buffer_cfg.enable": True,
                "reward_model.reward_kwargs.overlong_buffer_cfg.len": 512,
                "reward_model.reward_kwargs.overlong_buffer_cfg.penalty_factor": 0.5,
                "reward_model.reward_kwargs.max_resp_len": 8192,
                "data.max_response_length": 20480,
            },
            "8192,512,0.5",
        ),
        ({"reward_model.overlong_buffer.enable": False, "reward_model.overlong_buffer.len": 1}, None),
        ({"reward_model.overlong_buffer.enable": True, "reward_model.overlong_buffer.len": 9}, None),
        ({}, None),
    ],
)
def test_the_penaltys_parameters(config: dict[str, Any], wanted: str | None) -> None:
    assert overlong_hint(config) == wanted


def test_misaligned_extras_are_not_used() -> None:
    record = {"input": "Q", "output": "A", "score": 0.5, "step": 1, "acc": True, "overlong_reward": -0.25}
    found = row(record, extras_aligned="no", overlong="20480,4096,1.0")
    assert found == {"step": 1, "prompt": "Q", "response": "A", "reward": 0.5, "rewards": {"score": 0.5}}


def test_arranging_a_dump(make: Make) -> None:
    record = json.dumps({"input": "Q", "output": "A", "score": 1.0, "step": 1, "acc": True, "pred": "7"})
    file, ledger = make(record + "\n", "dump/1.jsonl"), Ledger()
    claim = ADAPTER.claim(file)
    assert claim is not None
    assert claim.hints["score"] == "overwritten"
    config = {
        "algorithm.filter_groups.enable": True,
        "reward_model.overlong_buffer.enable": True,
        "reward_model.overlong_buffer.len": 4096,
        "reward_model.overlong_buffer.penalty_factor": 1.0,
        "data.max_response_length": 20480,
    }
    ((same, arranged),) = ADAPTER.arrange([(file, claim)], config, ledger)
    assert same is file
    assert arranged.hints["overlong"] == "20480,4096,1.0"
    assert arranged.hints["extras_aligned"] == "no"
    assert [p.reason.split(":")[0] for p in ledger.problems] == [
        "the DAPO recipe dumps reward extras out of order",
        "acc and pred stand beside score",
    ]
    assert ADAPTER.arrange([(file, claim)], {}, Ledger()) == [(file, claim)]


def test_trainer_steps_of_the_fully_asynchronous_trainer(make: Make) -> None:
    file, ledger = (
        make(json.dumps({"input": "Q", "output": "A", "score": 1.0, "step": 5}) + "\n", "dump/5.jsonl"),
        Ledger(),
    )
    claim = ADAPTER.claim(file)
    assert claim is not None
    config = {"async_training.trigger_parameter_sync_step": 4}
    ((_, arranged),) = ADAPTER.arrange([(file, claim)], config, ledger)
    assert arranged.hints["steps_per_version"] == "4"
    assert ledger.notes == 1
    steps = [row({"input": "Q", "output": "A", "step": s}, **arranged.hints)["step"] for s in (1, 4, 5, 8, 9)]
    assert steps == [1, 1, 2, 2, 3]


def test_columns_by_map() -> None:
    mapper = ADAPTER.mapper(
        MapperContext("1.jsonl", "1", "train", columns={"correct": "judge.ok", "response_tokens": "n"})
    )
    found = mapper(
        {"input": "Q", "output": "A", "score": 0.5, "judge": {"ok": "true"}, "n": 12, "acc": False}
    )
    assert not isinstance(found, Dropped)
    named = dict(zip(mapper.columns, found, strict=True))
    assert (named["correct"], named["response_tokens"], named["reward"]) == (True, 12, 0.5)


def test_workers_find_the_mapper_by_name() -> None:
    ctx = pickle.loads(pickle.dumps(context()))
    found = registry.load("verl").mapper(ctx)({"input": "Q", "output": "A", "score": 1.0})
    assert not isinstance(found, Dropped)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(
            ["input", "output", "score", "step", "uid", "acc", "gts", "num_turns", "x", "data_source"]
        ),
        json_values,
    )
)
def test_any_record_gives_a_row_or_a_reason(record: dict[str, Any]) -> None:
    mapper = DumpMapper(context(overlong="100,10,1.0"))
    try:
        found = mapper(record)
    except ValueError:
        return
    assert isinstance(found, Dropped) or len(found) == len(mapper.columns)
