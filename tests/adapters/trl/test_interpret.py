"""Keys to columns: one meaning per column, and the traps of TRL's logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rollprof.adapters.base import Interpretation, RolloutSummary
from rollprof.adapters.trl.progress import ELAPSED
from rollprof.schema.tables import STEPS

from .log_text import metrics

Interpret = Callable[..., Interpretation]
Row = Mapping[str, Any]

LENGTHS = ("response_tokens_mean", "response_tokens_min", "response_tokens_max")
ARGS: dict[str, Any] = {
    "per_device_train_batch_size": 8,
    "gradient_accumulation_steps": 2,
    "steps_per_generation": 2,
    "num_iterations": 1,
    "num_generations": 4,
    "num_processes": 2,
    "generation_batch_size": 32,
    "max_completion_length": 64,
    "use_vllm": False,
}
REUSE = {"loss": 0.1, "grad_norm": 1.0, "learning_rate": 1e-6, "step_time": 0.5, "entropy": 5.8}


def row(found: Interpretation, step: int, split: str = "train") -> Row:
    (one,) = (r for r in found.steps if (r["step"], r["split"]) == (step, split))
    return one


def codes(found: Interpretation) -> list[str]:
    return [a.code for a in found.alarms]


def test_a_step_with_one_generation(interpret: Interpret) -> None:
    found = interpret({s: metrics(s, num_tokens=1504.0 * s) for s in (1, 2)}, ARGS)
    one = row(found, 2)
    assert [one[c] for c in LENGTHS] == [30.75, 11.0, 64.0]
    assert (one["truncated_share"], one["reward_mean"], one["step_s"]) == (0.125, 0.5, 1.25)
    assert (one["rollouts"], one["prompts"]) == (32, 8)
    assert (one["tokens_total"], one["prompt_tokens_mean"]) == (1504.0, 1504 / 32 - 30.75)
    assert set(one) <= set(STEPS.column_names)
    assert codes(found) == []


def test_a_batch_of_another_run_is_an_alarm(interpret: Interpret) -> None:
    """504 new tokens cannot be 32 responses of 30.75 tokens on average."""
    found = interpret({s: metrics(s, num_tokens=504.0 * s) for s in (1, 2)}, ARGS)
    assert codes(found) == ["trl-batch-disagrees"]
    assert "prompt_tokens_mean" not in row(found, 2)


def test_prompt_lengths_are_what_is_left_of_the_running_total(interpret: Interpret) -> None:
    """32 prompts of 12 tokens, and responses of 29.75 and 30.75 on average."""
    logs = {1: metrics(1, num_tokens=32 * (12 + 29.75)), 2: metrics(2, num_tokens=32 * (24 + 29.75 + 30.75))}
    found = interpret(logs, ARGS)
    assert [row(found, s)["prompt_tokens_mean"] for s in (1, 2)] == pytest.approx([12.0, 12.0])
    tools = {s: {**v, "tools/call_frequency": 1.0} for s, v in logs.items()}
    assert "prompt_tokens_mean" not in row(interpret(tools, ARGS), 2)


def test_a_total_of_four_digits_is_not_differenced(interpret: Interpret) -> None:
    printed = interpret({1: metrics(1, num_tokens=49960.0), 2: metrics(2, num_tokens=54310.0)}, ARGS)
    assert all("tokens_total" not in r for r in printed.steps)
    exact = interpret({1: metrics(1, num_tokens=49961.0), 2: metrics(2, num_tokens=54310.0)}, ARGS)
    assert row(exact, 2)["tokens_total"] == 4349.0


def test_a_small_total_does_not_vouch_for_its_rounded_neighbour(interpret: Interpret) -> None:
    """7319 has four digits whoever printed it; 15,058 was printed as 1.506e+04."""
    printed = interpret({1: metrics(1, num_tokens=7319.0), 2: metrics(2, num_tokens=15060.0)}, ARGS)
    assert row(printed, 1)["tokens_total"] == 7319.0
    assert "tokens_total" not in row(printed, 2)


def test_a_log_that_starts_in_the_middle_has_no_first_difference(interpret: Interpret) -> None:
    found = interpret({s: metrics(s) for s in (50, 51)}, ARGS)
    assert "tokens_total" not in row(found, 50)
    assert row(found, 51)["tokens_total"] == 1504.0
    counted = interpret({1: metrics(9)}, ARGS, {"steps": "counted"})
    assert "tokens_total" not in row(counted, 1)
    assert any("order of the metric dicts" in n for n in counted.notes)


def test_means_of_maxima_are_no_maxima(interpret: Interpret) -> None:
    logs = {
        10: metrics(1, completions__max_length=56.25, completions__min_length=4.25),
        20: metrics(2, completions__max_length=60.0, completions__min_length=4.0),
    }
    found = interpret(logs, ARGS)
    assert [row(found, s).get(c) for s in (10, 20) for c in LENGTHS[1:]] == [None] * 4
    assert row(found, 10)["response_tokens_mean"] == 29.75
    assert row(found, 10)["generations"] == 10
    assert any("mean of their longest" in n for n in found.notes)


def test_a_mean_of_maxima_at_the_cap_is_one(interpret: Interpret) -> None:
    """All of them lie at the cap, or the mean would not; and no response is shorter than its end token."""
    found = interpret({10: metrics(1, completions__min_length=1.0), 20: metrics(2)}, ARGS)
    assert row(found, 10)["response_tokens_max"] == 64.0
    assert row(found, 10)["response_tokens_min"] == 1.0
    assert "response_tokens_min" not in row(found, 20)


def test_fractional_extremes_show_several_generations_per_step(interpret: Interpret) -> None:
    """ms-swift's 401.75: without settings, only the value itself says that it is a mean."""
    found = interpret({1: metrics(1, completions__max_length=401.75), 2: metrics(2)})
    assert all("response_tokens_max" not in r for r in found.steps)


