"""OpenRLHF's scalars in trackers: `train/` and `eval/` before its own keys, its step in `train/global_step`.

wandb repeats the step of the row before in the row of a sample table, and may add `eval/epoch`. Settings are
flat until 0.10.1; later each group is the text of a `namespace(...)`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rollprof.adapters.base import MetricPart
from rollprof.adapters.openrlhf import args
from rollprof.adapters.openrlhf.vocabulary import plain
from rollprof.adapters.sinks import Rows, Vocabulary, since_before, stepped
from rollprof.sources.records import MetricRecord

TELLING = (
    *("policy_loss", "actor_lr", "actor_grad_norm", "response_length", "total_length", "group_reward_std"),
    *("response_clip_ratio", "timing/generation", "timing/make_experience", "timing/ppo_train", "return"),
    *("timing/step_total", "rollout/response_length_mean", "logprobs_diff"),
)
MIN_KEYS = 2
AXES = ("train/global_step", "eval/global_step")
NO_METRICS = ("global_step", "epoch")
SINCE = "log/since_previous_step_s"


def telling(keys: Collection[str]) -> bool:
    """True for keys of OpenRLHF's training status, or of its evaluation alone."""
    train = [k.removeprefix("train/") for k in keys if k.startswith("train/")]
    if sum(k in TELLING for k in train) >= MIN_KEYS:
        return True
    return not train and any(k.startswith("eval/eval_") and k.endswith("_pass1") for k in keys)


def fill(part: MetricPart, rows: Rows, config: Mapping[str, Any]) -> None:
    """Scalars under OpenRLHF's own names, at its global step; the tracker's time between steps."""
    times: dict[int, tuple[float | None, int]] = {}
    for step, row in stepped(rows, *AXES):
        pairs = [(plain(key), value) for key, value in row.values.items()]
        part.metrics += [
            MetricRecord(step, key, value, row.time, row.offset)
            for key, value in pairs
            if key not in NO_METRICS
        ]
        if any(key.startswith("train/") and plain(key) not in NO_METRICS for key in row.values):
            times.setdefault(step, (row.time, row.offset))
    for step, seconds in since_before([(step, time) for step, (time, _) in times.items()]):
        if step - 1 in times:
            part.metrics.append(MetricRecord(step, SINCE, seconds, *times[step]))
    part.config = settings(config)
    if part.config:
        nested = any(isinstance(v, str) and v.startswith("namespace(") for v in config.values())
        part.hints["mark.args_nested" if nested else "mark.args_flat"] = "1"


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments under the dotted names that the newest releases print."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, str) and value.startswith("namespace("):
            found.update(args.parse_args(f"namespace({key}={value})").settings)
        elif isinstance(value, dict):
            found.update({f"{key}.{k}": v for k, v in value.items()})
        elif key in args.OLD_NAMES:
            found[args.OLD_NAMES[key]] = value
    return found


VOCABULARY = Vocabulary(
    "openrlhf",
    "OpenRLHF",
    telling,
    fill,
    settings,
    ("n_samples_per_prompt", "rollout_batch_size", "vllm_num_engines"),
)
