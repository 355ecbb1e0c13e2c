"""Configuration from a printed dump (whole, interleaved, damaged) and from command lines."""

from __future__ import annotations

import pprint
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.adapters.base import MetricPart
from rollprof.adapters.verl.config import CommandReader, DumpReader, begins, by_columns, flatten
from rollprof.schema.ledger import Ledger

Read = Callable[..., tuple[list[MetricPart], Ledger]]

NESTED: dict[str, Any] = {
    "actor_rollout_ref": {
        "actor": {
            "_target_": "verl.workers.config.FSDPActorConfig",
            "checkpoint": {"load_contents": ["model", "optimizer", "extra"], "strict": True},
            "clip_ratio": 0.2,
            "optim": {"lr": 1e-06, "betas": [0.9, 0.999], "override_optimizer_config": None},
        },
        "model": {"path": "Qwen/Qwen2.5-7B-Instruct", "override_config": {}},
        "rollout": {
            "max_num_seqs": 1024,
            "n": 5,
            "n_gpus_per_node": 0,
            "name": "vllm",
            "nnodes": 0,
            "tensor_model_parallel_size": 2,
            "multi_turn": {"enable": False, "tokenization_sanity_check_mode": "strict"},
        },
    },
    "critic": {"optim": {"lr": 1e-05}},
    "data": {
        "max_response_length": 1024,
        "train_batch_size": 1024,
        "train_files": ["/data/gsm8k's/train.parquet", '/data/math "x"/train.parquet'],
        "eos_token_id": 151645,
    },
    "distillation": {"n_gpus_per_node": 8, "nnodes": 0},
    "reward_model": {"n_gpus_per_node": 8, "enable": False, "api_key": "sk-123", "hf_token": "hf_1"},
    "trainer": {
        "n_gpus_per_node": 8,
        "nnodes": 2,
        "project_name": "p",
        "wandb_api_key": "secret",
        "note": "a very long text that pprint has to break into several adjacent pieces because of the width "
        "of eighty columns",
    },
}
LINES = pprint.pformat(NESTED).split("\n")
SECRETS = {"reward_model.api_key", "reward_model.hf_token", "trainer.wandb_api_key"}


def whole(lines: list[str]) -> tuple[dict[str, Any], bool]:
    reader = DumpReader(lines[0])
    for text in lines[1:]:
        assert not reader.done
        reader.feed(text)
    assert reader.done
    return reader.result()


def test_a_whole_dump_is_read_as_it_stands() -> None:
    assert begins(LINES[0])
    settings, complete = whole(LINES)
    assert complete
    assert settings == flatten(NESTED)
    assert settings["trainer.n_gpus_per_node"] == 8
    assert settings["actor_rollout_ref.rollout.n_gpus_per_node"] == 0
    assert settings["data.train_files"] == NESTED["data"]["train_files"]
    assert settings["trainer.note"] == NESTED["trainer"]["note"]
    assert settings["data.eos_token_id"] == 151645
    assert SECRETS.isdisjoint(settings)


def test_lines_of_others_in_between(read: Read) -> None:
    prefix, other = "(TaskRunner pid=7) ", "(WorkerDict pid=8) "
    log = "\n".join(x for text in LINES for x in (prefix + text, f"{other}{{'noise': 1}}", "plain noise"))
    (part,), ledger = read(log + "\n")
    assert part.claim.role == "config"
    assert part.config == flatten(NESTED)
    assert part.hints["mark.config_whole"] == "1"
    assert ledger.notes == 0


@pytest.mark.parametrize("gap", range(1, len(LINES) - 3, 3))
def test_a_damaged_dump_gives_only_settings_in_their_right_place(gap: int) -> None:
    truth = flatten(NESTED)
    damaged = [*LINES[:gap], *LINES[gap + 3 :]]
    found = by_columns(damaged)
    wrong = {k for k, v in found.items() if truth.get(k) != v}
    # "model" is as long as "actor": where the line between them is lost, nothing tells them apart
    assert all(k.startswith("actor_rollout_ref.actor.") for k in wrong)
    assert SECRETS.isdisjoint(found)
    assert len(found) >= 10