def test_reuse_steps_lack_generation_keys_and_that_is_not_zero(interpret: Interpret) -> None:
    args = {**ARGS, "steps_per_generation": 4}
    found = interpret({1: metrics(1), 2: REUSE, 3: metrics(2), 4: REUSE}, args)
    assert set(row(found, 2)) == {"step", "split", "step_s"}
    assert row(found, 3)["response_tokens_max"] == 64.0
    assert row(found, 3)["tokens_total"] == 1504.0
    assert any(n.startswith("2 of 4 steps train on completions") for n in found.notes)
    assert any("generate take 1.25 s, those that do not 0.5 s" in n for n in found.notes)
    # the same without settings: keys that are missing show it
    unknown = interpret({1: metrics(1), 2: REUSE, 3: metrics(2), 4: REUSE})
    assert row(unknown, 3)["response_tokens_max"] == 64.0


def test_logs_that_are_lost_do_not_make_a_window_longer(interpret: Interpret) -> None:
    found = interpret({s: metrics(s) for s in (1, 2, 3, 4, 48, 49)}, ARGS)
    assert row(found, 48)["response_tokens_max"] == 64.0
    assert "tokens_total" not in row(found, 48)
    assert any("missing before step 48" in n for n in found.notes)


def test_several_generations_in_one_step(interpret: Interpret) -> None:
    args = {**ARGS, "gradient_accumulation_steps": 4}  # 4 micro-steps, a generation every 2
    found = interpret({1: metrics(1), 2: metrics(2)}, args)
    assert row(found, 2)["generations"] == 2
    assert "response_tokens_min" not in row(found, 2)
    assert (row(found, 2)["rollouts"], row(found, 2)["tokens_total"]) == (64, 1504.0)


def test_the_negative_clipped_ratio_of_0_18_0(interpret: Interpret) -> None:
    """T of N responses of W processes ended by themselves: logged is 1 - T / (N / W)."""
    true = {1: 0.25, 2: 0.75}
    logs = {s: metrics(s, completions__clipped_ratio=1 - (1 - x) * 2) for s, x in true.items()}
    assert logs[1]["completions/clipped_ratio"] == -0.5
    found = interpret(logs, ARGS)
    assert {s: row(found, s)["truncated_share"] for s in true} == true
    assert codes(found) == ["trl-negative-clipped-ratio"]
    assert "corrected for 2 processes" in found.alarms[0].text
    assert found.version == "0.18.0"
    unknown = interpret(logs)
    assert all("truncated_share" not in r for r in unknown.steps)
    assert "left out" in unknown.alarms[0].text


def test_truncated_responses_that_count_as_zero(interpret: Interpret) -> None:
    """0.17 with mask_truncated_completions: the shortest has 0 tokens, the longest ended by itself."""
    wrong = metrics(1, completions__min_length=0.0, completions__max_length=43.0)
    fine = metrics(2, completions__clipped_ratio=0.0, completions__max_length=43.0)
    found = interpret({1: wrong, 2: fine}, ARGS)
    assert [c for c in LENGTHS if c in row(found, 1)] == []
    assert row(found, 1)["truncated_share"] == 0.125
    assert row(found, 2)["response_tokens_mean"] == 30.75
    assert codes(found) == ["trl-truncated-counted-as-zero"]


