"""Steps whose rollouts have times: fitted one by one, pooled, and replayed against the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rollprof.analyzers.completions import timed
from rollprof.analyzers.generations import Generation
from rollprof.analyzers.idle.clocked import engine_labels
from rollprof.analyzers.idle.shapes import decoded_lengths, prompts_of
from rollprof.analyzers.run_data import RunData
from rollprof.model.calibrate import RolloutFit, fit_rollouts
from rollprof.model.clock import clock_idle
from rollprof.model.decode import DecodeCost
from rollprof.model.pooled_fit import TimedStep, pooled_cost, timed_step
from rollprof.model.schedule import Floats, Ints

MOST_STEPS = 60
"""Steps that are fitted; of a longer run every n-th."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Rollouts of one step in the order of submission, with their clock: `duration` and `slot_idle`; `fit`
    is the decode cost of this step alone."""

    lengths: Floats
    prompts: Floats | None
    slots: int | None
    engines: int
    assignment: Ints | None
    duration: float
    slot_idle: float
    step: TimedStep
    fit: RolloutFit


def step_times(run: RunData, phases: Sequence[Generation]) -> list[StepTimes]:
    """Of the phases whose rollouts have times and lengths."""
    usable = [g for g in phases if not g.reason and g.span is not None]
    every = max(1, -(-len(usable) // MOST_STEPS))
    found = [_of(run, g) for g in usable[::every]]
    return [t for t in found if t is not None]


def _of(run: RunData, g: Generation) -> StepTimes | None:
    c = timed(run, g)
    if c is None:
        return None
    L = decoded_lengths(run)[c.at]
    if np.isnan(L).any() or not L.max() > 0:
        return None
    labels = engine_labels(run, c)
    engines: int | Ints = run.facts.engines if labels is None else labels.astype(np.int64)
    prompts = prompts_of(run, c.at)
    step = timed_step(c.finish, L, prompts, c.start, run.facts.slots, engines)
    if step is None:
        return None
    order = np.argsort(c.start, kind="stable")
    assignment, count = None, run.facts.engines
    if labels is not None:
        names, assignment = np.unique(labels[order], return_inverse=True)
        assignment, count = assignment.astype(np.int64), len(names)
    clock = clock_idle(c.start, c.finish, float(run.facts.capacity(len(L))))
    return StepTimes(
        lengths=L[order],
        prompts=None if prompts is None else prompts[order],
        slots=run.facts.slots,
        engines=count,
        assignment=assignment,
        duration=clock.duration,
        slot_idle=clock.slot_idle,
        step=step,
        fit=fit_rollouts(c.finish, L, prompts, c.start, run.facts.slots, engines),
    )


def cost_of(times: Sequence[StepTimes]) -> DecodeCost:
    """One cost for all of these steps."""
    with_context = all(t.prompts is not None for t in times)
    return pooled_cost([t.step for t in times], with_context=with_context)
