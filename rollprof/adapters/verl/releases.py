"""Which release of verl wrote a log, and which of its trainers: told by the keys and forms that came and
went. Positive evidence first; that a neighbour of a logged key is missing only narrows what remains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal

Release = tuple[int, int, int]
Trainer = Literal["legacy", "v1", "dapo", "one-step-off", "fully-async"]
V1Mode = Literal["sync", "colocate_async", "separate_async"]

RELEASES: tuple[Release, ...] = (
    (0, 1, 0),
    (0, 2, 0),
    (0, 3, 0),
    (0, 4, 0),
    (0, 4, 1),
    (0, 5, 0),
    (0, 6, 0),
    (0, 6, 1),
    (0, 7, 0),
    (0, 7, 1),
    (0, 8, 0),
    (0, 9, 0),
    (0, 9, 1),
)

_Era = tuple[str, Release | None, Release | None]

KEY_ERAS: tuple[_Era, ...] = (
    ("timing/", None, (0, 2, 0)),
    ("test_score/", None, (0, 3, 0)),
    ("critic/lr(1e-4)", None, (0, 2, 0)),
    ("timing_s/", (0, 2, 0), None),
    ("mfu/", (0, 2, 0), (0, 3, 0)),
    ("total_num_tokens", (0, 2, 0), (0, 3, 0)),
    ("Tokens/Sec/GPU", (0, 2, 0), (0, 3, 0)),
    ("val/test_score/", None, (0, 4, 0)),
    ("perf/", (0, 3, 0), None),
    ("actor/perf/", (0, 8, 0), None),
    ("training/global_step", (0, 4, 0), None),
    ("timing_s/reward", (0, 4, 0), None),
    ("val-core/", (0, 4, 0), None),
    ("val-aux/", (0, 4, 0), None),
    ("timing_s/generate_sequences", (0, 4, 1), (0, 7, 0)),
    ("timing_s/reshard", (0, 4, 1), (0, 7, 0)),
    ("timing_s/start_profile", (0, 5, 0), None),
    ("num_turns/", (0, 5, 0), None),
    ("timing_s/agent_loop/", (0, 5, 0), None),
    ("timing_s/wait_prev_gen", (0, 5, 0), (0, 7, 0)),
    ("timing_s/generation_timing/", (0, 6, 0), (0, 7, 0)),
    ("response_length_non_aborted/", (0, 6, 0), None),
    ("response/aborted_ratio", (0, 6, 0), None),
    ("tool_call_counts/", (0, 6, 0), None),
    ("rollouter/", (0, 6, 1), (0, 7, 1)),
    ("trainer/idle_ratio", (0, 6, 1), (0, 7, 1)),
    ("fully_async/", (0, 6, 1), None),
    ("fully_async/rollouter/", (0, 7, 1), None),
    ("timing_s/generate_async", (0, 7, 0), None),
    ("timing_s/update_weights", (0, 7, 1), None),
    ("timing_s/agent_loop/num_preempted/", (0, 7, 1), None),
    ("timing_s/agent_loop/compute_score/", (0, 8, 0), None),
    ("training/num_turns/", (0, 8, 0), None),
    ("rollout/spec_accept_", (0, 8, 0), None),
    ("training/off_policy/trajectory_", (0, 9, 0), None),
    ("training/filter_groups/", (0, 9, 0), None),
    ("dynamic_resource/", (0, 9, 0), None),
    ("timing_s/switch_", (0, 9, 1), None),
    ("rollout/moe/", (0, 9, 1), None),
)
"""(beginning of a key, first release with it, first release without it)."""

MARK_ERAS: tuple[_Era, ...] = (
    ("mark.main_task", None, (0, 3, 0)),
    ("mark.TaskRunner", (0, 3, 0), None),
    ("mark.TaskRunnerV1", (0, 9, 0), None),
    ("mark.runner_hostname", (0, 4, 1), None),
    ("mark.ray_init_kwargs", (0, 6, 0), None),
    ("mark.fixed3", None, (0, 5, 0)),
    ("mark.repr", (0, 5, 0), None),
    ("mark.json_logger", (0, 6, 0), (0, 7, 1)),
    ("mark.orjson", (0, 7, 1), None),
    ("mark.v1_status", (0, 9, 0), None),
)

CONFIG_ERAS: tuple[_Era, ...] = (
    ("actor_rollout_ref.rollout.n", (0, 2, 0), None),
    ("trainer.rollout_data_dir", (0, 4, 0), None),
    ("actor_rollout_ref.actor._target_", (0, 5, 0), None),
    ("actor_rollout_ref.rollout.data_parallel_size", (0, 6, 0), None),
    ("trainer.use_v1", (0, 9, 0), None),
)

ABSENCES: tuple[tuple[tuple[str, ...], str, Release], ...] = (
    (("critic/score/mean", "response_length/clip_ratio"), "training/global_step", (0, 4, 0)),
    (("timing_s/gen", "timing_s/old_log_prob", "timing_s/adv"), "timing_s/reward", (0, 4, 0)),
    (
        ("response_length/clip_ratio", "prompt_length/mean"),
        "response_length_non_aborted/mean",
        (0, 6, 0),
    ),
    (
        ("timing_s/agent_loop/generate_sequences/max", "timing_s/agent_loop/slowest/response_length"),
        "timing_s/agent_loop/num_preempted/max",
        (0, 7, 1),
    ),
    (
        ("timing_s/agent_loop/generate_sequences/max", "timing_s/agent_loop/slowest/response_length"),
        "timing_s/agent_loop/compute_score/max",
        (0, 8, 0),
    ),
)
"""(keys that are logged, their neighbour that is not, first release that logs it)."""


@dataclass(frozen=True, slots=True)
class Span:
    """Releases from `since` (included) to `until` (excluded); None is open."""

    since: Release | None = None
    until: Release | None = None
    contradictory: bool = False

    @property
    def candidates(self) -> tuple[Release, ...]:
        return tuple(r for r in RELEASES if self.at_least(r) and (self.until is None or r < self.until))

    def at_least(self, release: Release) -> bool:
        """Whether the span does not begin after `release`."""
        return self.since is None or release >= self.since

    def before(self, release: Release) -> bool:
        """True when every release of the span is older than `release`."""
        return self.until is not None and self.until <= release

    def from_(self, release: Release) -> bool:
        """True when no release of the span is older than `release`."""
        return self.since is not None and self.since >= release

    def text(self) -> str | None:
        """`0.4.1`, `0.6`, `>=0.5,<0.7`, `>=0.8`; None without evidence."""
        if self.contradictory or (self.since is None and self.until is None):
            return None
        found = self.candidates
        minors = {r[:2] for r in found}
        if len(found) == 1:
            return _text(found[0], short=sum(r[:2] == found[0][:2] for r in RELEASES) == 1)
        if len(minors) == 1 and self.until is not None:
            return f"{found[0][0]}.{found[0][1]}"
        bounds = [f">={_text(self.since)}"] if self.since is not None else []
        return ",".join([*bounds, f"<{_text(self.until)}"] if self.until is not None else bounds)


def span_of(keys: Set[str], hints: Mapping[str, str], config: Mapping[str, Any]) -> Span:
    """The releases that could have written these keys, hints and settings."""
    since: list[Release] = []
    until: list[Release] = []
    for name, lo, hi in _evidence(keys, hints, config):
        since += [lo] if lo is not None else []
        until += [hi] if hi is not None else []
        del name
    if "mark.config_whole" in hints and "actor_rollout_ref.rollout.n" not in config:
        until.append((0, 2, 0))
    low, high = max(since, default=None), min(until, default=None)
    if low is not None and high is not None and low >= high:
        return Span(low, high, contradictory=True)
    for logged, neighbour, first in ABSENCES:
        if neighbour not in keys and all(k in keys for k in logged) and (low is None or low < first):
            high = first if high is None or first < high else high
    return Span(low, high)


def trainer_of(
    keys: Set[str], hints: Mapping[str, str], config: Mapping[str, Any], span: Span
) -> tuple[Trainer | None, str]:
    """The trainer that wrote a log, and what says so. None where nothing tells legacy from v1."""
    entry = hints.get("entry", "")
    if found := _first(keys, ("fully_async/", "rollouter/", "dynamic_resource/", "trainer/idle_ratio")):
        return "fully-async", f"key {found}"
    if "mark.fully_async" in hints or "fully_async" in entry:
        return "fully-async", "its status lines" if "mark.fully_async" in hints else entry
    if found := _first(
        keys, ("timing_s/wait_prev_gen", "timing_s/generate_async", "timing_s/sync_rollout_weights")
    ):
        return "one-step-off", f"key {found}"
    if "one_step_off" in entry:
        return "one-step-off", entry
    if "train/num_gen_batches" in keys or "mark.dapo" in hints or "main_dapo" in entry:
        return (
            "dapo",
            "key train/num_gen_batches" if "train/num_gen_batches" in keys else entry or "its status lines",
        )
    v1_keys = (
        "training/num_turns/",
        "training/off_policy/",
        "training/filter_groups/",
        "training/rollout_failure/",
    )
    if found := _first(keys, (*v1_keys, "separate_async/")):
        return "v1", f"key {found}"
    if found := _first(keys, ("timing_s/start_profile", "timing_s/stop_profile", "timing_s/agent_loop/")):
        return "legacy", f"key {found}"
    for mark in ("mark.TaskRunnerV1", "mark.v1_status", "mark.dump_v1"):
        if mark in hints:
            return "v1", {"mark.TaskRunnerV1": "actor TaskRunnerV1"}.get(mark, "its status lines or dump")
    if span.before((0, 8, 0)):
        return "legacy", "the only trainer of these releases"
    if "main_ppo_sync" in entry or config.get("trainer.use_v1") is True:
        return "v1", entry if "main_ppo_sync" in entry else "trainer.use_v1"
    if "main_ppo_v0" in entry or config.get("trainer.use_v1") is False:
        return "legacy", entry if "main_ppo_v0" in entry else "trainer.use_v1"
    return None, ""


def v1_mode_of(
    metrics: Iterable[Mapping[str, float]], keys: Set[str], config: Mapping[str, Any], span: Span
) -> V1Mode | None:
    """The mode of the v1 trainer: as configured, else as far as its metrics tell."""
    mode = config.get("trainer.v1.trainer_mode")
    if mode in ("sync", "colocate_async", "separate_async"):
        return mode  # type: ignore[no-any-return]
    if _first(keys, ("separate_async/", "timing_s/switch_")):
        return "separate_async"
    if span.before((0, 9, 0)):
        return "sync"  # 0.8 has no other
    worst = [
        m[key]
        for m in metrics
        for key in (
            "training/off_policy/trajectory_staleness_worst/max",
            "training/off_policy/trajectory_staleness/max",
        )
        if key in m
    ]
    spans = [m[k] for m in metrics for k in ("training/off_policy/trajectory_spans/max",) if k in m]
    if worst and max(worst) <= 0 and max(spans, default=1.0) <= 1:
        return "sync"
    return None


def _evidence(keys: Set[str], hints: Mapping[str, str], config: Mapping[str, Any]) -> Iterable[_Era]:
    families: dict[str, list[str]] = {}
    for key in keys:
        families.setdefault(key.partition("/")[0], []).append(key)
    for era in KEY_ERAS:
        begin = era[0]
        if any(k.startswith(begin) for k in families.get(begin.partition("/")[0], ())):
            yield era
    for era in MARK_ERAS:
        if era[0] in hints:
            yield era
    for era in CONFIG_ERAS:
        if era[0] in config:
            yield era


def _first(keys: Set[str], beginnings: Iterable[str]) -> str | None:
    for begin in beginnings:
        found = min((k for k in keys if k.startswith(begin)), default=None)
        if found is not None:
            return found
    return None


def _text(release: Release, *, short: bool = True) -> str:
    if release[2] or not short:
        return ".".join(map(str, release))
    return f"{release[0]}.{release[1]}"
