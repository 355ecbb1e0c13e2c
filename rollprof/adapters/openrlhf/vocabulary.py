"""OpenRLHF's keys -> columns of `steps`: each column with one meaning, whatever the release.

OpenRLHF logs means only: no maximum, no quantile and no histogram of lengths in any release. `rollout/*`
(since 0.9.8) is counted over all responses of a step before it is split; the plain keys are means over
training micro-batches, until 0.9.7 unweighted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollprof.adapters.openrlhf.releases import Range

Values = Mapping[str, float]

_TRAIN = "train/"
_EVAL = "eval/"


def plain(key: str) -> str:
    """A tracker's tag as the trainer's own key: `train/timing/generation`, `eval/eval_math_pass1`."""
    return key.removeprefix(_TRAIN).removeprefix(_EVAL)


def content_columns(step: Values, release: Range, *, group_size: int | None, agents: bool) -> dict[str, Any]:
    """What a step trained on: counts, lengths, truncation, reward."""
    rollouts = _first(step, "rollout/num_samples", "log/samples")
    length = _first(step, "rollout/response_length_mean", "response_length")
    total = step.get("total_length")
    own = step.get("response_length")
    row: dict[str, Any] = {
        "rollouts": None if rollouts is None else int(rollouts),
        "prompts": _groups(rollouts, group_size),
        "response_tokens_mean": length,
        "prompt_tokens_mean": total - own if total is not None and own is not None and total >= own else None,
        "truncated_share": truncated_share(step, release, agents=agents),
        "reward_mean": _first(step, "rollout/reward_mean", "reward"),
        "tokens_total": rollouts * total if rollouts is not None and total is not None else None,
    }
    return row


def truncated_share(step: Values, release: Range, *, agents: bool) -> float | None:
    """Share of responses cut at their cap.

    `truncated` and `rollout/truncated_rate` come from vLLM's finish reason; agents never set it before
    0.11.1, so that their 0 says nothing. `response_clip_ratio` compares with the response's cap until 0.9.0
    and with the whole context since 0.9.1, where it misses responses cut by max_new_tokens.
    """
    said = _first(step, "rollout/truncated_rate", "truncated")
    if said is not None:
        return None if agents and said == 0 and not release.at_least("0.11.1") else said
    if release.before("0.9.1") and not agents:
        return step.get("response_clip_ratio")
    return None


def evaluation_columns(step: Values) -> dict[str, Any] | None:
    """The evaluation at a step, None where there is none. The mean reward of several datasets is left out:
    the log has it per dataset, without their sizes."""
    if not any(key.startswith("eval_") for key in step):
        return None
    rewards = [v for k, v in step.items() if k.startswith("eval_") and k.endswith("_pass1")]
    samples = step.get("eval_num_samples")
    return {
        "rollouts": None if samples is None else int(samples),
        "response_tokens_mean": step.get("eval_response_length_mean"),
        "truncated_share": step.get("eval_truncated_rate"),
        "reward_mean": rewards[0] if len(rewards) == 1 else None,
    }


def _groups(rollouts: float | None, group_size: int | None) -> int | None:
    if rollouts is None or not group_size or rollouts % group_size:
        return None
    return int(rollouts // group_size)


def _first(step: Values, *keys: str) -> float | None:
    return next((step[key] for key in keys if key in step), None)
