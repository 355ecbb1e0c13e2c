from __future__ import annotations

from typing import Any

import pytest

from rollprof.adapters.openrlhf.facts import facts_of

PLACED: dict[str, Any] = {
    "actor.num_nodes": 1,
    "actor.num_gpus_per_node": 8,
    "ref.num_nodes": 1,
    "ref.num_gpus_per_node": 8,
    "critic.num_nodes": 1,
    "critic.num_gpus_per_node": 4,
    "reward.num_nodes": 1,
    "reward.num_gpus_per_node": 2,
    "vllm.num_engines": 4,
    "vllm.tensor_parallel_size": 2,
    "train.async_enable": False,
    "train.colocate_all": False,
    "train.colocate_actor_ref": False,
    "train.colocate_critic_reward": False,
    "algo.kl.init_coef": 0.0,
    "reward.remote_url": ["reward.py"],
    "critic.model_name_or_path": None,
    "rollout.batch_size": 128,
    "rollout.n_samples_per_prompt": 8,
    "rollout.max_new_tokens": 4096,
}


def values(**changes: Any) -> dict[str, Any]:
    config = PLACED | {key.replace("__", "."): value for key, value in changes.items()}
    return {name: fact.value for name, fact in facts_of(config, {}, None).items()}


@pytest.mark.parametrize(
    ("changes", "gpus", "trainer", "rollout"),
    [
        ({}, 8 + 8, 8, 8),
        ({"algo__kl__init_coef": 0.01}, 8 + 8 + 8, 16, 8),
        ({"algo__kl__init_coef": 0.01, "train__colocate_actor_ref": True}, 16, 8, 8),
        ({"critic__model_name_or_path": "m"}, 8 + 4 + 8, 12, 8),
        ({"reward__remote_url": None}, 8 + 2 + 8, 10, 8),
        ({"reward__remote_url": None, "critic__model_name_or_path": "m"}, 8 + 4 + 2 + 8, 14, 8),
        (
            {
                "reward__remote_url": None,
                "critic__model_name_or_path": "m",
                "train__colocate_critic_reward": True,
            },
            8 + 4 + 8,
            12,
            8,
        ),
        ({"reward__remote_url": None, "train__agent_func_path": "agent.py"}, 16, 8, 8),
        # engines of an asynchronous run stand apart, whatever shares the trainer's GPUs
        ({"train__colocate_all": True, "train__async_enable": True, "algo__kl__init_coef": 0.01}, 16, 8, 8),
    ],
)
def test_separate_gpus(changes: dict[str, Any], gpus: int, trainer: int, rollout: int) -> None:
    found = values(**changes)
    assert found["colocated"] is False
    assert (found["gpus"], found["trainer_gpus"], found["rollout_gpus"]) == (gpus, trainer, rollout)


def test_shared_gpus() -> None:
    found = values(train__colocate_all=True, algo__kl__init_coef=0.01, critic__model_name_or_path="m")
    assert (found["colocated"], found["gpus"]) == (True, 8)
    assert "rollout_gpus" not in found


def test_batch_cap_and_mode() -> None:
    found = values()
    assert (found["group_size"], found["prompts_per_step"], found["responses_per_step"]) == (8, 128, 1024)
    assert (found["engines"], found["gpus_per_engine"], found["response_cap"]) == (4, 2, 4096)
    assert (found["mode"], found["engine_name"], found["multi_turn"]) == ("sync", "vllm", False)
    assert "response_cap" not in values(rollout__max_new_tokens=None)  # whatever the context leaves


def test_queue_is_excluded_where_few_enough_come() -> None:
    assert values()["requests_may_queue"] is False  # 1024 over 4 engines
    assert values(rollout__n_samples_per_prompt=9)["requests_may_queue"] is True
    assert values(rollout__vllm_generate_batch_size=256)["requests_may_queue"] is True
    assert "max_num_seqs" not in values()


def test_without_engines() -> None:
    found = values(vllm__num_engines=0)
    assert (found["engine_name"], found["gpus"]) == ("hf", 8)
    assert "engines" not in found


def test_mode_from_the_actors() -> None:
    for actor, mode in (("TrainingActor", "async"), ("PPOTrainer", "sync"), ("LLMRayActor", "unknown")):
        assert facts_of({}, {f"mark.actor.{actor}": "1"}, None)["mode"].value == mode
    assert facts_of({}, {"engines_seen": "2"}, None)["engines"].value == 2


def test_strange_values_are_no_facts() -> None:
    found = values(vllm__num_engines="many", actor__num_gpus_per_node=-1, rollout__batch_size=2.5)
    assert "gpus" not in found
    assert "engines" not in found
    assert "prompts_per_step" not in found
