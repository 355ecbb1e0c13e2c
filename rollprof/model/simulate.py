"""Exact replay of one generation phase on engines of known decode cost.

Event-driven: time moves from one admission or completion to the next, as one array operation over all
segments of all engines. No token is visited. A policy that interrupts, caps or places rollouts differently
changes the schedule it hands in (`replay_schedule`), not this arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rollprof.model.decode import DecodeCost
from rollprof.model.schedule import Floats, Ints, Schedule, make_schedule, make_timeline, whole_prompts


@dataclass(frozen=True, slots=True)
class Replay:
    """Seconds from the start of the generation phase, when all rollouts are submitted.

    `start` (N,) is when a rollout takes a slot: 0 unless it queues, for `k0` counts as busy. `finish` (N,)
    when it completes, `engine_finish` (E,) when each engine is done (0 without rollouts), `duration` the
    last of them.

    `engine_idle <= effective_idle <= slot_idle` whenever all engines fill the same number of slots; dealt
    unevenly (N no multiple of E, no queue) the three weigh engines differently and may cross by about E/N.
    All three are nan where the replay takes no time.
    """

    start: Floats
    finish: Floats
    engine_finish: Floats
    duration: float
    cost: DecodeCost
    schedule: Schedule

    @property
    def slot_idle(self) -> float:
        """`1 - sum(finish - start)/(C*T)`: share of the decode slots' time without work."""
        return self._share(float((self.finish - self.start).sum()), self.schedule.capacity)

    @property
    def engine_idle(self) -> float:
        """`1 - sum(T_e)/(E*T)`: share of the engines' time with nothing to run."""
        return self._share(float(self.engine_finish.sum()), self.schedule.engines)

    @property
    def effective_idle(self) -> float:
        """Engine time that the same tokens, decoded in full batches at the same cost, would have saved.

        Busy is what a full batch needs: everything but `a*M_e` of each engine's time, and for that
        `a*E*sum(L)/C`. On one engine this is `w_a*(1 - sum(L)/(C*M))`.
        """
        engines, full = self.schedule.engines, self.schedule.capacity
        if not full:
            return math.nan
        steps_that_full_batches_need = engines * int(self.schedule.lengths.sum()) / full
        a_part = self.cost.a * (float(self.schedule.engine_steps.sum()) - steps_that_full_batches_need)
        return self._share(float(self.engine_finish.sum()) - a_part, engines)

    def _share(self, busy: float, of: int) -> float:
        return 1.0 - busy / (of * self.duration) if of and self.duration > 0 else math.nan


def replay(
    lengths: ArrayLike,
    cost: DecodeCost,
    *,
    prompts: ArrayLike | None = None,
    slots: int | None = None,
    engines: int = 1,
    assignment: ArrayLike | None = None,
) -> Replay:
    """Replay rollouts of `lengths` response tokens, all submitted at once in this order; O(N log N).

    `slots` per engine (unlimited without), first come, first served; `assignment` (N,) names each rollout's
    engine, round robin without it. Without `prompts` the context is the response alone. A rollout without
    tokens completes when a slot falls free. ValueError for lengths that are negative or not finite.
    """
    schedule = make_schedule(lengths, slots=slots, engines=engines, assignment=assignment)
    return replay_schedule(schedule, cost, whole_prompts(prompts, len(schedule.admitted)))


def replay_schedule(schedule: Schedule, cost: DecodeCost, prompts: Ints) -> Replay:
    """Seconds for a schedule in decode steps."""
    timeline = make_timeline(schedule, prompts)
    seconds = cost.seconds(timeline.width, timeline.running, timeline.context)
    since_start, until_done = timeline.elapsed(seconds)
    start = np.where(schedule.queued, since_start + cost.k0, 0.0)
    finish = until_done + cost.k0
    engine_finish = np.zeros(schedule.engines)
    np.maximum.at(engine_finish, schedule.engine, finish)
    return Replay(start, finish, engine_finish, float(engine_finish.max()), cost, schedule)


def closed_form(
    lengths: ArrayLike,
    cost: DecodeCost,
    *,
    prompts: ArrayLike | None = None,
    slots: int | None = None,
    engines: int = 1,
    assignment: ArrayLike | None = None,
) -> Floats:
    """`T_e = k0 + a*M_e + b*sum(L) + c*sum(L*p + L*(L-1)/2)` per engine (E,); 0 without rollouts."""
    schedule = make_schedule(lengths, slots=slots, engines=engines, assignment=assignment)
    L = schedule.lengths.astype(np.float64)
    context = L * whole_prompts(prompts, len(L)) + L * (L - 1.0) / 2.0
    tokens_e = np.bincount(schedule.engine, weights=L, minlength=engines)
    context_e = np.bincount(schedule.engine, weights=context, minlength=engines)
    times = cost.k0 + cost.a * schedule.engine_steps + cost.b * tokens_e + cost.c * context_e
    return np.where(np.bincount(schedule.engine, minlength=engines) > 0, times, 0.0)
