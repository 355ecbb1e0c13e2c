"""The replays once more, by another road: every decode step of every engine, one token at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

EPS = 1e-9


@dataclass
class SlowEngine:
    """Runs step by step; `log[i]` is a list of (time, tokens so far) of rollout i."""

    a: float
    b: float
    c: float
    slots: int | None
    clock: float = 0.0
    queue: list[list[int]] = field(default_factory=list)  # [id, left, context, stall]
    running: list[list[int]] = field(default_factory=list)
    log: dict[int, list[float]] = field(default_factory=dict)
    begun: dict[int, float] = field(default_factory=dict)
    resume: float = 0.0

    def submit(self, i: int, left: int, context: int, resumed: bool = False) -> None:
        self.queue.append([i, left, context, context if resumed else 0])
        self.log[i] = []

    def drain(self) -> None:
        while self.queue or self.running:
            while self.queue and (self.slots is None or len(self.running) < self.slots):
                request = self.queue.pop(0)
                self.begun[request[0]] = self.clock
                self.clock += self.resume * request[3]
                self.running.append(request)
            B = len(self.running)
            S = sum(r[2] for r in self.running)
            self.clock += self.a + self.b * B + self.c * S
            for r in self.running:
                r[1] -= 1
                r[2] += 1
                self.log[r[0]].append(self.clock)
            self.running = [r for r in self.running if r[1] > 0]


def run(lengths, contexts, cost, engines=1, slots=None, resumed=None, resume=0.0, assignment=None):
    """Times of every token of every rollout: a list of lists, `k0` included."""
    k0, a, b, c = cost
    fleet = [SlowEngine(a, b, c, slots, clock=k0, resume=resume) for _ in range(engines)]
    for i, (left, context) in enumerate(zip(lengths, contexts, strict=True)):
        e = i % engines if assignment is None else assignment[i]
        fleet[e].submit(i, left, context, bool(resumed and resumed[i]))
    times: list[list[float]] = [[] for _ in lengths]
    for engine in fleet:
        engine.drain()
        for i, log in engine.log.items():
            times[i] = log
    return times


def finish(times):
    return [t[-1] for t in times]


def tokens_by(times, moment):
    return [sum(1 for t in log if t <= moment * (1 + EPS)) for log in times]


def april(groups, prompts, cost, rounds, wanted, over, engines=1, slots=None, resume=0.0):
    """Seconds of each round, and staleness of trained tokens, in plain Python; groups come round again."""
    flight = []  # [group number, [done], {version: tokens}]
    at, clock, stale = 0, [], {}
    for version in range(rounds):
        while len(flight) < math.ceil(over * wanted - 1e-9):
            g = at % len(groups)
            flight.append([g, [0] * len(groups[g]), {}])
            at += 1
        work = [(f, j) for f in flight for j, L in enumerate(groups[f[0]]) if f[1][j] < L]
        left = [groups[f[0]][j] - f[1][j] for f, j in work]
        context = [prompts[f[0]] + f[1][j] for f, j in work]
        times = run(left, context, cost, engines, slots, [f[1][j] > 0 for f, j in work], resume)
        ends = finish(times)
        done_at = [
            max([e for (g, _), e in zip(work, ends, strict=True) if g is f], default=0.0) for f in flight
        ]
        order = sorted(range(len(flight)), key=lambda k: done_at[k])
        stop = done_at[order[wanted - 1]]
        for (f, j), n in zip(work, tokens_by(times, stop), strict=True):
            f[1][j] += n
            f[2][version] = f[2].get(version, 0) + n
        for k in order[:wanted]:
            for v, n in flight[k][2].items():
                stale[version - v] = stale.get(version - v, 0) + n
        flight = [f for k, f in enumerate(flight) if k not in order[:wanted]]
        clock.append(stop)
    return clock, stale
