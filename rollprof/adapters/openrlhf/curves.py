"""Progress bars put together: one `Call` is the life of one bar, a curve of what was done when.

Two bars are completion curves. `Generate samples` (since 0.9.1) ticks once per prompt group, when the last
of its responses is generated and scored; tqdm shows it again just before each tick, so that each group's
second is known. `Processed prompts` (until 0.9.0) is vLLM's own, one per engine and call, and ticks per
response; it is shown at most ten times a second, so that a tick may cover several responses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rollprof.adapters.openrlhf.bars import Bar

GROUPS = "Generate samples"
REQUESTS = "Processed prompts"
EPISODE = "Episode"

PINNED = 0.05
"""A time is used where whole seconds pin it to this share of the slowest, either way."""


@dataclass(slots=True)
class Call:
    """One bar's life. `states` are its (done, elapsed seconds) in order; `first` and `last` are positions
    of its first and last state among the lines of the log."""

    what: str
    actor: str
    pid: int
    first: int
    last: int = 0
    total: int = 0
    states: list[tuple[int, int]] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    consumed: int | None = None
    _closing: tuple[int, float | None] = (0, None)

    @property
    def finished(self) -> bool:
        """The bar reached its total."""
        return bool(self.states) and self.states[-1][0] == self.total > 0

    @property
    def middle(self) -> int:
        """Position of its middle state: where in the log it lies, whatever order its ends are in."""
        return self.positions[len(self.positions) // 2]

    @property
    def seconds(self) -> float:
        """How long it took: from its overall rate, else whole seconds."""
        done, exact = self._closing
        if exact is not None and done == self.states[-1][0]:
            return exact
        return float(self.states[-1][1])

    def takes(self, bar: Bar) -> bool:
        """Whether a state can be a later one of this bar."""
        done, elapsed = self.states[-1]
        return bar.total == self.total and bar.done >= done and bar.elapsed >= elapsed

    def add(self, bar: Bar, position: int) -> None:
        """Take the next state."""
        self.total = bar.total or self.total
        self.states.append((bar.done, bar.elapsed))
        self.positions.append(position)
        self.last = position
        self._closing = (bar.done, bar.seconds)
        if "prompts_consumed" in bar.extra:
            self.consumed = int(bar.extra["prompts_consumed"])


class CallReader:
    """Sorts the states of bars into calls, per process."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._open: dict[tuple[str, str, int], Call] = {}

    def add(self, bar: Bar, actor: str, pid: int, position: int) -> None:
        """Take one state of a bar, written by process `pid` of `actor`."""
        if bar.total is None:
            return
        key = (bar.what, actor, pid)
        call = self._open.get(key)
        if call is None or not call.takes(bar):
            call = Call(bar.what, actor, pid, position)
            self.calls.append(call)
            self._open[key] = call
        call.add(bar, position)


@dataclass(frozen=True, slots=True)
class Curve:
    """When each of `total` items was done: `low[i] <= t_i <= high[i]` seconds after the call began."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """When the last one was done."""
        return self.high[-1]

    @property
    def mean_bounds(self) -> tuple[float, float]:
        """Bounds of the mean completion time."""
        return sum(self.low) / len(self.low), sum(self.high) / len(self.high)

    def mean(self) -> float | None:
        """The mean completion time, where whole seconds pin it."""
        return pinned(*self.mean_bounds, self.seconds)

    def quantile(self, share: float) -> float | None:
        """When `share` of the items was done (nearest rank), where whole seconds pin it."""
        at = max(1, math.ceil(len(self.low) * share - 1e-9)) - 1
        return pinned(self.low[at], self.high[at], self.seconds)


def pinned(low: float, high: float, slowest: float) -> float | None:
    """The middle of two bounds that are at most `2 * PINNED` of the slowest apart, else None."""
    return (low + high) / 2 if slowest > 0 and high - low <= 2 * PINNED * slowest else None


def curve(call: Call) -> Curve | None:
    """The completion curve of a finished call; None where its end is not known."""
    if not call.finished:
        return None
    end = call.seconds
    low, high = [], []
    for before, upto, begin, finish in _jumps(call):
        for _ in range(upto - before):
            low.append(min(begin, end))
            high.append(min(finish, end))
    if not low:
        return None
    low[-1] = high[-1] = end
    return Curve(tuple(low), tuple(high))


def _jumps(call: Call) -> Iterator[tuple[int, int, float, float]]:
    """(done before, done after, earliest, latest) of each increase.

    A state shows whole seconds: it was drawn in [elapsed, elapsed + 1). It is drawn when an item is done, so
    that the last of those it newly counts was done just then, the others since the state before. A group bar
    is drawn before it counts, too, so that the state before tells the second of each group.
    """
    states = _in_order(call.states)
    exact = call.what == GROUPS and call.consumed is not None and _every_count_shown(states, call.total)
    for (before, seen), (upto, shown) in pairwise(states):
        if upto > before and exact:
            yield before, upto, float(seen), seen + 1.0
        elif upto > before:
            yield before, upto - 1, float(seen), shown + 1.0
            yield upto - 1, upto, float(shown), shown + 1.0


def _in_order(states: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(0, 0), *states] if states and states[0][0] > 0 else list(states)


def _every_count_shown(states: Sequence[tuple[int, int]], total: int) -> bool:
    return {done for done, _ in states} >= set(range(total))
