from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rollprof.adapters.base import Interpretation

Interpret = Callable[..., Interpretation]

BOTH = {"rollout/truncated_rate": 0.0, "rollout/num_samples": 32.0, "response_length": 100.0}
AGENT = {"train.agent_func_path": "agent.py"}


def row(reading: Interpretation) -> dict[str, Any]:
    return dict(next(r for r in reading.steps if r["split"] == "train"))


def test_rollout_statistics_win_over_means_of_micro_batches(interpret: Interpret) -> None:
    metrics = {
        "response_length": 300.0,
        "rollout/response_length_mean": 301.0,
        "total_length": 340.0,
        "reward": 0.4,
        "rollout/reward_mean": 0.5,
        "truncated": 0.2,
        "rollout/truncated_rate": 0.25,
        "rollout/num_samples": 32.0,
    }
    found = row(interpret({1: metrics}, {"rollout.n_samples_per_prompt": 4}))
    assert found["response_tokens_mean"] == 301
    assert found["prompt_tokens_mean"] == 40  # from one kind of mean, not from two
    assert found["tokens_total"] == 32 * 340
    assert (found["reward_mean"], found["truncated_share"]) == (0.5, 0.25)
    assert (found["rollouts"], found["prompts"]) == (32, 8)


def test_dropped_remainder_is_an_alarm(interpret: Interpret) -> None:
    metrics = {"response_length": 250.0, "rollout/response_length_mean": 301.0}
    (alarm,) = interpret({1: metrics}).alarms
    assert alarm.code == "openrlhf_dropped_samples"
    assert alarm.evidence["trained_mean"] == 250


@pytest.mark.parametrize(
    ("metrics", "hints", "expected"),
    [
        # until 0.9.0: compared with the cap of the response
        ({"response_clip_ratio": 0.28}, {"mark.bar.requests": "1"}, 0.28),
        # since 0.9.1: with the whole context, so that a cut by max_new_tokens is missed
        ({"response_clip_ratio": 0.0}, {"mark.bar.groups": "1"}, None),
        ({"response_clip_ratio": 0.0}, {}, None),
        ({"response_clip_ratio": 0.0, "truncated": 0.25}, {"mark.bar.groups": "1"}, 0.25),
    ],
)
def test_truncated_share_by_release(
    interpret: Interpret, metrics: dict[str, float], hints: dict[str, str], expected: float | None
) -> None:
    reading = interpret({1: metrics}, None, hints)
    assert row(reading).get("truncated_share") == expected
    said = any("response_clip_ratio is not taken" in n for n in reading.notes)
    assert said == (expected is None)


def test_agents_that_never_report_truncation(interpret: Interpret) -> None:
    reading = interpret({1: BOTH}, AGENT)
    assert "truncated_share" not in row(reading)
    assert reading.facts["multi_turn"].value is True
    assert any("text of tools" in n for n in reading.notes)
    assert row(interpret({1: BOTH | {"rollout/truncated_rate": 0.1}}, AGENT))["truncated_share"] == 0.1
    assert row(interpret({1: BOTH}, {"train.agent_func_path": None}))["truncated_share"] == 0


def test_evaluation_is_a_row_of_its_own(interpret: Interpret) -> None:
    metrics = {
        "reward": 0.5,
        "eval_code_pass2": 1.0,
        "eval_code_pass1": 0.6,
        "eval_code_response_length_mean": 307.0,
        "eval_math_pass1": 0.4,
        "eval_response_length_mean": 290.5,
        "eval_truncated_rate": 0.25,
        "eval_num_samples": 12.0,
    }
    train, evaluation = interpret({1: metrics}).steps
    assert train["split"] == "train"
    assert "response_tokens_mean" not in train
    assert evaluation["split"] == "eval"
    assert evaluation["response_tokens_mean"] == 290.5
    assert (evaluation["rollouts"], evaluation["truncated_share"]) == (12, 0.25)
    assert "reward_mean" not in evaluation  # two datasets of unknown sizes
    # with one sample per prompt pass1 and passk are one key
    (_, single) = interpret({1: {"reward": 0.5, "eval_default_pass1": 0.7}}).steps
    assert single["reward_mean"] == 0.7


def test_evaluation_alone_makes_no_training_step(interpret: Interpret) -> None:
    assert [r["split"] for r in interpret({0: {"eval_default_pass1": 0.7, "log/eval_s": 3.0}}).steps] == [
        "eval"
    ]


def test_group_size_from_the_bar(interpret: Interpret) -> None:
    step = {"rollout/num_samples": 32.0, "bar/generate_samples/groups": 8.0, "timing/generation": 60.0}
    reading = interpret({1: step, 2: step})
    assert (reading.facts["group_size"].value, reading.facts["group_size"].origin) == (4, "derived")
    assert row(reading)["prompts"] == 8
    assert "group_size" not in interpret({1: step}).facts  # its bar may have fed the steps that follow
    assert row(interpret({1: step}, overrides={"group_size": 2}))["prompts"] == 16


def test_length_penalties_and_dynamic_batches_are_noted(interpret: Interpret) -> None:
    penalised = interpret({1: {"reward": 0.5}}, {"reward.overlong_buffer_len": 256})
    assert any("length penalties" in n for n in penalised.notes)
    dynamic = interpret({1: {"response_length": 100.0}}, {"train.dynamic_batch_enable": True})
    assert any("small micro-batches" in n for n in dynamic.notes)


def test_every_metric_is_kept_under_its_name(run: Any, logs: Any) -> None:
    """Extra logs of a reward function, and keys that forks add."""
    found = run(logs.step(1, {"reward": 0.5, "math_accuracy": 0.25, "nashrs/gpu_hours": 0.1}))
    assert found.logged[1]["math_accuracy"] == 0.25
    assert found.logged[1]["nashrs/gpu_hours"] == 0.1
