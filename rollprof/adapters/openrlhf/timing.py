"""What OpenRLHF's timers mean: columns of `steps` in seconds.

A synchronous step is generation, experience, training and broadcast, one after the other;
`timing/step_total` is their plain sum and leaves out checkpoints, evaluation and logging. It stands for
the whole step only where the stamps of the log confirm it; where they show more, they count.

An asynchronous step is wall time since the step before. Its `timing/broadcast` waits until the engines are
free, so that the trainer's waiting is all but experience and training. Its first step contains the start
of the job. `timing/generation` is that of the batch it trained on, which was generated meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollprof.adapters.openrlhf.buffer import served_from_buffer
from rollprof.adapters.openrlhf.cycles import rollout_idle

Values = Mapping[str, float]

RESOLUTION = 1.0
"""Seconds: the log's stamps are whole, and so are differences of two."""
COARSEST = 0.1
"""A difference of stamps counts where their resolution is at most this share of it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What decides how the timers are read. `mode` is sync, async or unknown. `alone`: only the policy's own
    forward pass is in `timing/make_experience`. `queue_size` counts batches."""

    mode: str
    partial: bool
    alone: bool
    queue_size: int = 1


@dataclass(frozen=True, slots=True)
class Timing:
    """Columns per step (aligned with the steps given), and what was met on the way.

    `buffered[i]`: step i was served from the buffer. `confirmed` counts steps whose sum the stamps confirm,
    `longer` those that took longer than their sum, `impossible` those that took less.
    """

    rows: Sequence[dict[str, Any]]
    buffered: Sequence[bool]
    confirmed: int = 0
    longer: int = 0
    impossible: int = 0
    startup: int = 0


def timing_columns(
    numbers: Sequence[int], steps: Sequence[Values], times: Mapping[int, float], setting: Setting
) -> Timing:
    """Time columns of consecutive steps. `steps[i]` are the values of step `numbers[i]`, `times` when each
    was logged."""
    buffered = served_from_buffer([s.get("timing/generation") for s in steps])
    rows = [_phases(step, setting) for step in steps]
    for row, served in zip(rows, buffered, strict=True):
        if served:
            row["gen_batches"] = 0.0
    if setting.mode == "async":
        startup = _asynchronous(numbers, steps, rows, buffered, setting)
        return Timing(rows, buffered, startup=startup)
    return _synchronous(numbers, steps, rows, buffered, times, summed=setting.mode == "sync")


def _phases(step: Values, setting: Setting) -> dict[str, Any]:
    generation = step.get("timing/generation")
    if generation is None:
        generation = _first(step, "bar/processed_prompts/seconds", "bar/generate_samples/seconds")
    broadcast_is_sync = setting.mode == "sync" or setting.partial
    return {
        "generate_s": generation,
        "update_s": step.get("timing/ppo_train"),
        "weight_sync_s": step.get("timing/broadcast") if broadcast_is_sync else None,
        "old_logprob_s": step.get("timing/make_experience") if setting.alone else None,
        "engine_s_mean": step.get("bar/processed_prompts/engine_s_mean"),
        "engine_s_max": step.get("bar/processed_prompts/engine_s_max"),
        **_single_rollouts(step),
        **_groups(step),
        "gen_batches": step.get("log/sampling_rounds"),
    }


def _single_rollouts(step: Values) -> dict[str, Any]:
    """Times of single responses, only from bars that count responses."""
    mean = step.get("bar/processed_prompts/rollout_s_mean")
    if mean is None:
        return {}
    return {"rollout_s_mean": mean, "rollout_s_max": step.get("bar/processed_prompts/engine_s_max")}


def _groups(step: Values) -> dict[str, Any]:
    """Times of whole prompt groups, from bars that count groups: at least those of their responses."""
    mean = step.get("bar/generate_samples/group_s_mean")
    if mean is None:
        return {}
    return {
        "group_s_mean": mean,
        "group_s_p90": step.get("bar/generate_samples/group_s_p90"),
        "group_s_max": step.get("bar/generate_samples/seconds"),
    }


