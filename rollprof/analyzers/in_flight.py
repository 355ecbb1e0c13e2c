"""Rollouts in flight over a step: the curve of a typical step and of the worst one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.generations import Generation
from rollprof.analyzers.results import InFlight
from rollprof.analyzers.run_data import RunData
from rollprof.analyzers.waits import Wait, completions_of
from rollprof.model.clock import clock_idle, t90

Floats = NDArray[np.float64]

POINTS = 300
"""Points of a curve: more than a plot can show of a step function, few enough for a report."""


def in_flight(run: RunData, found: Sequence[Wait], idle: Mapping[int, float]) -> list[InFlight]:
    """Curves of the step with the median slot idle and of the one with the largest.

    `idle` is slot_idle by index of the step, whatever its basis. Steps with times come first: a curve
    from lengths is drawn only where no step has one from a clock.
    """
    clocked = [w for w in found if w.last is not None and w.basis != "modelled"]
    cases = clocked or [w for w in found if w.last is not None]
    ranked = sorted((idle.get(w.generation.index, w.empty or 0.0), i) for i, w in enumerate(cases))
    if not ranked:
        return []
    curves = (
        _curve(run, cases[ranked[(len(ranked) - 1) // 2][1]].generation, "typical"),
        _curve(run, cases[ranked[-1][1]].generation, "worst"),
    )
    return [c for c in curves if c is not None]


def _curve(run: RunData, g: Generation, kind: Literal["typical", "worst"]) -> InFlight | None:
    c = completions_of(run, g)
    if c is None:
        return None
    capacity = run.facts.capacity(c.of)
    clock = clock_idle(c.start, c.finish, capacity)
    keep = _thinned(clock.time_s)
    return InFlight(
        step=int(run.steps[g.index]),
        kind=kind,
        time_s=tuple(clock.time_s[keep].tolist()),
        running=tuple(clock.in_flight[keep].astype(float).tolist()),
        capacity=float(capacity),
        t90_s=t90(c.finish),
        end_s=c.end,
        basis=c.basis,
        unit=c.unit,
    )


def _thinned(times: Floats) -> NDArray[np.intp]:
    """Points to keep: half evenly spaced in number, half in time, first and last always."""
    n = len(times)
    if n <= POINTS:
        return np.arange(n)
    by_number = np.linspace(0, n - 1, POINTS // 2).round().astype(np.intp)
    grid = np.linspace(times[0], times[-1], POINTS // 2)
    by_time = np.clip(np.searchsorted(times, grid, side="right") - 1, 0, n - 1)
    return np.union1d(by_number, by_time)
