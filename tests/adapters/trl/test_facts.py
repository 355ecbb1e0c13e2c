"""Facts, and how each is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rollprof.adapters.base import Fact, Interpretation
from rollprof.adapters.trl.processes import world_size

from .log_text import metrics

Interpret = Callable[..., Interpretation]

SAVED: dict[str, Any] = {
    "args_class": "GRPOConfig",
    "per_device_train_batch_size": 6,
    "gradient_accumulation_steps": 1,
    "steps_per_generation": 1,
    "num_iterations": 1,
    "generation_batch_size": 12,
    "num_generations": 4,
    "max_completion_length": 64,
    "use_vllm": False,
    "vllm_mode": "colocate",
    "vllm_tensor_parallel_size": 1,
}


def facts(interpret: Interpret, **config: Any) -> dict[str, Fact]:
    return dict(interpret({1: metrics(1)}, {**SAVED, **config}).facts)


def told(found: dict[str, Fact]) -> dict[str, Any]:
    return {name: fact.value for name, fact in found.items()}


def test_the_world_by_formula(interpret: Interpret) -> None:
    found = facts(interpret)
    assert found["processes"] == Fact(
        2, "derived", "generation_batch_size / (per_device_train_batch_size x steps_per_generation)"
    )
    assert found["gpus"].value == 2
    assert told(found) | {
        "engines": 2,
        "gpus_per_engine": 1,
        "max_num_seqs": 6,
        "group_size": 4,
        "responses_per_step": 12,
        "prompts_per_step": 3,
        "response_cap": 64,
        "engine_name": "hf",
        "mode": "sync",
        "colocated": True,
        "requests_may_queue": False,
    } == told(found)


@pytest.mark.parametrize(
    ("config", "world"),
    [
        ({"num_processes": 2}, 2),
        ({"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "train_batch": 256}, 8),
        ({"per_device_train_batch_size": 8, "steps_per_generation": 2, "generation_batch_size": 30}, None),
        ({"per_device_train_batch_size": 8}, None),
    ],
)
def test_world_size(config: dict[str, Any], world: int | None) -> None:
    found = world_size(config)
    assert (found.value if found is not None else None) == world


def test_vllm_mode_is_only_a_default_where_vllm_is_off(interpret: Interpret) -> None:
    assert facts(interpret, use_vllm=False, vllm_mode="server")["engine_name"].value == "hf"


def test_colocated_engines_share_processes(interpret: Interpret) -> None:
    found = told(facts(interpret, use_vllm=True, vllm_tensor_parallel_size=2))
    assert (found["engines"], found["gpus_per_engine"], found["max_num_seqs"]) == (1, 2, 12)
    assert (found["engine_name"], found["colocated"]) == ("vllm", True)


def test_a_vllm_server_has_gpus_that_no_log_counts(interpret: Interpret) -> None:
    found = told(facts(interpret, use_vllm=True, vllm_mode="server"))
    assert "gpus" not in found
    assert "engines" not in found
    assert (found["trainer_gpus"], found["colocated"]) == (2, False)


def test_processes_on_cpu_are_engines_without_gpus(interpret: Interpret) -> None:
    found = told(facts(interpret, use_cpu=True))
    assert "gpus" not in found
    assert found["engines"] == 2


def test_the_users_word_counts(interpret: Interpret) -> None:
    found = interpret(
        {1: metrics(1)}, SAVED, overrides={"gpus": 8, "group_size": 2, "response_cap": 100}
    ).facts
    assert [(found[n].value, found[n].origin) for n in ("gpus", "group_size", "response_cap")] == [
        (8, "user"),
        (2, "user"),
        (100, "user"),
    ]


def test_the_cap_from_responses_that_were_cut(interpret: Interpret) -> None:
    cut = {s: metrics(s) for s in (1, 2, 3)}
    found = interpret(cut).facts["response_cap"]
    assert (found.value, found.origin) == (64, "derived")
    assert "response_cap" not in interpret({1: metrics(1)}).facts  # one step is not enough
    varying = {**cut, 4: metrics(4, completions__max_length=61.0)}
    assert "response_cap" not in interpret(varying).facts
    longer = {**cut, 4: metrics(4, completions__max_length=70.0, completions__clipped_ratio=0.0)}
    assert "response_cap" not in interpret(longer).facts


def test_vllm_by_its_metrics(interpret: Interpret) -> None:
    logs = {1: metrics(1, sampling__importance_sampling_ratio__mean=1.0)}
    assert interpret(logs).facts["engine_name"].how == "sampling/* is logged only with vLLM"


def test_sleeping_vllm_is_colocated(interpret: Interpret) -> None:
    found = interpret({1: metrics(1)}, {"vllm_sleeps": True}).facts
    assert found["colocated"].value is True


def test_tools_make_several_turns(interpret: Interpret) -> None:
    assert interpret({1: metrics(1, tools__call_frequency=0.5)}).facts["multi_turn"].value is True
    assert "multi_turn" not in interpret({1: metrics(1)}).facts


@pytest.mark.parametrize(
    ("keys", "config", "expected"),
    [
        ({"completion_length": 1.0, "reward": 1.0}, {}, ">=0.14,<0.16"),
        ({"completion_length": 1.0, "num_tokens": 1.0}, {}, ">=0.16,<0.17"),
        ({"completions/mean_length": 1.0, "num_tokens": 1.0}, {}, ">=0.17,<0.18"),
        ({"completions/mean_length": 1.0, "frac_reward_zero_std": 0.0}, {}, ">=0.18,<0.20"),
        ({"frac_reward_zero_std": 0.0, "entropy": 1.0}, {}, ">=0.20,<0.26"),
        ({"frac_reward_zero_std": 0.0, "entropy": 1.0, "step_time": 1.0}, {}, ">=0.26"),
        ({"step_time": 1.0, "entropy": 1.0, "policy_loss": 1.0}, {}, ">=1.8"),
        (
            {"step_time": 1.0, "entropy": 1.0},
            {"args_class": "GRPOConfig", "log_completions_hub_repo": "x"},
            ">=0.28",
        ),
        ({"step_time": 1.0}, {"version.trl": "1.16.0"}, "1.16.0"),
        (
            {"completion_length": 1.0, "completions/mean_length": 1.0, "frac_reward_zero_std": 0.0},
            {},
            ">=0.18",
        ),  # Unsloth
        ({"loss": 1.0}, {}, None),
    ],
)
def test_the_release(
    interpret: Interpret, keys: dict[str, float], config: dict[str, Any], expected: str | None
) -> None:
    assert interpret({1: {"loss": 0.1, **keys}}, config).version == expected


def test_relatives_have_no_release_of_trl(interpret: Interpret) -> None:
    found = interpret({1: metrics(1)}, hints={"mark.swift": "1"})
    assert (found.version, found.trainer) == (None, "ms-swift GRPOTrainer")
