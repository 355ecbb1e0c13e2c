"""Facts with their origin, and what happens when two ways of knowing disagree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rollprof.adapters.base import Fact, Interpretation, RolloutSummary

Interpret = Callable[..., Interpretation]

ROLLOUT = "actor_rollout_ref.rollout"
CONFIG: dict[str, Any] = {
    "trainer.n_gpus_per_node": 8,
    "trainer.nnodes": 2,
    f"{ROLLOUT}.n_gpus_per_node": 0,
    f"{ROLLOUT}.nnodes": 0,
    "reward_model.n_gpus_per_node": 8,
    "distillation.n_gpus_per_node": 8,
    f"{ROLLOUT}.tensor_model_parallel_size": 2,
    f"{ROLLOUT}.data_parallel_size": 2,
    f"{ROLLOUT}.pipeline_model_parallel_size": 1,
    f"{ROLLOUT}.max_num_seqs": 512,
    f"{ROLLOUT}.name": "vllm",
    f"{ROLLOUT}.n": 5,
    f"{ROLLOUT}.multi_turn.enable": False,
    "data.train_batch_size": 1024,
    "data.max_response_length": 4096,
    "actor_rollout_ref.model.path": "Qwen/Qwen2.5-7B",
}
LEGACY = {"timing_s/start_profile": 1e-4, "timing_s/gen": 60.0}


def step(n: int = 5120, gpus: int = 16, seconds: float = 250.0, **more: float) -> dict[str, float]:
    """Metrics whose averages give back `n` responses and `gpus` GPUs."""
    prompt, response = 100.5, 300.25
    total = n * (prompt + response)
    return {
        **LEGACY,
        "perf/total_num_tokens": total,
        "prompt_length/mean": prompt,
        "response_length/mean": response,
        "perf/time_per_step": seconds,
        "perf/throughput": total / (gpus * seconds),
        **more,
    }


def facts(
    interpret: Interpret, metrics: dict[str, float], config: dict[str, Any] | None = None, **more: Any
) -> dict[str, Fact]:
    return dict(interpret({1: metrics, 2: metrics}, config=config, **more).facts)


def test_everything_the_configuration_says(interpret: Interpret) -> None:
    found = facts(interpret, LEGACY, CONFIG)
    assert {k: (f.value, f.origin) for k, f in found.items()} == {
        "gpus": (16, "config"),
        "gpus_per_engine": (4, "config"),
        "engines": (4, "derived"),
        "max_num_seqs": (512, "config"),
        "response_cap": (4096, "config"),
        "group_size": (5, "config"),
        "prompts_per_step": (1024, "config"),
        "responses_per_step": (5120, "config"),
        "mode": ("sync", "derived"),
        "colocated": (True, "derived"),
        "multi_turn": (False, "config"),
        "engine_name": ("vllm", "config"),
        "model": ("Qwen/Qwen2.5-7B", "config"),
        "requests_may_queue": (True, "derived"),
    }
    assert found["gpus"].how == "trainer.n_gpus_per_node x trainer.nnodes"
    assert found["engines"].how == (
        f"16 GPUs // ({ROLLOUT}.tensor_model_parallel_size x {ROLLOUT}.data_parallel_size)"
    )
    assert found["requests_may_queue"].how == "5120 responses on 4 x 512 slots"


def test_the_step_lines_confirm(interpret: Interpret) -> None:
    reading = interpret({1: step(), 2: step()}, config=CONFIG)
    assert reading.alarms == []
    assert reading.facts["gpus"].value == 16
    assert reading.facts["gpus"].how.endswith(
        "confirmed by total tokens / (throughput x step time), 16 in 2 of 2 steps, off by at most 1e-09"
    )
    assert reading.facts["responses_per_step"].how.endswith(
        "confirmed by total tokens / mean tokens, 5120 in 2 of 2 steps, off by at most 1e-09"
    )


def test_the_step_lines_alone(interpret: Interpret) -> None:
    found = facts(interpret, step(n=128, gpus=4))
    assert (found["gpus"].value, found["gpus"].origin) == (4, "derived")
    assert (found["responses_per_step"].value, found["responses_per_step"].origin) == (128, "derived")
    assert "engines" not in found


def test_disagreement_is_an_alarm_and_the_step_lines_win(interpret: Interpret) -> None:
    reading = interpret({1: step(n=640, gpus=24)}, config=CONFIG)
    assert {a.code: dict(a.evidence) for a in reading.alarms} == {
        "gpus-disagree": {"config": 16, "derived": 24, "steps": 1},
        "responses-disagree": {"config": 5120, "derived": 640, "steps": 1},
    }
    assert (reading.facts["gpus"].value, reading.facts["gpus"].origin) == (24, "derived")
    assert reading.facts["responses_per_step"].value == 640


@pytest.mark.parametrize(("said", "doubted"), [(24, None), (16, 16), (64, 64)])
def test_the_users_word_settles_the_configuration_but_not_the_step_lines(
    interpret: Interpret, said: int, doubted: int | None
) -> None:
    reading = interpret({1: step(n=5120, gpus=24)}, config=CONFIG, overrides={"gpus": said})
    found = [dict(a.evidence) for a in reading.alarms if a.code == "gpus-disagree"]
    assert found == ([{"user": doubted, "derived": 24, "steps": 1}] if doubted else [])
    assert reading.facts["gpus"].value == said


def test_the_user_has_the_last_word(interpret: Interpret) -> None:
    found = facts(
        interpret,
        step(),
        CONFIG,
        overrides={"gpus": 8, "engines": 3, "max_num_seqs": 64, "response_cap": 100},
    )
    said = {k: f.value for k, f in found.items() if f.origin == "user"}
    assert said == {"gpus": 8, "engines": 3, "max_num_seqs": 64, "response_cap": 100}


@pytest.mark.parametrize(
    ("keys", "hints", "wanted"),
    [
        ({"timing/gen": 1.0}, {}, 1024),
        ({"timing_s/agent_loop/num_preempted/max": -1.0}, {"mark.orjson": "1"}, None),
        ({"training/off_policy/trajectory_spans/max": 1.0}, {}, 256),
        ({"timing_s/generation_timing/max": 1.0}, {}, 1024),
        ({"timing_s/gen": 1.0}, {"mark.repr": "1"}, None),
    ],
)
def test_slots_by_the_default_of_the_release(
    interpret: Interpret, keys: dict[str, float], hints: dict[str, str], wanted: int | None
) -> None:
    found = facts(interpret, keys, hints=hints).get("max_num_seqs")
    assert (found.value if found else None) == wanted
    if found:
        assert found.origin == "default"
        assert "default of verl" in found.how


def test_a_cap_that_the_log_shows(interpret: Interpret) -> None:
    clipped = {"response_length/max": 1024.0, "response_length/clip_ratio": 0.02, **LEGACY}
    unclipped = {"response_length/max": 900.0, "response_length/clip_ratio": 0.0, **LEGACY}
    found = interpret({1: clipped, 2: unclipped}).facts["response_cap"]
    assert (found.value, found.origin) == (1024, "derived")
    assert "response_cap" not in interpret({1: unclipped}).facts


def test_separate_gpus_of_the_fully_asynchronous_trainer(interpret: Interpret) -> None:
    config = {**CONFIG, "rollout.n_gpus_per_node": 8, "rollout.nnodes": 1, "rollout.n": 4}
    metrics = {"fully_async/rollouter/idle_ratio": 0.1, "timing_s/gen": 1.0}
    found = facts(interpret, metrics, config)
    assert (found["trainer_gpus"].value, found["rollout_gpus"].value, found["gpus"].value) == (16, 8, 24)
    assert found["engines"].value == 2
    assert found["group_size"].how == "rollout.n"
    assert (found["mode"].value, found["colocated"].value) == ("async", False)
    # the rollout pool is not in the log: engines of all GPUs would be too many
    alone = facts(interpret, metrics, {k: v for k, v in config.items() if not k.startswith("rollout.")})
    assert "engines" not in alone
    assert "gpus" not in alone


def test_separate_gpus_of_the_v1_trainer(interpret: Interpret) -> None:
    config = {
        **CONFIG,
        f"{ROLLOUT}.n_gpus_per_node": 4,
        f"{ROLLOUT}.nnodes": 2,
        "trainer.v1.trainer_mode": "separate_async",
    }
    found = facts(interpret, {"training/num_turns/max": 2.0, "timing_s/gen": 1.0}, config)
    assert (found["trainer_gpus"].value, found["rollout_gpus"].value, found["gpus"].value) == (16, 8, 24)


def test_the_rollout_pool_is_the_rest(interpret: Interpret) -> None:
    config = {"trainer.n_gpus_per_node": 8, "trainer.nnodes": 1}
    found = facts(interpret, step(gpus=12, **{"timing_s/generate_async": 9.0}), config)
    assert (found["gpus"].value, found["trainer_gpus"].value, found["rollout_gpus"].value) == (12, 8, 4)


@pytest.mark.parametrize(
    ("metrics", "config", "wanted"),
    [
        ({"num_turns/max": 6.0}, {f"{ROLLOUT}.multi_turn.enable": False}, True),
        ({"num_turns/max": 2.0}, {}, False),
        ({"training/num_turns/max": 4.0}, {}, True),
        ({}, {f"{ROLLOUT}.multi_turn.enable": True}, True),
        ({}, {}, None),
    ],
)
def test_multi_turn(
    interpret: Interpret, metrics: dict[str, float], config: dict[str, Any], wanted: bool | None
) -> None:
    found = facts(interpret, {**LEGACY, **metrics}, config).get("multi_turn")
    assert (found.value if found else None) == wanted


def test_requests_fit_a_single_engine(interpret: Interpret) -> None:
    metrics = {k: v for k, v in step(n=128).items() if k != "timing_s/start_profile"}
    found = facts(interpret, metrics, hints={"mark.json_logger": "1"})["requests_may_queue"]
    assert (found.value, found.how) == (False, "128 responses fit the 1024 slots of a single engine")


def test_a_log_without_steps_knows_no_mode(interpret: Interpret) -> None:
    reading = interpret({})
    assert reading.facts["mode"].value == "unknown"
    assert "colocated" not in reading.facts
    assert reading.steps == []


def summary(n: int, reward: float | None) -> RolloutSummary:
    return RolloutSummary(n, 0, 100.0, 200, None, reward)


def alarms(reading: Interpretation) -> dict[str, str]:
    return {a.code: a.text for a in reading.alarms}


def test_a_dump_that_agrees_raises_nothing(interpret: Interpret) -> None:
    metrics = {1: step(n=640, **{"critic/score/mean": 0.25})}
    assert alarms(interpret(metrics, rollouts={(1, "train"): summary(640, 0.2501)})) == {}


def test_a_dump_that_lacks_rows_or_overwrites_scores(interpret: Interpret) -> None:
    metrics = {1: step(n=640, **{"critic/score/mean": 0.25})}
    short = alarms(interpret(metrics, rollouts={(1, "train"): summary(639, 0.2501)}))
    assert short == {
        "dump-incomplete": "the dump has 639 responses of step 1, the metrics say 640 (1 such steps)"
    }
    other = alarms(interpret(metrics, rollouts={(1, "train"): summary(640, 0.5)}))
    assert list(other) == ["score-overwritten"]
    assert "average 0.5, the trainer's 0.25" in other["score-overwritten"]


def test_a_dump_of_the_dapo_recipe_and_of_the_async_trainer(interpret: Interpret) -> None:
    dump = {(1, "train"): summary(640, 0.5)}
    dapo = {1: {**LEGACY, "train/num_gen_batches": 1.0}}
    assert list(alarms(interpret(dapo, rollouts=dump))) == ["dapo-extras-misaligned"]
    aligned = {"trainer.balance_batch": False, "algorithm.filter_groups.enable": False}
    assert alarms(interpret(dapo, config=aligned, rollouts=dump)) == {}
    asynchronous = {1: {"fully_async/rollouter/idle_ratio": 0.2, "timing_s/gen": 1.0}}
    assert list(alarms(interpret(asynchronous, rollouts=dump))) == ["dump-steps-differ"]
    known = {"async_training.trigger_parameter_sync_step": 4}
    assert alarms(interpret(asynchronous, config=known, rollouts=dump)) == {}


def test_numbers_that_contradict_each_other(interpret: Interpret) -> None:
    slow = {**LEGACY, "timing_s/agent_loop/generate_sequences/max": 75.0}
    found = alarms(interpret({1: slow, 2: LEGACY}))
    assert list(found) == ["rollout-max-beyond-generate"]
    assert "in 1 of 2 steps (step 1: 75 s against 60 s)" in found["rollout-max-beyond-generate"]
    assert list(alarms(interpret({1: {**LEGACY, "timing_s/step": 30.0}}))) == ["generate-beyond-step"]
    assert alarms(interpret({1: {**LEGACY, "timing_s/agent_loop/generate_sequences/max": 60.1}})) == {}


def test_a_model_length_that_ends_responses_early(interpret: Interpret) -> None:
    config = {
        "actor_rollout_ref.rollout.max_model_len": 4096,
        "data.max_prompt_length": 1024,
        "data.max_response_length": 4096,
    }
    assert list(alarms(interpret({1: LEGACY}, config=config))) == ["max-model-len-binds"]
    assert alarms(interpret({1: LEGACY}, config={**config, "data.max_response_length": 3072})) == {}


def test_a_rollouter_that_says_it_never_idles(interpret: Interpret) -> None:
    metrics = {1: {"fully_async/rollouter/idle_ratio": 0.0, "timing_s/gen": 1.0}}
    assert list(alarms(interpret(metrics, hints={"rollouter_paused": "7 pauses"}))) == [
        "rollouter-idle-understated"
    ]
    assert alarms(interpret(metrics)) == {}


def test_what_a_reader_should_know(interpret: Interpret) -> None:
    served = {**LEGACY, "timing_s/agent_loop/tool_calls/max": 0.0, "timing_s/reward": 4e-5}
    assert any("rewards were computed while rollouts ran" in n for n in interpret({1: served}).notes)
    v1 = {"training/num_turns/max": 2.0, "timing_s/gen": 3.0}
    assert any("not show its mode" in n for n in interpret({1: v1}).notes)
    sync = interpret({1: v1}, config={"trainer.v1.trainer_mode": "sync"})
    assert any("polls" in n for n in sync.notes)
    aborted = {**LEGACY, "response/aborted_ratio": 0.1}
    assert any("aborted" in n for n in interpret({1: aborted}).notes)
    barrier = {"timing_s/generate_sequences": 5.0, "timing_s/gen": 6.0}
    sglang = interpret({1: barrier}, config={"actor_rollout_ref.rollout.name": "sglang"})
    assert any("SGLang" in n for n in sglang.notes)
    assert any("replayed" in n for n in interpret({1: LEGACY}, hints={"mark.rollout_skip": "1"}).notes)
    fork = {"timing_s/generate_sequences": 1.0}
    assert any("fork" in n for n in interpret({1: fork}, hints={"mark.orjson": "1"}).notes)
    assert any("moving the weights" in n for n in interpret({1: {"timing/gen": 3.0}}).notes)
    assert interpret({1: {"timing_s/gen": 3.0, "timing_s/step": 5.0}}).notes == []