def test_terminated_lengths_of_zero_mean_that_none_terminated(interpret: Interpret) -> None:
    values = metrics(1, completions__clipped_ratio=1.0, completions__max_terminated_length=0.0)
    values |= {"completions/mean_length": 64.0, "completions/min_length": 64.0}
    found = interpret({1: values})
    assert [row(found, 1)[c] for c in LENGTHS] == [64.0, 64.0, 64.0]
    assert codes(found) == []


@pytest.mark.parametrize(
    "keys",
    [
        ("completion_length", None, None, None),
        (
            "mean_completion_length",
            "min_completion_length",
            "max_completion_length",
            "clipped_completions_ratio",
        ),
    ],
)
def test_older_spellings(interpret: Interpret, keys: tuple[str | None, ...]) -> None:
    values = dict(zip(keys, (9.0, 8.0, 10.0, 0.5), strict=True))
    logs = {1: {"loss": 0.1, "reward": 1.0, **{k: v for k, v in values.items() if k is not None}}}
    one = row(interpret(logs), 1)
    assert one["response_tokens_mean"] == 9.0
    assert one.get("truncated_share") == (0.5 if keys[3] else None)


def test_unsloths_local_mean_gives_way(interpret: Interpret) -> None:
    found = interpret({1: metrics(1, completion_length=99.0)})
    assert row(found, 1)["response_tokens_mean"] == 29.75
    assert any("first process alone" in n for n in found.notes)


def test_evaluation_is_kept_apart(interpret: Interpret) -> None:
    evaluated = {
        "eval_completions/mean_length": 28.28,
        "eval_completions/max_length": 56.25,
        "eval_completions/clipped_ratio": 0.03,
        "eval_reward": 0.18,
        "eval_runtime": 53.6646,
        "eval_samples_per_second": 0.149,
    }
    found = interpret({1: metrics(1), 2: {**metrics(2), **evaluated}}, {**ARGS, "num_generations_eval": 2})
    train, other = row(found, 2), row(found, 2, "eval")
    assert (train["reward_mean"], other["reward_mean"]) == (0.5, 0.18)
    assert (other["prompts"], other["rollouts"], other["eval_s"]) == (8, 16, 53.6646)
    assert "response_tokens_max" not in other
    assert "eval_s" not in train


def test_an_sft_evaluation_is_no_row(interpret: Interpret) -> None:
    found = interpret({1: {**metrics(1), "eval_loss": 0.1, "eval_runtime": 3.0}})
    assert [r["split"] for r in found.steps] == ["train"]


def test_the_summary_and_the_bar_alone_are_no_step(interpret: Interpret) -> None:
    found = interpret({1: metrics(1), 2: {ELAPSED: 9.0}, 3: {"train_runtime": 9.0, "train_loss": 0.1}})
    assert [r["step"] for r in found.steps] == [1]


def clocked(**elapsed: float) -> dict[int, dict[str, float]]:
    logs: dict[int, dict[str, float]] = {}
    for name, seconds in elapsed.items():
        step = int(name.removeprefix("s"))
        logs[step] = {ELAPSED: seconds}
    return logs


def older(step: int) -> dict[str, float]:
    return {"loss": 0.1, "completion_length": 100.0 + step, "reward": 0.5}


def test_step_times_from_the_bar(interpret: Interpret) -> None:
    logs = clocked(s0=0.0, s5=1574.0, s10=3131.0)
    for step in (5, 10):
        logs[step] |= older(step)
    found = interpret(logs)
    assert [row(found, s)["step_s"] for s in (5, 10)] == [314.8, 311.4]
    assert any("whole seconds" in n for n in found.notes)


def test_steps_between_two_bars_share_their_mean(interpret: Interpret) -> None:
    logs = clocked(s0=0.0, s5=100.0)
    for step in (1, 2, 3, 4, 5):
        logs.setdefault(step, {}).update(older(step))
    found = interpret(logs)
    assert {r["step_s"] for r in found.steps} == {20.0}
    assert any("share their mean" in n for n in found.notes)


def test_short_or_backward_clocks_give_no_time(interpret: Interpret) -> None:
    quick = clocked(s0=0.0, s1=3.0)
    quick[1] |= older(1)
    assert "step_s" not in row(interpret(quick), 1)
    resumed = clocked(s4=400.0, s5=30.0, s6=130.0)
    for step in (4, 5, 6):
        resumed[step] |= older(step)
    found = interpret(resumed)
    assert "step_s" not in row(found, 5)
    assert row(found, 6)["step_s"] == 100.0


def test_step_time_is_preferred_to_the_bar(interpret: Interpret) -> None:
    logs = clocked(s0=0.0, s1=100.0)
    logs[1] |= metrics(1)
    found = interpret(logs)
    assert row(found, 1)["step_s"] == 1.25
    assert any("leaves out the optimizer step" in n for n in found.notes)


