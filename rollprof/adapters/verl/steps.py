"""Keys of one logged step -> columns of `steps`. A key whose meaning differs from the column's gives null."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rollprof.adapters.verl import identities
from rollprof.adapters.verl.identities import Metrics, first
from rollprof.adapters.verl.reading import Reading

Row = dict[str, Any]

PLAIN: Mapping[str, tuple[str, ...]] = {
    "reward_s": ("timing_s/reward", "timing/reward"),
    "old_logprob_s": ("timing_s/old_log_prob", "timing/old_log_prob"),
    "reference_s": ("timing_s/ref", "timing/ref"),
    "values_s": ("timing_s/values", "timing/values"),
    "advantage_s": ("timing_s/adv", "timing/adv"),
    "weight_sync_s": (
        "timing_s/timing_s/param_sync",
        "timing_s/param_sync",
        "timing_s/sync_rollout_weights",
        "timing_s/update_weights",
    ),
    "eval_s": ("timing_s/testing", "timing/testing"),
    "checkpoint_s": ("timing_s/save_checkpoint", "timing/save_checkpoint"),
    "response_tokens_mean": ("response_length/mean",),
    "response_tokens_min": ("response_length/min",),
    "response_tokens_max": ("response_length/max",),
    "prompt_tokens_mean": ("prompt_length/mean",),
    "prompt_tokens_max": ("prompt_length/max",),
    "reward_mean": ("critic/score/mean",),
    "tokens_total": ("perf/total_num_tokens", "total_num_tokens"),
    "tokens_per_gpu_s": ("perf/throughput", "Tokens/Sec/GPU"),
    "gen_batches": ("train/num_gen_batches",),
    "rollout_idle": ("fully_async/rollouter/idle_ratio", "rollouter/idle_ratio"),
}
"""Column -> keys with its meaning in every trainer, the preferred first."""

_GEN = ("timing_s/gen", "timing/gen")
_TESTING = ("timing_s/testing", "timing/testing")
_SAVING = ("timing_s/save_checkpoint", "timing/save_checkpoint")
_IN_STEP = (
    "gen",
    "gen_max",
    "wait_prev_gen",
    "sync_rollout_weights",
    "reward",
    "old_log_prob",
    "ref",
    "values",
    "adv",
    "update_critic",
    "update_actor",
    "update_weights",
)
"""Timers that follow one another inside a step; all others are parts of these or run beside them."""

_AGENT = "timing_s/agent_loop"
_BARRIER_ENGINES = frozenset({"sglang", "sglang_async"})
"""Engines whose ranks wait for each other inside the call, so that its mean over ranks is its maximum."""

_EVAL = re.compile(r"^(?:val-core|val-aux|val|test_score)/")
_EVAL_REWARD = re.compile(
    r"^(?:val-core|val-aux)/(?P<set>.+)/reward/mean@\d+$|^(?:val/)?test_score/(?P<old>.+)$"
)


def train_row(step: int, metrics: Metrics, reading: Reading, group_size: int | None) -> Row | None:
    """The training row of a step, or None where it logged nothing of training."""
    if all(is_eval(key) for key in metrics):
        return None
    row: Row = {"step": step, "split": "train"}
    for column, keys in PLAIN.items():
        row[column] = first(metrics, *keys)
    row["step_s"] = step_seconds(metrics, reading)
    row["update_s"] = _sum(
        metrics,
        ("timing_s/update_actor", "timing/update_actor"),
        ("timing_s/update_critic", "timing/update_critic"),
    )
    row.update(_generation(metrics, reading))
    row.update(_rollout_times(metrics, reading))
    row.update(_engine_times(metrics, reading))
    row.update(_staleness(metrics))
    row["truncated_share"] = _truncated(metrics, reading)
    row.update(_counts(metrics, group_size))
    found = {column: value for column, value in row.items() if value is not None}
    return found if len(found) > 2 else None


def eval_row(step: int, metrics: Metrics) -> Row | None:
    """The evaluation row of a step, or None where it did not evaluate.

    `reward_mean` only where one data set was scored in one way: verl logs no sizes to weigh several by.
    """
    keys = [key for key in metrics if is_eval(key)]
    if not keys:
        return None
    rewards = [
        value for key in keys if _EVAL_REWARD.match(key) and (value := first(metrics, key)) is not None
    ]
    return {"step": step, "split": "eval", **({"reward_mean": rewards[0]} if len(rewards) == 1 else {})}


def is_eval(key: str) -> bool:
    """True for a key of validation."""
    return _EVAL.match(key) is not None


def step_seconds(metrics: Metrics, reading: Reading) -> float | None:
    """Wall time of the whole step, evaluation and checkpoint included.

    `timing_s/step` holds both until 0.5.0, neither in 0.6.0 to 0.7.0, the checkpoint alone since 0.7.1.
    Where the phases prove that it cannot hold them, they are added whatever the release.
    """
    logged = identities.logged_step_seconds(metrics)
    if logged is None:
        return None
    testing, saving = first(metrics, *_TESTING) or 0.0, first(metrics, *_SAVING) or 0.0
    if not testing and not saving:
        return logged
    phases = sum(first(metrics, f"timing_s/{name}") or 0.0 for name in _IN_STEP)
    slack = 1e-3 * logged + 2e-3 * len(_IN_STEP)
    has_both = phases + testing + saving <= logged + slack
    has_saving = phases + saving <= logged + slack
    if reading.trainer in ("legacy", "v1", None):
        has_both = has_both and not reading.span.from_((0, 6, 0))
        has_saving = has_saving and not (reading.span.from_((0, 6, 0)) and reading.span.before((0, 7, 1)))
    return logged + (0.0 if has_both else testing) + (0.0 if has_both or has_saving else saving)


def _generation(metrics: Metrics, reading: Reading) -> Row:
    """`generate_s`, `wait_s` and `trainer_idle` by what `timing_s/gen` means to this trainer."""
    gen, step = first(metrics, *_GEN), identities.logged_step_seconds(metrics)
    if reading.gen_means == "call":
        return {"generate_s": gen}
    if reading.gen_means == "unknown":
        return {}
    wait = first(metrics, "timing_s/wait_prev_gen")
    wait = gen if wait is None else wait
    idle = first(metrics, "fully_async/trainer/idle_ratio", "trainer/idle_ratio")
    if idle is None and wait is not None and step:
        idle = wait / step
    return {"generate_s": first(metrics, "timing_s/generate_async"), "wait_s": wait, "trainer_idle": idle}


def _rollout_times(metrics: Metrics, reading: Reading) -> Row:
    """Times of single rollouts. The agent loop's are those of the last generation round only, and the
    fully asynchronous trainer adds its own up over mini-steps; both are no times of a rollout then."""
    if reading.trainer == "fully-async":
        return {
            "rollout_s_min": first(metrics, "fully_async/processing_time/min"),
            "rollout_s_mean": first(metrics, "fully_async/processing_time/avg"),
            "rollout_s_max": first(metrics, "fully_async/processing_time/max"),
        }
    if several_rounds(metrics):
        return {}
    return {
        "rollout_s_min": first(metrics, f"{_AGENT}/generate_sequences/min"),
        "rollout_s_mean": first(metrics, f"{_AGENT}/generate_sequences/mean"),
        "rollout_s_max": first(metrics, f"{_AGENT}/generate_sequences/max"),
        "tool_s_mean": first(metrics, f"{_AGENT}/tool_calls/mean"),
        "tool_s_max": first(metrics, f"{_AGENT}/tool_calls/max"),
    }


def _engine_times(metrics: Metrics, reading: Reading) -> Row:
    """Time that each engine generated, mean and maximum, where every rank makes the call (0.4.1 to 0.6.1).

    The mean over ranks is the mean over engines: all ranks of an engine take its time. Until 0.5.0 the
    slowest rank's time is what is left of `gen` without the resharding.
    """
    mean = first(metrics, "timing_s/generate_sequences")
    if mean is None or several_rounds(metrics) or reading.trainer in ("fully-async", "one-step-off"):
        return {}
    slowest = first(metrics, "timing_s/generation_timing/max")
    engine = reading.engine_name
    if engine in _BARRIER_ENGINES:
        return {}
    if slowest is None:
        gen, reshard = first(metrics, *_GEN), first(metrics, "timing_s/reshard")
        if engine is None or gen is None or reshard is None:
            return {}
        slowest = gen - reshard
    elif (
        engine is None
        and _close(mean, slowest)
        and (first(metrics, "timing_s/generation_timing/min") or 0.0) > 0
    ):
        gpus = identities.gpus(metrics)
        if gpus is None or gpus.value != 1:
            return {}  # a barrier, or one rank: without the engine's name nobody can tell
    return {"engine_s_mean": mean, "engine_s_max": slowest} if slowest >= mean * (1 - 1e-6) else {}


def _staleness(metrics: Metrics) -> Row:
    """Versions between a trajectory and the policy it trains. A trajectory that spans several versions
    has no single staleness: its mean is left out."""
    base = "training/off_policy/trajectory"
    newest, oldest = first(metrics, f"{base}_staleness/mean"), first(metrics, f"{base}_staleness_worst/mean")
    one_version = first(metrics, f"{base}_spans/max") == 1 or (newest is not None and newest == oldest)
    return {
        "staleness_mean": newest if one_version else None,
        "staleness_max": first(metrics, f"{base}_staleness_worst/max")
        if f"{base}_staleness_worst/max" in metrics
        else first(metrics, f"{base}_staleness/max")
        if one_version
        else None,
    }


def _truncated(metrics: Metrics, reading: Reading) -> float | None:
    share = first(metrics, "response_length/clip_ratio")
    holds = reading.clip_ratio_holds
    # Zero proves the legacy trainer: the v1 trainer's is at least one response.
    return share if holds or (holds is None and share == 0) else None


def _counts(metrics: Metrics, group_size: int | None) -> Row:
    found, gpus = identities.responses(metrics), identities.gpus(metrics)
    n = found.value if found is not None and found.exact else None
    prompts = n // group_size if n is not None and group_size and n % group_size == 0 else None
    return {
        "rollouts": n,
        "prompts": prompts,
        "gpus": float(gpus.value) if gpus is not None and gpus.exact else None,
    }


def several_rounds(metrics: Metrics) -> bool:
    """True for a step that generated in more than one round (DAPO's refills)."""
    rounds = first(metrics, "train/num_gen_batches")
    return rounds is not None and rounds > 1


def _sum(metrics: Metrics, *choices: tuple[str, ...]) -> float | None:
    found = [value for keys in choices if (value := first(metrics, *keys)) is not None]
    return sum(found) if found else None


def _close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b))
