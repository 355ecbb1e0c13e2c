"""trainer_state.json, ms-swift's lines, saved arguments, the model card."""

from __future__ import annotations

import io
import json
import math
import pickle
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from rollprof.adapters.base import MetricPart
from rollprof.adapters.trl.progress import ELAPSED
from rollprof.schema.ledger import Ledger

from .log_text import by_step, metrics, reasons

Read = Callable[..., tuple[list[MetricPart], Ledger]]


def state(history: list[dict[str, Any]], **extra: Any) -> str:
    whole = {
        "best_metric": None,
        "epoch": 1.0,
        "eval_steps": 500,
        "global_step": 12,
        "log_history": history,
        "logging_steps": 10,
        "max_steps": 12,
        "train_batch_size": 6,
        **extra,
    }
    return json.dumps(whole, indent=2, sort_keys=True)


def test_every_digit_and_the_settings(read: Read) -> None:
    (part,), ledger = read(state([{**metrics(1), "step": 10, "epoch": 0.5}]), "trainer_state.json")
    assert by_step(part)[10]["grad_norm"] == 1.0282684564590454
    assert part.config["per_device_train_batch_size"] == 6
    assert part.config["logging_steps"] == 10
    assert part.config["log.reward_functions"] == ["exact"]
    assert ledger.clean


def test_nan_tokens_and_null(read: Read) -> None:
    entry = {**metrics(1), "step": 1, "grad_norm": math.nan, "kl": math.inf, "entropy": None}
    text = state([entry])
    assert "NaN" in text
    assert "Infinity" in text
    (part,), _ = read(text, "some_other_name.txt")
    values = by_step(part)[1]
    assert math.isnan(values["grad_norm"])
    assert values["kl"] == math.inf
    assert "entropy" not in values


def test_entries_of_evaluation_share_the_step(read: Read) -> None:
    evaluated = {"step": 2, "eval_reward": 0.1, "eval_runtime": 23.4837, "eval_samples_per_second": 0.341}
    (part,), _ = read(state([{**metrics(1), "step": 2}, evaluated]), "trainer_state.json")
    assert by_step(part)[2]["eval_reward"] == 0.1
    assert part.config["log.evaluated.2"] == 8
    assert "log.last_step" not in part.config  # a checkpoint is not the end


def test_the_state_saved_at_the_end_says_so(read: Read) -> None:
    end = {"step": 12, "train_runtime": 9.0, "train_loss": 0.1}
    (part,), _ = read(state([{**metrics(1), "step": 12}, end]), "trainer_state.json")
    assert part.config["log.last_step"] == 12


def test_an_entry_without_a_step_is_noted(read: Read) -> None:
    (part,), ledger = read(state([metrics(1), {**metrics(2), "step": 2}]), "trainer_state.json")
    assert list(by_step(part)) == [2]
    assert any("have no step" in r for r in reasons(ledger))


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, 0.5), (2.0, 0.0)])
def test_weights_follow_from_the_logged_means(read: Read, weights: tuple[float, float]) -> None:
    history = []
    for step, (a, b) in enumerate([(0.5, -0.3), (0.25, -0.1), (0.75, -0.7), (0.1, -0.2)], 1):
        total = weights[0] * a + weights[1] * b
        history.append(
            {**metrics(1), "step": step, "rewards/exact/mean": a, "rewards/brevity/mean": b, "reward": total}
        )
    (part,), _ = read(state(history), "trainer_state.json")
    assert part.config["log.reward_weights"] == dict(zip(("exact", "brevity"), weights, strict=True))


def test_a_reward_that_is_no_sum_has_no_weights(read: Read) -> None:
    history = [
        {
            **metrics(1),
            "step": s,
            "rewards/exact/mean": s / 7,
            "rewards/brevity/mean": s % 3,
            "reward": s * s % 5,
        }
        for s in range(1, 7)
    ]
    (part,), _ = read(state(history), "trainer_state.json")
    assert "log.reward_weights" not in part.config


def test_swift_lines_carry_their_step(read: Read) -> None:
    lines = [
        {
            **metrics(s),
            "global_step/max_steps": f"{5 * s}/438",
            "elapsed_time": "1h 2m 3s",
            "percentage": "1%",
        }
        for s in (1, 2)
    ]
    text = "\n".join(map(json.dumps, [*lines, {"last_model_checkpoint": "x", "log_history": []}]))
    (part,), ledger = read(text, "logging.jsonl")
    assert list(by_step(part)) == [5, 10]
    assert by_step(part)[5][ELAPSED] == 3723.0
    assert ledger.notes == 0


class GRPOConfig:
    """Stands for the class that a checkpoint's arguments name."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit('code of the file ran')",))


def archive(value: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as out:
        out.writestr("training_args/data.pkl", pickle.dumps(value, protocol=2))
        out.writestr("training_args/version", "3\n")
    return stream.getvalue()


def test_saved_arguments_are_read_and_nothing_runs(read: Read) -> None:
    args = GRPOConfig(
        num_generations=8,
        reward_weights=[1.0, 0.5],
        use_vllm=False,
        hub_token="secret",
        output_dir="/home/someone/out",
        scale_rewards="group",
        bomb=Bomb(),
    )
    (part,), ledger = read(archive(args), "training_args.bin")
    assert part.config == {
        "num_generations": 8,
        "reward_weights": [1.0, 0.5],
        "use_vllm": False,
        "scale_rewards": "group",
        "args_class": "GRPOConfig",
    }
    assert part.metrics == []
    assert ledger.clean


def test_a_damaged_archive_is_skipped(read: Read) -> None:
    parts, ledger = read(archive(GRPOConfig(num_generations=8))[:-40], "training_args.bin")
    assert parts == []
    assert ledger.skipped == 1


CARD = """---
library_name: transformers
base_model: Qwen/Qwen2.5-0.5B
tags:
- generated_from_trainer
- trl
- rloo
---

### Framework versions

- TRL: 1.16.0
- Transformers: 5.24.0
- Pytorch: 2.13.0+cpu
"""


def test_versions_from_the_model_card(read: Read) -> None:
    (part,), _ = read(CARD, "README.md")
    assert part.config == {
        "version.trl": "1.16.0",
        "version.transformers": "5.24.0",
        "version.pytorch": "2.13.0+cpu",
        "model": "Qwen/Qwen2.5-0.5B",
        "method": "rloo",
    }
