"""Where the rollouts are replayed: engines of known cost, a trainer, and how many rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from rollprof.model.decode import DecodeCost
from rollprof.model.interrupt import Drain, Speculation
from rollprof.model.schedule import Floats, Ints, make_schedule
from rollprof.whatif.workload import Workload

WARM_UP = 10
"""Rounds that fill the buffers of policies which carry work over; they are not measured."""
FEWEST_ROUNDS = 40
"""Rounds measured at least: a shorter run is played several times over."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Which rollout goes where: `estimate` (N,) of each length; the longest first, to the engine that has
    the least work so far. `first` (N,) marks the rollouts that are sent before all others."""

    estimate: Floats
    first: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None = None


@dataclass(frozen=True, slots=True)
class Engines:
    """`count` engines of `slots` decode slots (None: no limit) and one decode cost.

    `resume` is what prefilling a context token costs when an interrupted rollout goes on, in seconds.
    """

    cost: DecodeCost
    count: int = 1
    slots: int | None = None
    resume: float = 0.0
    speculation: Speculation | None = None

    def drain(
        self,
        left: Ints,
        context: Ints,
        *,
        resumed: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] | None = None,
        assignment: Ints | None = None,
        placed: tuple[Floats, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]] | None = None,
    ) -> Drain:
        """Decode `left` (n,) more tokens of rollouts that hold `context` tokens, all submitted at once in
        this order; round robin over the engines, unless an assignment or a placement says otherwise."""
        if placed is not None:
            return self._placed(left, context, *placed)
        schedule = make_schedule(left, slots=self.slots, engines=self.count, assignment=assignment)
        stall = None
        if resumed is not None and self.resume > 0:
            stall = np.where(resumed, context * self.resume, 0.0)
        return Drain(schedule, self.cost, context, stall=stall, speculation=self.speculation)

    def _placed(
        self,
        left: Ints,
        context: Ints,
        estimate: Floats,
        first: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    ) -> Drain:
        order = np.lexsort((-estimate, ~first))
        engine = np.empty(len(left), np.int64)
        engine[order] = _least_loaded(estimate[order], self.count)
        schedule = make_schedule(left[order], slots=self.slots, engines=self.count, assignment=engine[order])
        back = np.empty(len(left), np.int64)
        back[order] = np.arange(len(left))
        drain = Drain(schedule, self.cost, context[order], speculation=self.speculation)
        return _Reordered(drain, back)

    def capacity(self, n: int) -> int:
        """Slots that `n` rollouts could fill."""
        return n if self.slots is None else min(n, self.slots * self.count)


class _Reordered(Drain):
    """A drain whose rollouts are told in the caller's order."""

    def __init__(self, inner: Drain, back: Ints) -> None:
        self.__dict__.update(inner.__dict__)
        self.schedule = replace(
            inner.schedule,
            admitted=inner.schedule.admitted[back],
            finished=inner.schedule.finished[back],
            queued=inner.schedule.queued[back],
            engine=inner.schedule.engine[back],
        )
        self.start, self.finish = inner.start[back], inner.finish[back]


def _least_loaded(weights: Floats, engines: int) -> Ints:
    """Each of `weights` in turn to the engine with the least so far (ties: the first)."""
    if engines == 1:
        return np.zeros(len(weights), np.int64)
    import heapq

    loads = [(0.0, e) for e in range(engines)]
    chosen = []
    for weight in weights.tolist():
        load, e = loads[0]
        heapq.heapreplace(loads, (load + weight, e))
        chosen.append(e)
    return np.asarray(chosen, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Trainer:
    """What comes after generation: `per_token` seconds of training per trained token and `sync` seconds
    per weight update; both 0 where unknown (`known` False). `apart`: on GPUs of its own, which are `share`
    of all (None: unknown)."""

    per_token: float = 0.0
    sync: float = 0.0
    known: bool = False
    apart: bool = False
    share: float | None = None

    def seconds(self, tokens: float) -> float:
        """Training on `tokens`, without the weight update."""
        return self.per_token * tokens


@dataclass(frozen=True, slots=True)
class Round:
    """Round `index` (negative while warming up) takes the place of logged step `step`."""

    index: int
    step: int


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a policy needs. `reference` is the workload of the baseline it is compared with, where that
    is not the same (sub-sampled responses)."""

    workload: Workload
    engines: Engines
    trainer: Trainer = Trainer()
    placement: Placement | None = None
    reference: Workload | None = None
    lost_tokens: int = 0
    notes: tuple[str, ...] = ()
    warm_up: int = WARM_UP
    fewest_rounds: int = FEWEST_ROUNDS
    tick: Callable[[], None] | None = None

    def n_rounds(self, *, carry: bool) -> tuple[int, int]:
        """How many rounds warm up, and how many are measured."""
        S = self.workload.n_steps
        return (self.warm_up, max(1, -(-self.fewest_rounds // S)) * S) if carry else (0, S)

    def rounds(self, *, carry: bool) -> Iterator[Round]:
        """Every logged step once; with `carry` after a warm-up, and as often as `FEWEST_ROUNDS` asks."""
        S = self.workload.n_steps
        warm, measured = self.n_rounds(carry=carry)
        for index in range(-warm, measured):
            if self.tick is not None:
                self.tick()
            yield Round(index, index % S)

    def drain(
        self,
        rows: Ints,
        *,
        done: Ints | None = None,
        left: Ints | None = None,
        assignment: Ints | None = None,
    ) -> Drain:
        """Replay these rollouts from where they are (`done` tokens each); `left` cuts what is decoded."""
        w = self.workload
        context = w.prompts[rows] if done is None else w.prompts[rows] + done
        if left is None:
            left = w.lengths[rows] if done is None else w.lengths[rows] - done
        placed = None
        if self.placement is not None:
            estimate = self.placement.estimate[rows]
            if done is not None:
                estimate = np.maximum(estimate - done, 1.0)
            first = self.placement.first
            none_first = np.zeros(len(rows), np.bool_)
            placed = (estimate, none_first if first is None else first[rows])
        resumed = None if done is None else done > 0
        if resumed is not None and placed is not None:
            placed = None if assignment is not None else placed
        return self.engines.drain(left, context, resumed=resumed, assignment=assignment, placed=placed)

    def drain_on(self, rows: Ints, done: Ints, assignment: Ints, *, fixed_cost: bool) -> Drain:
        """Go on with rollouts that have engines already; the fixed cost is paid only if said so."""
        engines = self.engines
        if not fixed_cost:
            engines = replace(engines, cost=replace(engines.cost, k0=0.0))
        return replace(self, engines=engines, placement=None).drain(rows, done=done, assignment=assignment)

    def complete(self, drain: Drain, rows: Ints) -> Floats:
        """When each rollout is complete, tools and environments included (n,)."""
        delay = self.workload.delay
        return drain.finish if delay is None else drain.finish + delay[rows]


class Stream:
    """Prompt groups in the order of the log, over and over: what is launched next, never redrawn."""

    def __init__(self, workload: Workload, start_step: int) -> None:
        self._groups = workload.n_groups
        self._sizes = workload.group_sizes
        self._at = int(workload.steps[start_step])

    def take(self, n: int) -> Ints:
        """The next `n` groups."""
        found = (self._at + np.arange(n)) % self._groups
        self._at = (self._at + n) % self._groups
        return found

    def fill(self, room: int) -> Ints:
        """The next groups whose rollouts all fit into `room`."""
        if room <= 0:
            return np.zeros(0, np.int64)
        ahead = (self._at + np.arange(room)) % self._groups
        return self.take(int(np.searchsorted(np.cumsum(self._sizes[ahead]), room, side="right")))
