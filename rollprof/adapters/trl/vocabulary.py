"""TRL's metric keys, in the spellings of its releases and relatives, under one name each."""

from __future__ import annotations

from collections.abc import Mapping

from rollprof.adapters.trl.progress import ELAPSED

MEAN, MIN, MAX = "completions/mean_length", "completions/min_length", "completions/max_length"
MAX_TERMINATED = "completions/max_terminated_length"
CLIPPED = "completions/clipped_ratio"
TOKENS = "num_tokens"

ALIASES: Mapping[str, tuple[str, ...]] = {
    MEAN: (MEAN, "mean_completion_length", "completion_length"),
    MIN: (MIN, "min_completion_length"),
    MAX: (MAX, "max_completion_length"),
    CLIPPED: (CLIPPED, "clipped_completions_ratio", "response_clip_ratio"),
    MAX_TERMINATED: (MAX_TERMINATED, "max_terminated_completion_length"),
    "reward": ("reward", "objective/rlhf_reward"),
}
"""Name -> keys, the most exact first.

`completion_length` is the mean over all processes to 0.16; Unsloth logs it beside `completions/mean_length`
from the first process alone. The other spellings lived for days between 0.16 and 0.17.
"""

GENERATION = (MEAN, MIN, MAX, CLIPPED, "reward", "frac_reward_zero_std", TOKENS)
"""Logged only where the log window holds a generation."""

SUMMARY = ("train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos")

GENERATE, REWARD, SYNC = "log/generate_s", "log/calculate_rewards_s", "log/move_model_s"
"""Seconds that the first process's timers counted between two logs (only trackers have them)."""
SINCE = "log/since_previous_log_s"
"""Seconds since the log before, by a tracker's clock."""
OUTSIDE = ("profiling/", "log/")

ASYNC_OLD = (
    "queue_wait_time_s",
    "buffer_qsize",
    "generation_tok_per_s",
    "iteration_time_s",
    "wait_scoring_ms",
)
"""AsyncGRPO 1.0 to 1.10."""
ASYNC_NEW = ("perf/rollout_wait_s", "perf/fwd_bwd_s", "sample/rollout_queue_size", "rollout/inflight")
"""AsyncGRPO since 1.11, and AsyncDistillation."""


def value(values: Mapping[str, float], name: str) -> float | None:
    """The value under any spelling of `name`; None where it is absent or no number."""
    for key in ALIASES.get(name, (name,)):
        found = values.get(key)
        if found is not None and found == found and abs(found) != float("inf"):
            return found
    return None


def training(values: Mapping[str, float]) -> dict[str, float]:
    """The entries of a training log: neither evaluation, nor the final summary, nor the bar's clock."""
    return {
        k: v
        for k, v in values.items()
        if not k.startswith(("eval_", *OUTSIDE)) and k not in SUMMARY and k not in (ELAPSED, "epoch")
    }


def evaluation(values: Mapping[str, float]) -> dict[str, float]:
    """The entries of an evaluation, without their prefix."""
    return {k.removeprefix("eval_"): v for k, v in values.items() if k.startswith("eval_")}


def generated(values: Mapping[str, float]) -> bool:
    """Whether a training log covers a generation: reuse steps lack all of its keys."""
    return any(value(values, name) is not None for name in GENERATION)
