"""A generation phase that can be looked at, and stopped, at any moment of its replay.

Nothing that is submitted at once depends on what would have come later, so stopping is a look at the whole
replay: which rollouts are complete by then, and how many whole tokens the others have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rollprof.model.decode import DecodeCost
from rollprof.model.schedule import Floats, Ints, Schedule, Timeline, make_timeline

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Speculation:
    """Speculative decoding while few rollouts run: a step with `B <= on` of them is `speed(B)` times faster.

    `speed` is `s1` at one rollout, `s_on` at `on` (log2-linear between), 1 above. Both at least 1.
    """

    s1: float
    s_on: float
    on: int

    def __post_init__(self) -> None:
        if not (self.s1 >= 1 and self.s_on >= 1 and self.on >= 1):
            raise ValueError("speculation makes decoding no slower, at one rollout or more")

    def speed(self, running: Ints) -> Floats:
        """`s(B)` for each of `running`."""
        at = np.log2(np.clip(running, 1, self.on))
        top = math.log2(self.on) or 1.0
        found = self.s1 + (self.s_on - self.s1) * at / top
        return np.where(running <= self.on, found, 1.0)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What has happened by `time` seconds: `tokens` (N,) of each rollout, and seconds summed over slots
    (`slot_seconds`), over engines (`engine_seconds`) and over the part of the engines' time that does not
    depend on how many rollouts run (`step_seconds`); `decoded` tokens in all."""

    time: float
    tokens: Ints
    slot_seconds: float
    engine_seconds: float
    step_seconds: float

    @property
    def decoded(self) -> int:
        return int(self.tokens.sum())


class Drain:
    """A schedule with its seconds. `finish` (N,) when each rollout completes, `start` when it takes a slot.

    `context` (N,) are the tokens a rollout holds when admitted; `stall` (N,) seconds of prefill that its
    engine spends then, during which nobody decodes. Without stall and speculation the times are those of
    `simulate.replay_schedule`.
    """

    def __init__(
        self,
        schedule: Schedule,
        cost: DecodeCost,
        context: Ints,
        *,
        stall: Floats | None = None,
        speculation: Speculation | None = None,
    ) -> None:
        self.schedule, self.cost = schedule, cost
        self._line: Timeline = make_timeline(schedule, context)
        n = len(schedule.admitted)
        line = self._line
        self._speed = np.ones(2 * n) if speculation is None else speculation.speed(line.running)
        seconds = cost.seconds(line.width, line.running, line.context) / self._speed
        self._stall = np.zeros(2 * n)
        if stall is not None:
            self._stall[line.event[:n]] = stall
        self._before = line.before(seconds + self._stall)
        since, until = self._before[line.event[:n]], self._before[line.event[n:]]
        if stall is not None:
            # whoever completes in a step does not wait for the prefill of those admitted in it
            new = np.append(True, (line.width[:-1] > 0) | (line.engine[1:] != line.engine[:-1]))
            opening = np.maximum.accumulate(np.where(new[: 2 * n], np.arange(2 * n), 0))
            until = self._before[opening[line.event[n:]]]
        self.start: Floats = np.where(schedule.queued, since + cost.k0, 0.0)
        self.finish: Floats = until + cost.k0

    @property
    def duration(self) -> float:
        """When the last rollout completes; 0 without any."""
        return float(self.finish.max(initial=0.0))

    @cached_property
    def _engine_finish(self) -> Floats:
        finish = np.zeros(self.schedule.engines)
        np.maximum.at(finish, self.schedule.engine, self.finish)
        return finish

    def at(self, time: float) -> Snapshot:
        """The state after `time` seconds (from the start of the phase, `k0` included); whole tokens only.

        A rollout that completes at `time`, but for rounding, is complete.
        """
        T = self.duration
        if time >= T * (1.0 - _ROUNDING):
            width = self._line.width.astype(np.float64)
            tokens = self.schedule.lengths
        else:
            width, steps = self._widths(time)
            tokens = np.clip(steps[self.schedule.engine] - self.schedule.admitted, 0, self.schedule.lengths)
            tokens = np.where(self.done(time), self.schedule.lengths, tokens)
        held = np.clip(np.minimum(self.finish, time) - self.start, 0.0, None)
        return Snapshot(
            time=time,
            tokens=tokens,
            slot_seconds=float(held.sum()),
            engine_seconds=float(np.minimum(self._engine_finish, time).sum()),
            step_seconds=self.cost.a * float((width / self._speed).sum()),
        )

    def done(self, time: float) -> NDArray[np.bool_]:
        """Which rollouts are complete after `time` seconds."""
        return self.finish <= time * (1.0 + _ROUNDING)

    def _widths(self, time: float) -> tuple[Floats, Ints]:
        """Decode steps of each segment that lie before `time`, and of each engine."""
        line = self._line
        inside = time * (1.0 + 1e-12) - self.cost.k0
        bounds = line.bounds
        first, engine = bounds[:-1], line.engine[bounds[:-1]]
        begun = self._before <= inside
        counts = np.add.reduceat(begun, first) if len(first) else np.zeros(0, np.int64)
        width = np.where(begun, line.width, 0).astype(np.float64)
        last = first + np.maximum(counts - 1, 0)
        spent = inside - self._before[last] - self._stall[last]
        width[last] = np.where(counts > 0, np.minimum(self._whole_steps(last, spent), line.width[last]), 0)
        steps = np.zeros(self.schedule.engines, np.int64)
        if len(first):
            steps[engine] = np.rint(np.add.reduceat(width, first)).astype(np.int64)
        return width, steps

    def _whole_steps(self, segment: NDArray[np.intp], seconds: Floats) -> Floats:
        """The most whole steps `k` with `k*(a + b*B + c*S) + c*B*k*(k-1)/2 <= seconds` (of decoding)."""
        line, cost = self._line, self.cost
        B = line.running[segment].astype(np.float64)
        S = line.context[segment].astype(np.float64)
        budget = np.clip(seconds, 0.0, None) * self._speed[segment]
        square = cost.c * B / 2.0
        linear = cost.a + cost.b * B + cost.c * S - square
        free = np.isclose(linear, 0.0, atol=0.0) & (square == 0)
        # k = 2q/(l + sqrt(l^2 + 4sq)) keeps its digits where the square term is tiny
        root = linear + np.sqrt(np.maximum(linear * linear + 4.0 * square * budget, 0.0))
        k = np.where(root > 0, 2.0 * budget / np.where(root > 0, root, 1.0), np.inf)
        return np.where(free, line.width[segment], np.floor(k + 1e-7))
