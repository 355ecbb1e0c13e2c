"""Who decodes when, counted in decode steps: first come, first served, into the slots of each engine.

The schedule does not depend on what a step costs: one schedule serves every cost, the shape of a step and
the fit. Between two events (an admission or a completion) nothing changes, so a `Timeline` holds one
segment per event, and whatever adds up over decode steps is a sum over segments.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each rollout holds a slot, in decode steps of its own engine; arrays of shape (N,).

    `admitted` is the number of steps the engine had made when the rollout took a slot, `finished` when it
    left it: the difference is its length. `queued` ones were not among the first to fill the slots.
    """

    admitted: Ints
    finished: Ints
    queued: NDArray[np.bool_]
    engine: Ints
    engines: int
    slots: int | None

    @property
    def lengths(self) -> Ints:
        """Response tokens, as rounded for the schedule."""
        return self.finished - self.admitted

    @property
    def engine_steps(self) -> Ints:
        """Decode steps until each engine is done, shape (engines,); 0 for one without rollouts."""
        steps = np.zeros(self.engines, np.int64)
        np.maximum.at(steps, self.engine, self.finished)
        return steps

    @property
    def capacity(self) -> int:
        """Slots that these rollouts could fill at once."""
        return capacity(len(self.admitted), self.slots, self.engines)


@dataclass(frozen=True, slots=True)
class Timeline:
    """One segment per event, sorted by engine and step; arrays of shape (2N,).

    Segment `i` is `width[i]` decode steps long (often 0); `running[i]` rollouts decode in it, which hold
    `context[i]` tokens in its first step and one more each in every next.
    """

    width: Ints
    running: Ints
    context: Ints
    engine: Ints
    event: Ints
    """Segments that begin with the N admissions, then with the N completions, in the caller's order."""

    def elapsed(self, per_segment: Floats) -> tuple[Floats, Floats]:
        """What has added up on its engine when each rollout is admitted, and when it completes; (N,) each."""
        since = self.before(per_segment)[self.event]
        half = len(since) // 2
        return since[:half], since[half:]

    @property
    def bounds(self) -> NDArray[np.intp]:
        """Where the segments of each engine that has any begin, and the end of the last."""
        return np.flatnonzero(np.diff(self.engine, prepend=-1, append=-1))

    def before(self, per_segment: Floats) -> Floats:
        """What has added up on its engine when each segment begins; (2N,)."""
        total = np.zeros(len(per_segment))
        for first, last in pairwise(self.bounds.tolist()):  # one sum over all engines would cost digits
            np.cumsum(per_segment[first : last - 1], out=total[first + 1 : last])
        return total


def capacity(n: int, slots: int | None, engines: int) -> int:
    """`C = min(N, engines*slots)`, `N` where slots are unlimited."""
    return n if slots is None else min(n, engines * slots)


def deal(n: int, engines: int) -> Ints:
    """Round robin: the engine of each of `n` requests in the order of submission."""
    return np.arange(n, dtype=np.int64) % engines


def whole_tokens(values: ArrayLike, name: str = "lengths") -> Ints:
    """One-dimensional, finite, not negative and rounded to whole tokens (scaled counts are not whole)."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.all(np.isfinite(array)) or np.any(array < 0):
        raise ValueError(f"{name} must be a flat array of finite numbers that are not negative")
    return np.rint(array).astype(np.int64)


def whole_prompts(prompts: ArrayLike | None, n: int) -> Ints:
    """Prompt tokens of the `n` rollouts; 0 where they are unknown, so that context is the response alone."""
    if prompts is None:
        return np.zeros(n, np.int64)
    values = whole_tokens(prompts, "prompts")
    if len(values) != n:
        raise ValueError(f"{n} lengths but {len(values)} prompts")
    return values


def make_schedule(
    lengths: ArrayLike,
    *,
    slots: int | None = None,
    engines: int = 1,
    assignment: ArrayLike | None = None,
) -> Schedule:
    """Admission and completion of every rollout under first come, first served; O(N log slots).

    `lengths` in the order of submission; `assignment` gives each rollout's engine (0..engines-1), round
    robin without it. ValueError for lengths, slots or engines that cannot be.
    """
    L = whole_tokens(lengths)
    if engines < 1 or (slots is not None and slots < 1):
        raise ValueError("there is at least one engine, and one slot on it")
    engine = deal(len(L), engines) if assignment is None else np.asarray(assignment, dtype=np.int64)
    if engine.shape != L.shape or (len(L) and not (engine.min() >= 0 and engine.max() < engines)):
        raise ValueError(f"assignment needs one engine from 0 to {engines - 1} per rollout")
    admitted, queued = np.zeros(len(L), np.int64), np.zeros(len(L), np.bool_)
    if slots is not None and len(L) > slots:
        load = np.bincount(engine, minlength=engines)
        by_engine = np.argsort(engine, kind="stable")
        last = np.cumsum(load)
        for e in np.flatnonzero(load > slots):
            mine = by_engine[last[e] - load[e] : last[e]]
            admitted[mine] = _admit(L[mine], slots)
            queued[mine[slots:]] = True
    return Schedule(admitted, admitted + L, queued, engine, engines, slots)


def _admit(lengths: Ints, slots: int) -> Ints:
    """The step at which each rollout of one engine takes the slot that falls free first."""
    free = sorted(lengths[:slots].tolist())
    admitted = [0] * slots
    replace = heapq.heapreplace
    for length in lengths[slots:].tolist():
        now = free[0]
        admitted.append(now)
        replace(free, now + length)
    return np.asarray(admitted, dtype=np.int64)


def make_timeline(schedule: Schedule, prompts: Ints, *, in_lockstep: bool = False) -> Timeline:
    """The segments of a schedule; O(N log N).

    `in_lockstep` lays all engines over each other, step by step, as one engine of all their slots: the view
    that the shape of a step takes. A rollout's context in engine step `k` is `prompt + k - admitted`.
    """
    n = len(schedule.admitted)
    engine = np.zeros(n, np.int64) if in_lockstep else schedule.engine
    step = np.concatenate([schedule.admitted, schedule.finished])
    key = np.concatenate([engine, engine]) * (int(step.max(initial=0)) + 1) + step
    order = np.argsort(key, kind="stable")
    sign = np.where(order < n, 1, -1)
    rollout = np.where(order < n, order, order - n)
    at = step[order]
    running = np.cumsum(sign)
    context = np.cumsum(sign * (prompts - schedule.admitted)[rollout]) + running * at
    width = np.append(at[1:], at[-1:]) - at if n else at
    width[running == 0] = 0  # an engine is done; the next segment is another engine's
    event = np.empty(2 * n, np.int64)
    event[order] = np.arange(2 * n)
    return Timeline(width, running, context, engine[rollout], event)