def test_glued_foreign_text_falls_back_and_is_noted(read: Read) -> None:
    prefix = "\x1b[36m(TaskRunner pid=7)\x1b[0m "
    at = next(i for i, text in enumerate(LINES) if "'project_name'" in text)
    spoiled = list(LINES)
    spoiled[at] = spoiled[at] + "Flash Attention 2.0 {only supports"
    (part,), ledger = read("\n".join(prefix + text for text in spoiled) + "\n")
    assert part.config["trainer.n_gpus_per_node"] == 8
    assert part.config["trainer.nnodes"] == 2
    assert part.config["actor_rollout_ref.rollout.tensor_model_parallel_size"] == 2
    assert "mark.config_whole" not in part.hints
    assert [p.reason.partition(":")[0] for p in ledger.problems] == ["damaged configuration dump"]


def test_overrides_of_a_traced_command_line() -> None:
    reader = CommandReader()
    assert reader.feed(
        "+ python3 -m verl.trainer.main_ppo data.train_batch_size=512 'trainer.logger=[console,wandb]' "
        "actor_rollout_ref.rollout.tensor_model_parallel_size=2 +trainer.val_before_train=False "
        "trainer.default_hdfs_dir=null actor_rollout_ref.actor.optim.lr=1e-6 trainer.n_gpus_per_node=2 "
        "data.train_files='['\\''/a/b.parquet'\\'']' trainer.wandb_api_key=abc trainer.n_gpus_per_node=8"
    )
    assert reader.settings["data.train_batch_size"] == 512
    assert reader.settings["trainer.logger"] == ["console", "wandb"]
    assert reader.settings["trainer.val_before_train"] is False
    assert reader.settings["trainer.default_hdfs_dir"] is None
    assert reader.settings["actor_rollout_ref.actor.optim.lr"] == 1e-6
    assert reader.settings["trainer.n_gpus_per_node"] == 8  # the last word counts
    assert "trainer.wandb_api_key" not in reader.settings


def test_overrides_of_a_script_with_variables() -> None:
    reader = CommandReader()
    for text in (
        "TP_VALUE=2 #default:2",
        "export MODEL_PATH='deepseek-ai/deepseek-llm-7b-chat'",
        "python3 -m verl.trainer.main_ppo \\",
        "    actor_rollout_ref.model.path=$MODEL_PATH \\",
        "    actor_rollout_ref.rollout.tensor_model_parallel_size=${TP_VALUE} \\",
        "    actor_rollout_ref.rollout.n=$UNKNOWN \\",
        "    trainer.logger=['console','wandb'] \\",
        "    trainer.nnodes=1",
    ):
        reader.feed(text)
    assert reader.settings == {
        "actor_rollout_ref.model.path": "deepseek-ai/deepseek-llm-7b-chat",
        "actor_rollout_ref.rollout.tensor_model_parallel_size": 2,
        "trainer.logger": ["console", "wandb"],
        "trainer.nnodes": 1,
    }


def test_the_dump_wins_over_the_command_line_and_fills_from_it(read: Read) -> None:
    log = (
        "+ python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=4 trainer.save_freq=20\n"
        + "\n".join(f"(TaskRunner pid=7) {text}" for text in LINES)
        + "\n(TaskRunner pid=7) step:1 - timing_s/gen:1.5\ntrainer.n_gpus_per_node=2 said a response\n"
    )
    (part,), _ = read(log)
    assert part.config["trainer.n_gpus_per_node"] == 8
    assert part.config["trainer.save_freq"] == 20


def test_each_run_of_a_file_has_its_own_configuration(read: Read) -> None:
    def run(gpus: int, pid: int) -> str:
        config = {**NESTED, "trainer": {"n_gpus_per_node": gpus, "nnodes": 1}}
        dump = "\n".join(f"(TaskRunner pid={pid}) {text}" for text in pprint.pformat(config).split("\n"))
        step = f"(TaskRunner pid={pid}) step:1 - timing_s/gen:{gpus}.5 - actor/lr:1e-06\n"
        return f"{dump}\n{step}"

    parts, _ = read(run(4, 10) + run(16, 11))
    assert [p.config["trainer.n_gpus_per_node"] for p in parts] == [4, 16]


@given(st.lists(st.text(max_size=120), max_size=20))
def test_any_lines_are_survived(lines: list[str]) -> None:
    by_columns(lines)
    reader = DumpReader("{'actor_rollout_ref': {" + "".join(lines[:1]))
    for text in lines:
        reader.feed(" " + text)
    reader.result()
    commands = CommandReader()
    for text in lines:
        commands.feed(text)
        commands.feed("trainer.x=" + text)


def test_deep_nesting_is_survived() -> None:
    reader = DumpReader("{'actor_rollout_ref': {'a': " + "[" * 5000)
    reader.feed(" " + "]" * 5000 + "}}")
    assert reader.done
    settings, complete = reader.result()
    assert (settings, complete) == ({}, False)
