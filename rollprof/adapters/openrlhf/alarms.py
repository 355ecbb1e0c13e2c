"""Traps of OpenRLHF's logs that this run met (alarms), and what its columns leave out and why (notes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Alarm
from rollprof.adapters.openrlhf.releases import Range
from rollprof.adapters.openrlhf.sampling import PassRate
from rollprof.adapters.openrlhf.timing import Setting, Timing

_TOLERANCE = 0.02
_WHOLE = 100.0
"""Percent. Above it everyone sees that a share is wrong; below it a note says so."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the interpretation of a run came across. `rows[i]` are the values of step `numbers[i]`."""

    numbers: Sequence[int]
    rows: Sequence[Mapping[str, float]]
    timing: Timing
    setting: Setting
    release: Range
    sampling: PassRate | None
    config: Mapping[str, Any]
    hints: Mapping[str, str]
    agents: bool


def alarms_of(found: Findings) -> list[Alarm]:
    """Numbers that contradict each other, or do not mean what they seem to."""
    return [*_pass_rate(found), *_impossible(found), *_means_disagree(found)]


def notes_of(found: Findings) -> list[str]:
    """What was read differently from how it looks, one sentence each."""
    return [*_time_notes(found), *_content_notes(found), *_bar_notes(found)]


def _pass_rate(found: Findings) -> Iterator[Alarm]:
    sampling = found.sampling
    if sampling is None or max(sampling.logged_wrong, default=0) <= _WHOLE:
        return
    logged = max(sampling.logged_wrong)
    true = "unknown here" if sampling.share is None else f"{sampling.share:.1%}"
    yield Alarm(
        "openrlhf_pass_rate",
        f"dynamic_filtering_pass_rate says {logged:.2f} %, but since 0.9.9 that is the rate times the group "
        f"size: the share of prompts kept is {true}",
        {"logged_percent": logged, "share": sampling.share},
        handled=True,
    )


def _impossible(found: Findings) -> Iterator[Alarm]:
    if found.timing.impossible:
        yield Alarm(
            "openrlhf_time_contradiction",
            f"in {found.timing.impossible} steps the phases add up to more than passed between the lines of "
            "the log: no step time is given for them",
            {"steps": found.timing.impossible},
        )


def _means_disagree(found: Findings) -> Iterator[Alarm]:
    """The mean over training micro-batches against the mean over all responses."""
    apart = [
        (number, row["response_length"], row["rollout/response_length_mean"])
        for number, row in zip(found.numbers, found.rows, strict=True)
        if "response_length" in row
        and row.get("rollout/response_length_mean", 0) > 0
        and abs(row["response_length"] / row["rollout/response_length_mean"] - 1) > _TOLERANCE
    ]
    if apart:
        step, trained, rolled = apart[0]
        yield Alarm(
            "openrlhf_dropped_samples",
            f"in {len(apart)} steps the responses trained on are not those generated: mean {trained:g} "
            f"and {rolled:g} tokens in step {step} (a remainder that fills no batch is dropped)",
            {"steps": len(apart), "step": step, "trained_mean": trained, "generated_mean": rolled},
            handled=True,
        )


def _time_notes(found: Findings) -> Iterator[str]:
    timing, setting = found.timing, found.setting
    has_total = any("timing/step_total" in row for row in found.rows)
    if setting.mode == "async" and has_total:
        if not setting.partial:
            yield (
                "timing/broadcast of the asynchronous trainer waits until the engines are free: it counts as "
                "waiting, together with the weight transfer in it, and weight_sync_s is left out"
            )
        if timing.startup:
            yield "the first step after a start contains the start of the job: its step time is left out"
    if setting.mode == "sync" and has_total:
        if timing.longer:
            yield (
                f"in {timing.longer} steps more time passed than timing/step_total says, a sum without "
                "checkpoints, evaluation and logging: the step time is that between the lines of the log"
            )
        elif not timing.confirmed:
            yield (
                "timing/step_total is a sum without checkpoints, evaluation and logging, and no stamps "
                "confirm it: step times are left out"
            )
    if any("timing/make_experience" in row for row in found.rows) and not setting.alone:
        yield (
            "timing/make_experience holds the passes of several models in one number: it belongs to no "
            "single phase and is kept under its own name"
        )
    if any(timing.buffered):
        shown = [n for n, b in zip(found.numbers, timing.buffered, strict=True) if b]
        yield (
            f"{len(shown)} steps were served from the sample buffer (first: step {shown[0]}): their "
            "responses were generated with an earlier step, shortest first, so that lengths go up and down"
        )


def _content_notes(found: Findings) -> Iterator[str]:
    rows = found.rows
    if found.sampling is not None and 0 < max(found.sampling.logged_wrong, default=0) <= _WHOLE:
        yield "dynamic_filtering_pass_rate is the rate times the group size since 0.9.9"
    clipped = [r for r in rows if "response_clip_ratio" in r]
    if (
        clipped
        and not found.release.before("0.9.1")
        and not any(k in r for r in rows for k in ("truncated", "rollout/truncated_rate"))
    ):
        yield (
            "response_clip_ratio is not taken for the truncated share: since 0.9.1 it misses responses that "
            "were cut by max_new_tokens"
        )
    if found.agents and not found.release.at_least("0.11.1"):
        yield "agents do not report truncation before 0.11.1: a share of 0 is left out"
    if found.agents:
        yield "response lengths of agents include the text of tools and environments between turns"
    dynamic = values.boolean(found.config.get("train.dynamic_batch_enable"))
    if dynamic and not any("rollout/response_length_mean" in r for r in rows):
        yield "with dynamic batches the mean length is biased towards small micro-batches"
    penalties = ("reward.overlong_buffer_len", "reward.stop_properly_penalty_coef")
    if any(found.config.get(key) is not None for key in penalties):
        yield "length penalties are on: the logged reward may be the one before them"


def _bar_notes(found: Findings) -> Iterator[str]:
    hints = found.hints
    bars = hints.get("bars", "")
    if bars.endswith("left out"):
        lost = "mark.bars_deduplicated" in hints
        kept = "Ray left out repeated lines (RAY_DEDUP_LOGS=0 keeps them)"
        cause = kept if lost else "they do not match the steps"
        yield f"progress bars not used: {cause}: {bars.removesuffix('left out').rstrip(' ;:')}"
    elif bars == "groups" and any("bar/generate_samples/seconds" in r for r in found.rows):
        yield (
            "the generation bar ticks when a whole prompt group is generated and scored: group_s_mean is a "
            "time of groups, at least that of their responses"
        )
