"""Idle slots and engines of one generation phase as a clock or the log gives them. Nothing is modelled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.completions import Completions
from rollprof.analyzers.generations import Generation
from rollprof.analyzers.results import Basis, StepFigure
from rollprof.analyzers.run_data import RunData
from rollprof.model import clock

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clocked:
    """`slot` is slot_idle, `duration` T in seconds, `queue_share` the queue's part of the rollouts' time.

    The interval of `slot` is the value alone, or what a bound leaves open. `logged` is slot_idle from
    logged aggregates, where `slot` comes from the rollouts themselves.
    """

    slot: StepFigure | None = None
    duration: float | None = None
    queue_share: float | None = None
    logged: StepFigure | None = None


def slots_of(run: RunData, g: Generation, c: Completions | None, n: float, capacity: float) -> Clocked:
    """slot_idle from completions, else from the logged mean and maximum of per-rollout times."""
    mean, top = (float(run.column(f"rollout_s_{s}")[g.index]) for s in ("mean", "max"))
    logged = None
    if not g.pooled and 0 < mean <= top:
        logged = _from_aggregates(run, n, capacity, mean, top)
    if c is None and logged is None:
        return _from_groups(run, g, n, capacity)
    if c is None:
        return Clocked(logged, top)
    clocked = clock.clock_idle(c.start, c.finish, capacity)
    width, flying = np.diff(clocked.time_s), clocked.in_flight[:-1]
    queue: float | None = None
    if run.facts.slots is not None:
        queue = float(np.maximum(flying - capacity, 0) @ width) / float(flying @ width)
    value = clocked.slot_idle
    slot = StepFigure(value, c.basis, (value, value))
    return Clocked(slot, c.end, _queue_share(run, c, queue), logged if c.basis == "measured" else None)


def _queue_share(run: RunData, c: Completions, by_clock: float | None) -> float | None:
    """Queue time as logged by the engine, else what exceeds the slots."""
    queue = run.rollouts.queue
    if queue is None or np.isnan(queue[c.at]).any():
        return by_clock
    total = float((c.finish - c.start).sum())
    return min(1.0, float(queue[c.at].sum()) / total) if total > 0 else None


def _from_aggregates(run: RunData, n: float, capacity: float, mean: float, top: float) -> StepFigure:
    """1 - mean/max of the logged per-rollout times.

    Where requests queue, their times contain the queue. `1 - N*mean/(C*max)` counts that waiting as work
    and is a lower bound; `1 - mean/max` is an upper one, since `n/N <= min(n, C)/C` at any moment.
    """
    high = 1 - mean / top
    if n >= 1 and run.facts.slots is not None and n > capacity:
        low = max(0.0, 1 - n * mean / (capacity * top))
        return StepFigure(low, "logged", (low, high), "lower")
    if run.facts.requests_may_queue:
        return StepFigure(high, "logged", (0.0, high), "upper")
    return StepFigure(high, "logged", (high, high))


def _from_groups(run: RunData, g: Generation, n: float, capacity: float) -> Clocked:
    """A lower bound from the times of whole prompt groups, all submitted together.

    A group is done with its slowest response, so responses are done no later than their groups: `1 -
    mean/max` over groups is at most slot_idle. Not where requests queue, which empties no slot.
    """
    mean, top = (float(run.column(f"group_s_{s}")[g.index]) for s in ("mean", "max"))
    if g.pooled or not 0 < mean <= top or run.facts.queues(n) or n > capacity:
        return Clocked()
    return Clocked(StepFigure(1 - mean / top, "logged", (1 - mean / top, 1.0), "lower"), top)


def engines_of(
    run: RunData, g: Generation, c: Completions | None, slot: StepFigure | None
) -> StepFigure | None:
    """engine_idle, held at slot_idle where it would exceed it.

    That happens only where engines were dealt unequal numbers of rollouts; what remains is a lower bound.
    """
    value, basis = _engine_idle(run, g, c)
    if value is None:
        return None
    top = slot.interval[1] if slot is not None and slot.interval is not None else 1.0
    if value > top:
        return StepFigure(top, basis, (top, value), "lower")
    return StepFigure(value, basis, (value, value))


def _engine_idle(run: RunData, g: Generation, c: Completions | None) -> tuple[float | None, Basis | None]:
    labels = engine_labels(run, c)
    if c is not None and labels is not None:
        engines = max(run.facts.engines, len(np.unique(labels)))
        value = clock.engine_idle(c.start, c.finish, labels, engines)
        return (None, None) if math.isnan(value) else (value, c.basis)
    mean, top = (float(run.column(f"engine_s_{s}")[g.index]) for s in ("mean", "max"))
    if not g.pooled and 0 < mean <= top:
        return 1 - mean / top, "logged"
    if run.facts.engines == 1 and run.facts.engines_known:
        # its last rollout is the step's last
        return 0.0, c.basis if c is not None else "logged"
    return None, None


def engine_labels(run: RunData, c: Completions | None) -> NDArray[np.int32] | None:
    """The engine of every rollout of `c`; None where any is unknown."""
    if c is None or run.rollouts.engine is None:
        return None
    labels = run.rollouts.engine[c.at]
    return labels if bool((labels >= 0).all()) else None
