"""Which release of TRL wrote a log: said by it, or told by the keys that came and went."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.trl.vocabulary import ASYNC_NEW, ASYNC_OLD

Release = tuple[int, int]

SINCE: tuple[tuple[str, Release], ...] = (
    ("num_tokens", (0, 16)),
    ("completions/mean_length", (0, 17)),
    ("frac_reward_zero_std", (0, 18)),
    ("entropy", (0, 20)),
    ("sampling/", (0, 23)),
    ("step_time", (0, 26)),
    ("tools/", (0, 26)),
    ("cispo_clip_ratio", (0, 26)),
    ("vespo/", (1, 0)),
    ("queue_wait_time_s", (1, 0)),
    ("aux_loss", (1, 7)),
    ("policy_loss", (1, 8)),
    ("iteration_time_s", (1, 10)),
    ("perf/step_s", (1, 11)),
    ("sample/", (1, 11)),
    ("batch/packing_ratio", (1, 16)),
)
"""(beginning of a key, first release that logs it)."""

ALWAYS: tuple[tuple[str, str, Release], ...] = (
    ("completion_length", "num_tokens", (0, 16)),
    ("completion_length", "completions/mean_length", (0, 17)),
    ("mean_completion_length", "completions/mean_length", (0, 17)),
    ("completions/mean_length", "frac_reward_zero_std", (0, 18)),
    ("frac_reward_zero_std", "entropy", (0, 20)),
    ("frac_reward_zero_std", "step_time", (0, 26)),
    ("completions/mean_terminated_length", "step_time", (0, 26)),
)
ALWAYS_ASYNC: tuple[tuple[str, str, Release], ...] = (
    ("queue_wait_time_s", "iteration_time_s", (1, 10)),
    ("queue_wait_time_s", "perf/step_s", (1, 11)),
)
"""(key, the key that stands beside it since a release, that release): alone it is older. AsyncGRPO lacks
most of the other trainers' keys."""

ARGUMENTS_SINCE: tuple[tuple[str, Release], ...] = (
    ("steps_per_generation", (0, 18)),
    ("log_completions_hub_repo", (0, 28)),
)


def version_of(
    keys: Collection[str], config: Mapping[str, Any], *, gathered_over_local: bool, complete: bool = True
) -> str | None:
    """A release ("1.16.0"), a range (">=0.20,<0.26"), or None.

    `complete` false: the trainer is a subclass that leaves keys out, so what is missing says nothing.
    """
    said = values.text(config.get("version.trl"))
    if said is not None:
        return said
    if gathered_over_local:
        return "0.18.0"
    low: Release | None = None
    high: Release | None = None
    for start, release in SINCE:
        if any(key == start or (start.endswith("/") and key.startswith(start)) for key in keys):
            low = release if low is None else max(low, release)
    for name, release in ARGUMENTS_SINCE:
        if name in config and "args_class" in config:
            low = release if low is None else max(low, release)
    asynchronous = any(key in keys for key in (*ASYNC_OLD, *ASYNC_NEW))
    for key, beside, release in ALWAYS_ASYNC if asynchronous else ALWAYS:
        if complete and key in keys and beside not in keys:
            high = release if high is None else min(high, release)
    if low is not None and high is not None and low >= high:
        return None  # a relative of TRL, or a development version
    if low is None and high is None:
        return None
    parts = [f">={_shown(low)}"] if low is not None else [">=0.14"]
    return ",".join(parts + ([f"<{_shown(high)}"] if high is not None else []))


def _shown(release: Release) -> str:
    return f"{release[0]}.{release[1]}"