def _synchronous(
    numbers: Sequence[int],
    steps: Sequence[Values],
    rows: Sequence[dict[str, Any]],
    buffered: Sequence[bool],
    times: Mapping[int, float],
    *,
    summed: bool,
) -> Timing:
    walls = [s.get("log/since_previous_step_s") for s in steps]
    totals = [s.get("timing/step_total") if summed else None for s in steps]
    verdicts = [_compare(wall, total) for wall, total in zip(walls, totals, strict=True)]
    if not any(wall is not None for wall in walls):
        verdicts = [_confirm(n, total, times) for n, total in zip(numbers, totals, strict=True)]
    # Before the first step there was no checkpoint or evaluation: its sum is as good as those confirmed.
    clean = 0 < verdicts.count("confirmed") >= verdicts.count("longer") and "impossible" not in verdicts
    evaluated = {n: s["log/eval_s"] for n, s in zip(numbers, steps, strict=True) if "log/eval_s" in s}
    for i, row in enumerate(rows):
        if verdicts[i] == "confirmed" or (verdicts[i] == "unknown" and totals[i] is not None and clean):
            row["step_s"] = totals[i]
        elif (wall := walls[i]) is not None and verdicts[i] != "impossible" and _fine(wall):
            row["step_s"] = wall
            # An evaluation runs after the line of its step: inside what lies before the next line.
            row["eval_s"] = evaluated.get(numbers[i] - 1)
    counts = {v: verdicts.count(v) for v in ("confirmed", "longer", "impossible")}
    return Timing(rows, buffered, **counts)


def sums_up(steps: Sequence[Values]) -> bool | None:
    """Whether `timing/step_total` is the sum of the phases, as in synchronous runs alone; None where no step
    has all of them."""
    phases = ("timing/generation", "timing/make_experience", "timing/ppo_train", "timing/broadcast")
    whole = [s for s in steps if "timing/step_total" in s and all(p in s for p in phases)]
    if not whole:
        return None
    return all(math.isclose(sum(s[p] for p in phases), s["timing/step_total"], rel_tol=1e-3) for s in whole)


def _fine(wall: float) -> bool:
    """A difference of whole-second stamps that is long enough to count."""
    return wall * COARSEST >= RESOLUTION


def _confirm(number: int, total: float | None, times: Mapping[int, float]) -> str:
    """A tracker's clock can confirm a sum. Where it shows more, the job may have been started again."""
    before, now = times.get(number - 1), times.get(number)
    if total is None or before is None or now is None:
        return "unknown"
    return "confirmed" if abs(now - before - total) <= RESOLUTION else "open"


def _compare(wall: float | None, total: float | None) -> str:
    if wall is None or total is None:
        return "unknown"
    if wall > total + RESOLUTION:
        return "longer"
    return "impossible" if wall < total - RESOLUTION else "confirmed"


def _asynchronous(
    numbers: Sequence[int],
    steps: Sequence[Values],
    rows: Sequence[dict[str, Any]],
    buffered: Sequence[bool],
    setting: Setting,
) -> int:
    """Fill step, waiting and idle share; returns how many steps contain a start of the job."""
    clocked = any("log/since_previous_step_s" in s for s in steps)
    evaluated = {n for n, s in zip(numbers, steps, strict=True) if any(k.startswith("eval_") for k in s)}
    starts = ["log/since_previous_step_s" not in s if clocked else i == 0 for i, s in enumerate(steps)]
    for i, (step, row) in enumerate(zip(steps, rows, strict=True)):
        total, wall = step.get("timing/step_total"), step.get("log/since_previous_step_s")
        if starts[i]:
            continue
        if total is None:
            if wall is not None and _fine(wall):
                row["step_s"] = wall
            continue
        row["step_s"] = total
        row["wait_s"] = _waiting(step, total, setting)
        if numbers[i] - 1 in evaluated:
            row["weight_sync_s"] = None  # it waited for the evaluation
    idle = rollout_idle(numbers, steps, buffered, evaluated, starts, setting.queue_size)
    for row, share, start in zip(rows, idle, starts, strict=True):
        if not start:
            row["rollout_idle"] = share
    return sum(s and "timing/step_total" in step for s, step in zip(starts, steps, strict=True))


def _waiting(step: Values, total: float, setting: Setting) -> float | None:
    busy = ["timing/make_experience", "timing/ppo_train"]
    if setting.partial:
        busy.append("timing/broadcast")
    if not all(key in step for key in busy):
        return None
    return max(0.0, total - sum(step[key] for key in busy))


def _first(step: Values, *keys: str) -> float | None:
    return next((step[key] for key in keys if key in step), None)