ASYNC = {
    "loss": 0.1,
    "reward": 0.5,
    "completions/mean_length": 100.0,
    "completions/min_length": 3.0,
    "completions/max_length": 911.0,
    "completions/clipped_ratio": 0.1,
    "perf/step_s": 20.0,
    "perf/rollout_wait_s": 5.0,
    "perf/fwd_bwd_s": 12.0,
    "perf/optimizer_s": 1.5,
    "perf/weight_sync_s": 0.7,
    "sample/staleness_mean": 0.4,
    "sample/staleness_max": 2.0,
    "rollout/duration_s": 31.0,
    "rollout/backpressure_s": 3.0,
    "batch/forwarded_tokens_per_step": 65536.0,
}


def test_async_grpo_since_1_11(interpret: Interpret) -> None:
    found = interpret({10: ASYNC, 20: ASYNC})
    one = row(found, 20)
    assert (one["step_s"], one["wait_s"], one["update_s"], one["weight_sync_s"]) == (20.0, 5.0, 13.5, 0.7)
    assert one["trainer_idle"] == 0.25
    assert [one[c] for c in LENGTHS] == [100.0, 3.0, 911.0]  # true extremes of the window here
    assert (one["rollout_s_mean"], one["staleness_max"], one["tokens_total"]) == (31.0, 2.0, 65536.0)
    assert "staleness_mean" not in one  # per sample, not per token
    assert "rollout_idle" not in one  # backpressure is a mean per blocked put
    assert "trainer_idle" not in row(found, 10)  # the first step waits but has no duration
    assert found.facts["mode"].value == "async"
    assert found.facts["colocated"].value is False
    assert (found.version, found.trainer) == (">=1.11", "AsyncGRPOTrainer")


def test_async_grpo_to_1_10(interpret: Interpret) -> None:
    old = {
        "loss": 0.1,
        "reward": 0.5,
        "completions/mean_length": 100.0,
        "queue_wait_time_s": 0.9,
        "weight_sync_time_s": 0.7,
        "step_time": 12.0,
        "iteration_time_s": 20.0,
        "generation_tok_per_s": 900.0,
    }
    found = interpret({1: old, 2: old})
    one = row(found, 2)
    assert (one["step_s"], one["weight_sync_s"]) == (20.0, 0.7)  # step_time is forward and backward alone
    assert "wait_s" not in one
    assert "trainer_idle" not in one
    assert found.version == ">=1.10,<1.11"
    before = interpret({1: {k: v for k, v in old.items() if k not in ("step_time", "iteration_time_s")}})
    assert "step_s" not in row(before, 1)
    assert before.version == ">=1.0,<1.10"


def test_ppo_has_rewards_and_no_lengths(interpret: Interpret) -> None:
    logs = {
        1: {
            "eps": 2.0,
            "objective/kl": 0.1,
            "objective/rlhf_reward": -1.5,
            "val/num_eos_tokens": 3.0,
            "lr": 1e-6,
        }
    }
    found = interpret(logs)
    assert row(found, 1) == {"step": 1, "split": "train", "reward_mean": -1.5}
    assert found.trainer == "PPOTrainer or a relative"


def test_lengths_that_contradict_each_other(interpret: Interpret) -> None:
    found = interpret({1: metrics(1, completions__max_length=20.0)}, ARGS)
    assert codes(found) == ["trl-lengths-disagree"]


def summary(**values: float) -> RolloutSummary:
    base: dict[str, Any] = {"chars_mean": 90.0, "chars_max": 200, "tokens_mean": None, "reward_mean": None}
    return RolloutSummary(rollouts=32, prompts=8, **{**base, **values})


def test_a_dump_that_disagrees_is_an_alarm(interpret: Interpret) -> None:
    logs = {1: metrics(1), 2: metrics(2)}
    good = {(s, "train"): summary(tokens_mean=29.5 + s, reward_mean=0.5) for s in (1, 2)}
    assert codes(interpret(logs, ARGS, rollouts=good)) == []
    tokens = {(s, "train"): summary(tokens_mean=45.0, reward_mean=0.5) for s in (1, 2)}
    assert codes(interpret(logs, ARGS, rollouts=tokens)) == ["trl-tokenizer-disagrees"]
    reward = {(s, "train"): summary(reward_mean=0.9) for s in (1, 2)}
    assert codes(interpret(logs, ARGS, rollouts=reward)) == ["trl-reward-disagrees"]
    windows = {10 * s: metrics(s, num_tokens=15041.0 * s) for s in logs}
    several = {(10 * s, "train"): summary(reward_mean=0.9, tokens_mean=45.0) for s in (1, 2)}
    assert codes(interpret(windows, ARGS, rollouts=several)) == []
