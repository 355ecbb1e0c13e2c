"""Samples of one or many engines as one curve: the tick they were taken at, and what silence means.

Logs keep whole seconds. Samples are taken at a steady tick, so that the true moments `t0 + D*j` follow from
all the seconds together: they must all lie in `[second, second + 1)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

GAP = 2.6
"""A pause longer than this many ticks is no jitter."""
SHORTEST_GAP = 5.0
"""... and longer than these seconds where an engine writes at no steady tick."""
SAME = 0.8
"""Samples of several engines nearer than this share of a tick are of one tick."""
FEWEST = 4
TOUCH = 1e-9
"""Stretches that share no more seconds than this only touch."""


@dataclass(frozen=True, slots=True)
class Curve:
    """States of the fleet, or of one engine, at moments `time` (K,).

    `load` is running + waiting requests, `running` those in slots, `prompt` and `generation` tokens/s since
    the sample before (NaN where not logged). `silent[k]`: between sample k and k+1 nothing ran; `hole[k]`:
    nothing is known of the time between them. `tick` is the usual distance.
    """

    time: Floats
    load: Floats
    running: Floats
    prompt: Floats
    generation: Floats
    silent: Flags
    hole: Flags
    tick: float

    def __len__(self) -> int:
        return len(self.time)


def steady(time: Floats) -> Floats:
    """Moments of whole seconds put back on their tick; others, and those on no tick, as they are."""
    if len(time) < FEWEST or not np.array_equal(time, np.floor(time)):
        return time
    tick = _tick(time)
    moments = time + 0.5
    cuts = np.flatnonzero(np.diff(time) > GAP * tick + 1)
    for part in np.split(np.arange(len(time)), cuts + 1):
        moments[part] = _placed(time[part])
    ordered: Floats = np.maximum.accumulate(moments)
    return ordered


def curve_of(samples: Floats, *, silent_when_idle: bool) -> Curve:
    """One engine's samples as a curve.

    `samples` (K, 5): time, running, waiting, prompt and generation tokens/s, NaN where not known.
    `silent_when_idle`: the engine writes nothing while it has nothing to do.
    """
    ordered = samples[np.argsort(samples[:, 0], kind="stable")]
    time = steady(ordered[:, 0])
    tick = _tick(time)
    running, waiting, prompt, generation = ordered[:, 1:].T
    load = np.nan_to_num(running) + np.nan_to_num(waiting)
    far = np.diff(time) > max(GAP * tick, SHORTEST_GAP if silent_when_idle else 0.0)
    stopped = (load[:-1] == 0) & ~(np.nan_to_num(generation[:-1]) > 0)
    silent = far & (stopped | silent_when_idle)
    return Curve(time, load, running, prompt, generation, silent, far & ~silent, tick)


def fleet_of(curves: Sequence[Curve]) -> Curve:
    """The sum of several engines on common moments. Before its first and after its last sample an engine
    counts as having nothing to do."""
    if len(curves) == 1:
        return curves[0]
    tick = sorted(c.tick for c in curves)[(len(curves) - 1) // 2]
    moments = _common(np.sort(np.concatenate([c.time for c in curves])), tick)
    load, running, prompt, generation = (np.zeros(len(moments)) for _ in range(4))
    hole = np.zeros(max(0, len(moments) - 1), dtype=bool)
    silent = np.diff(moments) > GAP * tick
    for c in curves:
        load += at(c, c.load, moments)
        running += at(c, np.nan_to_num(c.running), moments)
        prompt += at(c, c.prompt, moments)
        generation += at(c, c.generation, moments)
        hole |= _touched(c, c.hole, moments, 0.0)
        silent &= ~_touched(c, ~c.silent & ~c.hole, moments, TOUCH)
    return Curve(moments, load, running, prompt, generation, silent & ~hole, hole, tick)


def _touched(curve: Curve, flags: Flags, moments: Floats, least: float) -> Flags:
    """Which stretches between neighbouring moments share more than `least` seconds with a flagged one of the
    curve."""
    count = np.concatenate([[0], np.cumsum(flags)])
    first = np.searchsorted(curve.time, moments[:-1] + least, side="right") - 1
    last = np.searchsorted(curve.time, moments[1:] - least, side="left")
    low, high = np.clip(first, 0, len(flags)), np.clip(last, 0, len(flags))
    found: Flags = (count[high] > count[low]) & (high > low)
    return found


def at(curve: Curve, values: Floats, moments: Floats) -> Floats:
    """Values of a curve at other moments: straight between samples, 0 in silence and outside its life."""
    found = np.interp(moments, curve.time, values, left=0.0, right=0.0)
    where = np.clip(np.searchsorted(curve.time, moments, side="right") - 1, 0, max(0, len(curve) - 2))
    if len(curve) > 1:
        inside = (moments > curve.time[where]) & (moments < curve.time[where + 1])
        found[inside & curve.silent[where]] = 0.0
    return found


def _common(time: Floats, tick: float) -> Floats:
    kept: list[float] = []
    for moment in time.tolist():
        if not kept or moment - kept[-1] >= SAME * tick:
            kept.append(moment)
    return np.array(kept)


def _tick(time: Floats) -> float:
    gaps = np.sort(np.diff(time))
    gaps = gaps[gaps > 0]
    return float(gaps[(len(gaps) - 1) // 2]) if len(gaps) else 1.0  # of few gaps not the mean with a pause


def _placed(seconds: Floats) -> Floats:
    """Moments `t0 + D*j` in all of `[second, second + 1)`; of a tick that drifts, piece by piece.

    A gap of two seconds at a tick of one may be a lost line or two ticks of 1.01 s: every line one tick is
    tried first.
    """
    n = len(seconds)
    if n < FEWEST:
        return seconds + 0.5
    gaps = np.diff(seconds)
    usual = max(1.0, float(np.median(gaps)))
    for counts in (
        np.where(gaps < GAP * usual, 1.0, np.round(gaps / usual)),
        np.maximum(1.0, np.round(gaps / usual)),
    ):
        j = np.concatenate([[0.0], np.cumsum(counts)])
        room, start, tick = _fitted(seconds, j)
        if room > 0:
            placed: Floats = start + tick * j
            return placed
    middle = n // 2
    return np.concatenate([_placed(seconds[:middle]), _placed(seconds[middle:])])


def _fitted(seconds: Floats, j: Floats) -> tuple[float, float, float]:
    """(room for t0, the middle of it, D) at the D that leaves most room, which is concave in D."""
    low, high = ((float(seconds[-1] - seconds[0]) + d) / float(j[-1]) for d in (-1.0, 1.0))
    for _ in range(60):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if _room(seconds, j, a)[0] < _room(seconds, j, b)[0]:
            low = a
        else:
            high = b
    tick = (low + high) / 2
    return (*_room(seconds, j, tick), tick)


def _room(seconds: Floats, j: Floats, tick: float) -> tuple[float, float]:
    """How much room t0 has at this tick, and its middle."""
    first, last = float((seconds - tick * j).max()), float((seconds + 1 - tick * j).min())
    return last - first, (first + last) / 2


__all__ = ["GAP", "Curve", "at", "curve_of", "fleet_of", "steady"]
