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
from rollprof.curves.ticks import Curve
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
        figures = _figures(stays, capacity, _best(curve, mine))
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
    inside = np.flatnonzero((curve.time >= w.start) & (curve.time <= w.end) & (curve.load > 0))
    if not len(inside):
        return w.start
    last = int(inside[-1])
    if last + 1 < len(curve) and curve.time[last + 1] <= w.end:
        return float((curve.time[last] + min(curve.time[last + 1], curve.time[last] + w.tick)) / 2)
    return (
        w.end if last + 1 >= len(curve) or curve.load[last + 1] > 0 else float(curve.time[last]) + w.tick / 2
    )


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
    at = np.flatnonzero((curve.time >= w.start) & (curve.time <= end))
    used = 0.0
    if len(at):
        first = float(curve.time[at[0]])
        load = curve.load[at]
        used = busy_area(curve.time[at], load, capacity, first, end)
        used += min(float(load[0]), capacity) * (first - w.start)
    near = np.flatnonzero((curve.time > w.start) & (curve.time <= w.end + w.tick))
    width = np.minimum(np.diff(curve.time, prepend=-np.inf)[near], w.tick)
    waiting = curve.load[at] - np.nan_to_num(curve.running[at])
    return _Stay(
        w.seconds,
        used,
        max(0.0, end - w.start),
        float(np.nan_to_num(curve.generation[near]) @ width),
        float(waiting.sum()),
        float(curve.load[at].sum()),
        sampling_error(w.tick, w.seconds) * w.seconds,
    )


def _best(curve: Curve, windows: Sequence[Window]) -> float:
    inside = np.zeros(len(curve), dtype=bool)
    for w in windows:
        inside |= (curve.time >= w.start) & (curve.time <= w.end)
    values = curve.generation[inside]
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


__all__ = ["alive", "done", "kv_most", "per_engine"]
