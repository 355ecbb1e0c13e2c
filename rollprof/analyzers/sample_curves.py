"""What was sampled over time, cut to what a picture can show: means of neighbouring samples, gaps kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.results import EngineCurve, GpuBand
from rollprof.curves.ticks import Curve

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

POINTS = 800
"""Points of a curve: more than a screen has columns for."""
FEWEST_CELLS = 1e-3
"""Share of the time shown below which a pause between two generations cannot be seen."""


def engine_curve(name: str, curve: Curve, slots: float) -> EngineCurve:
    """Requests running and waiting in one engine; 0 where it was silent, None where samples are missing."""
    every = max(1, math.ceil(len(curve) / POINTS))
    time: list[float] = []
    running: list[float | None] = []
    waiting: list[float | None] = []

    def add(moment: float, run: float | None, wait: float | None) -> None:
        time.append(moment)
        running.append(run)
        waiting.append(wait)

    cuts = np.flatnonzero(curve.silent | curve.hole)
    for part in np.split(np.arange(len(curve)), cuts + 1):
        for at in np.split(part, range(every, len(part), every)):
            run = np.nan_to_num(curve.running[at])
            add(float(curve.time[at].mean()), float(run.mean()), float((curve.load[at] - run).mean()))
        last = int(part[-1])
        if last + 1 >= len(curve):
            continue
        if curve.hole[last]:
            add(float(curve.time[last]), None, None)
        else:
            half = min(curve.tick, float(curve.time[last + 1] - curve.time[last])) / 2
            add(float(curve.time[last]) + half, 0.0, 0.0)
            add(float(curve.time[last + 1]) - half, 0.0, 0.0)
    return EngineCurve(name, tuple(time), tuple(running), tuple(waiting), slots)


def joined_up(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Stretches of generation, those run together whose pause is too short to be seen."""
    ordered = sorted(spans)
    if not ordered:
        return []
    least = FEWEST_CELLS * (ordered[-1][1] - ordered[0][0])
    found = [ordered[0]]
    for start, end in ordered[1:]:
        if start - found[-1][1] <= least:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def gpu_band(table: pl.DataFrame) -> GpuBand | None:
    """Utilisation of all GPUs over time: mean, least and most in each of up to `POINTS` cells.

    `table` has `time` and `utilization`, in order of time. A cell without a sample is None.
    """
    if table.height < 2:
        return None
    time, used = table["time"].to_numpy(), table["utilization"].to_numpy()
    steps = np.diff(np.unique(time))
    whole = float(time[-1] - time[0])
    if not whole > 0:
        return None
    width = max(whole / POINTS, float(np.median(steps)))
    cell = ((time - time[0]) / width).astype(np.int64)
    cells = int(cell[-1]) + 1
    count = np.bincount(cell, minlength=cells)
    total = np.bincount(cell, used, minlength=cells)
    low, high = np.full(cells, np.inf), np.full(cells, -np.inf)
    np.minimum.at(low, cell, used)
    np.maximum.at(high, cell, used)
    known = count > 0

    def column(values: Floats) -> tuple[float | None, ...]:
        return tuple(float(v) if k else None for v, k in zip(values, known, strict=True))

    middle = time[0] + width * (np.arange(cells) + 0.5)
    mean = total / np.maximum(count, 1)
    return GpuBand(tuple(middle.tolist()), column(low), column(mean), column(high))


__all__ = ["POINTS", "engine_curve", "gpu_band", "joined_up"]
