"""Generation windows: when the engines worked, told by their samples alone.

A window ends at a sample with nothing running and nothing waiting, and before a silence; another begins
where a run that had nearly drained fills up at once. Where exactly the first requests came and the last one
ended lies between samples: the tokens of that interval, at the pace of the interval beside it, tell how long
they took.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rollprof.curves.ticks import Curve

REFILLED = 0.4
"""A window begins anew where the load, after it has fallen, rises by this share of the run's peak at once."""
FALLEN = 0.75
"""... of what it was."""
ROSE = 0.15
"""A smaller rise than that may be a boundary between samples that lie far apart."""
NEW_PROMPTS = 0.1
"""Share of the largest prefill throughput from which prompts count as new ones."""
BURST_S = 2.0
"""Seconds within which requests that are sent together have all come in."""
FINE = 0.05
"""Up to this share of the window a tick is too short to hide a boundary: then a rise is the load's own."""
SMALL = 0.25
"""Windows that stay below this share of the run's peak are warm-up and probes, not generation."""
SHORTEST_LEAD = 0.05
ARRIVING = (0.1, 0.3)
"""Share of a tick that a burst took before the first sample when it goes on after it: of one that has hardly
begun, and of another."""


@dataclass(frozen=True, slots=True)
class Window:
    """One stretch of generation, from `start` to `end` in epoch seconds.

    Its samples are `first..last` of the curve, all with a load. `full`: requests came as one burst that was
    still going on at the first sample, so that the time before it counts as full. `cut` says why its
    beginning or its end is not in the log.
    """

    first: int
    last: int
    start: float
    end: float
    peak: float
    tick: float
    full: bool = False
    cut: str = ""

    @property
    def seconds(self) -> float:
        return self.end - self.start


def find_windows(curve: Curve, slots: float | None) -> list[Window]:
    """Windows of a curve in order of time. `slots` is what the engines can run at once, where that is
    known."""
    if not len(curve):
        return []
    peak = float(curve.load.max())
    capacity = capacity_of(curve, slots)
    found = []
    for first, last in _stretches(curve, peak):
        if float(curve.load[first : last + 1].max()) < SMALL * peak:
            continue
        found.append(_window(curve, first, last, capacity))
    return found


def capacity_of(curve: Curve, slots: float | None) -> float:
    """Slots that can be full: those known, but no more than were ever asked for; else the most ever
    running."""
    peak = float(curve.load.max())
    if slots is not None:
        return max(1.0, min(slots, peak))
    return max(1.0, float(np.nan_to_num(curve.running).max()))


def _stretches(curve: Curve, peak: float) -> Iterator[tuple[int, int]]:
    """(first, last) of each run of samples with a load."""
    first: int | None = None
    highest = 0.0
    load = curve.load
    for k in range(len(curve)):
        if not load[k] > 0:
            if first is not None:
                yield first, k - 1
            first = None
            continue
        apart = k > 0 and bool(curve.silent[k - 1] or curve.hole[k - 1])
        if first is not None and (apart or _filled(load[k - 1], load[k], highest, peak)):
            yield first, k - 1
            first = None
        if first is None:
            first, highest = k, 0.0
        highest = max(highest, float(load[k]))
    if first is not None:
        yield first, len(curve) - 1


def _filled(before: float, after: float, highest: float, peak: float) -> bool:
    fallen = highest >= SMALL * peak and before <= FALLEN * highest
    return fallen and after - before >= REFILLED * peak


def _window(curve: Curve, first: int, last: int, capacity: float) -> Window:
    lead, full = _lead(curve, first, last, capacity)
    drain, ended = _drain(curve, first, last, capacity)
    cut = "" if ended else "the end of generation is not in the log"
    if first > 0 and curve.hole[first - 1]:
        cut = "samples before generation are missing"
    elif first == 0 and curve.prompt[0] == 0 and curve.load[0] > 0:
        cut = "generation was under way when the log begins"
    start, end = float(curve.time[first]) - lead, float(curve.time[last]) + drain
    if not cut and curve.tick > FINE * (end - start) and _refilled(curve, first, last):
        cut = f"samples every {curve.tick:.3g} s cannot tell one generation from several"
    return Window(
        first,
        last,
        start,
        end,
        float(curve.load[first : last + 1].max()),
        curve.tick,
        full,
        cut,
    )


def _refilled(curve: Curve, first: int, last: int) -> bool:
    """Whether requests came when the first ones had already begun to end: the load rose again, or prompts
    were read although nothing had been waiting. Of requests that are sent together neither can be."""
    load, prompt = curve.load[first : last + 1], np.nan_to_num(curve.prompt[first : last + 1])
    begun = 0 if curve.tick > BURST_S else int(load.argmax())
    rise = np.diff(load[begun:]).max(initial=0.0)
    waiting = load - np.nan_to_num(curve.running[first : last + 1])
    late = (prompt[2:] > NEW_PROMPTS * prompt.max()) & (waiting[1:-1] <= 0)
    return bool(rise >= ROSE * curve.load.max() or late.any())


def _pace(curve: Curve, k: int, first: int, capacity: float) -> float:
    """Tokens per request and second in the interval that ends at sample k; NaN where not known."""
    n = np.minimum(curve.load[max(first, k - 1) : k + 1], capacity)
    return float(curve.generation[k] / n.mean()) if n.mean() > 0 else float("nan")


def _lead(curve: Curve, first: int, last: int, capacity: float) -> tuple[float, bool]:
    """Seconds from the first request to the first sample, and whether requests were still coming in."""
    tick = curve.tick
    n = min(float(curve.load[first]), capacity)
    arriving = first < last and curve.prompt[first + 1] > 0 and curve.load[first] < capacity
    arriving = arriving and curve.load[first + 1] > curve.load[first]
    if arriving:
        return (ARRIVING[0] if n < ARRIVING[0] * capacity else ARRIVING[1]) * tick, True
    pace = _pace(curve, first + 1, first, capacity) if first < last else float("nan")
    lead = curve.generation[first] * tick / ((capacity + n) / 2 * pace) if pace > 0 else float("nan")
    if not np.isfinite(lead):
        lead = tick / 2
    return float(np.clip(lead, SHORTEST_LEAD * tick, tick)), False


def _drain(curve: Curve, first: int, last: int, capacity: float) -> tuple[float, bool]:
    """Seconds from the last sample with a load to the end of the last request, and whether that is known."""
    if last + 1 >= len(curve) or curve.hole[last]:
        return 0.0, False
    gap = float(curve.time[last + 1] - curve.time[last])
    if curve.silent[last]:
        return min(gap, curve.tick) / 2, True
    if curve.load[last + 1] > 0:
        return gap / 2, True  # the next burst came before the next sample
    n = min(float(curve.load[last]), capacity)
    pace = _pace(curve, last, first, capacity)
    drain = curve.generation[last + 1] * gap / (n * pace) if pace > 0 else gap / 2
    return float(np.clip(drain if np.isfinite(drain) else gap / 2, 0.0, gap)), True


__all__ = ["Window", "capacity_of", "find_windows"]
