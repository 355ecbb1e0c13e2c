"""Figures of each inference engine by itself, over the generations in which the fleet's are measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.registry import spec
from rollprof.analyzers.results import EngineResult, Figure
from rollprof.curves.area import busy_area, sampling_error
from rollprof.curves.ticks import GAP, Curve
from rollprof.curves.windows import Window, capacity_of

Floats = NDArray[np.float64]

TOP = 0.95
KV = 5
"""Column of the KV cache in an engine's rows."""


@dataclass(frozen=True, slots=True)
class _Stay:
    """One engine in one window: slot-seconds used, when it was done, and what its samples add up to."""

    seconds: float
    used: float
    done: float
    tokens: float
    queued: float
    asked: float
    error: float


def per_engine(
    own: Mapping[str, Curve], raw: Mapping[str, Floats], windows: Sequence[Window], slots: float | None
) -> list[EngineResult]:
    """Each engine's slot_idle, engine_idle, throughput_idle, queue_share and kv_usage_max.

    `own` and `raw` are each engine's curve and rows (K, 6) of time, running, waiting, prompt and generation
    tokens/s and KV cache; `slots` those of one engine, where that is known, else the most that any of them
    ever ran. Windows before an engine's first or after its last sample are not its own. Over the run,
    figures are weighted by time.
    """
    capacity = max((capacity_of(c, slots) for c in own.values()), default=1.0)
    found = []
    for name, curve in own.items():
        mine = [w for w in windows if alive(curve, w)]
        stays = [_stay(curve, w, capacity) for w in mine]
        best = best_pace([curve.generation[slice(*_within(curve, w.start, w.end))] for w in mine])
        figures = _figures(stays, capacity, best)
        kv = kv_most(raw[name], mine)
        if kv is not None:
            figures.append(Figure("kv_usage_max", kv, "fraction", "measured", n=len(mine), interval=(kv, kv)))
        found.append(EngineResult(name, {f.name: f for f in figures}))
    return found


def alive(curve: Curve, w: Window) -> bool:
    """Whether an engine was running in a window, as far as its samples tell."""
    return bool(curve.time[0] <= w.end and curve.time[-1] >= w.start - w.tick)


def done(curve: Curve, w: Window) -> float:
    """When an engine had nothing left to do in a window: half a tick after its last sample with a load."""
    first, after = _within(curve, w.start, w.end)
    loaded = np.flatnonzero(curve.load[first:after] > 0)
    if not len(loaded):
        return w.start
    last = first + int(loaded[-1])
    half = float(curve.time[last]) + min(w.tick, curve.tick) / 2
    if last + 1 >= len(curve):  # an engine whose log ends before the others' has nothing more to do
        return half if half + GAP * curve.tick < w.end else w.end
    if curve.time[last + 1] <= w.end:
        return float((curve.time[last] + min(curve.time[last + 1], curve.time[last] + w.tick)) / 2)
    return w.end if curve.load[last + 1] > 0 and not curve.silent[last] else half


def _within(curve: Curve, start: float, end: float) -> tuple[int, int]:
    """The samples from `start` to `end`, both included, as a range of indices."""
    first, after = np.searchsorted(curve.time, start), np.searchsorted(curve.time, end, "right")
    return int(first), int(after)


def kv_most(rows: Floats, windows: Sequence[Window]) -> float | None:
    """The fullest that the KV cache of one engine was in these windows."""
    found = [np.nan]
    for w in windows:
        first, last = np.searchsorted(rows[:, 0], w.start - 1), np.searchsorted(rows[:, 0], w.end, "right")
        found += rows[first:last, KV].tolist()
    known = [v for v in found if math.isfinite(v)]
    return max(known) if known else None


def _stay(curve: Curve, w: Window, capacity: float) -> _Stay:
    end = min(done(curve, w), w.end)
    at = slice(*_within(curve, w.start, end))
    time, load = curve.time[at], curve.load[at]
    used = 0.0
    if len(time):
        used = busy_area(time, load, capacity, float(time[0]), end)
        used += min(float(load[0]), capacity) * (float(time[0]) - w.start)
    near = slice(*_within(curve, w.start, w.end + w.tick))
    width = np.minimum(np.diff(curve.time[near], prepend=w.start - w.tick), w.tick)
    waiting = load - np.nan_to_num(curve.running[at])
    return _Stay(
        w.seconds,
        used,
        max(0.0, end - w.start),
        float(np.nan_to_num(curve.generation[near]) @ width),
        float(waiting.sum()),
        float(load.sum()),
        sampling_error(w.tick, w.seconds) * w.seconds,
    )


def best_pace(parts: Sequence[Floats]) -> float:
    """The 95th percentile of decode throughput, in generation only (`parts` of a curve); nan without any."""
    values = np.concatenate(parts) if parts else np.empty(0)
    values = values[np.isfinite(values)]
    return float(np.quantile(values, TOP)) if len(values) else math.nan


def _figures(stays: Sequence[_Stay], capacity: float, best: float) -> list[Figure]:
    seconds = sum(s.seconds for s in stays)
    if not seconds > 0:
        return []
    half = sum(s.error for s in stays) / seconds
    found = [
        _share("slot_idle", 1 - sum(s.used for s in stays) / (capacity * seconds), half, len(stays)),
        _share("engine_idle", 1 - sum(s.done for s in stays) / seconds, half, len(stays)),
    ]
    tokens, asked = sum(s.tokens for s in stays), sum(s.asked for s in stays)
    if best > 0 and tokens > 0:
        found.append(_share("throughput_idle", 1 - tokens / seconds / best, half, len(stays)))
    if asked > 0:
        found.append(_share("queue_share", sum(s.queued for s in stays) / asked, half, len(stays)))
    return found


def _share(name: str, value: float, half: float, n: int) -> Figure:
    value = min(1.0, max(0.0, value))
    ends = (max(0.0, value - half), min(1.0, value + half))
    return Figure(name, value, spec(name).unit, "measured", n=n, interval=ends)


__all__ = ["alive", "best_pace", "done", "kv_most", "per_engine"]
