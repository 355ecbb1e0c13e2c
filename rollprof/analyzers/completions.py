"""When the rollouts of a step were submitted and done, on the best basis that the log gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.generations import Generation
from rollprof.analyzers.results import Basis
from rollprof.analyzers.run_data import RunData

Floats = NDArray[np.float64]

MISSING = 0.05
"""Share of a step's rollouts that may lack a time; beyond it the step's times do not speak for the step."""


@dataclass(frozen=True, slots=True)
class Completions:
    """`start` and `finish` (n,) in seconds (or tokens) from the first submission; `end` is T, the last.

    `at` (n,) are positions in the run's rollouts; `of` how many rollouts the step has.
    """

    start: Floats
    finish: Floats
    at: NDArray[np.intp]
    end: float
    basis: Basis
    unit: str
    of: int
    note: str = ""


def timed(run: RunData, g: Generation) -> Completions | None:
    """From the rollouts' own clocks or durations; None without them.

    Start and end of each rollout: measured. Its end alone, with the duration of a synchronous step's
    generation, or its duration alone in a synchronous step, where all are submitted together: logged.
    """
    if g.span is None or g.reason:
        return None
    start, finish = _part(run.rollouts.start, g.span), _part(run.rollouts.finish, g.span)
    if start is not None and finish is not None:
        found = _between(start, finish, g.span, "measured")
        if found is not None:
            return found
    if run.facts.mode != "sync":
        return None
    if finish is not None and g.generate_s > 0:
        begun = np.full(len(finish), float(np.nanmax(finish)) - g.generate_s)
        found = _between(np.minimum(begun, finish), finish, g.span, "logged")
        if found is not None:
            return found
    took = _part(run.rollouts.duration, g.span)
    if took is None:
        return None
    return _between(np.zeros(len(took)), took, g.span, "logged", "all rollouts taken as submitted together")


def by_length(run: RunData, g: Generation, seconds: float | None) -> Completions | None:
    """Completion proportional to length, `f_i = T*L_i/max L`; in tokens (or characters) without T."""
    if g.span is None or g.reason:
        return None
    L = run.rollouts.length[g.span]
    known = np.flatnonzero(~np.isnan(L))
    longest = float(L[known].max()) if len(known) else 0.0
    if longest <= 0 or len(known) < (1 - MISSING) * len(L):
        return None
    scale, unit = (seconds / longest, "s") if seconds else (1.0, run.rollouts.unit)
    finish = L[known] * scale
    return Completions(
        np.zeros(len(known)), finish, known + g.span.start, longest * scale, "modelled", unit, len(L)
    )


def _part(values: Floats | None, span: slice) -> Floats | None:
    if values is None:
        return None
    part = values[span]
    return None if np.isnan(part).all() else part


def _between(start: Floats, finish: Floats, span: slice, basis: Basis, note: str = "") -> Completions | None:
    with np.errstate(invalid="ignore"):
        good = np.flatnonzero(finish >= start)
    if len(good) < (1 - MISSING) * len(start) or not len(good):
        return None
    first = float(start[good].min())
    s, f = start[good] - first, finish[good] - first
    end = float(f.max())
    if end <= 0:
        return None
    lost = len(start) - len(good)
    notes = [note] if note else []
    if lost:
        notes.append(f"{lost} of {len(start)} rollouts without a time left out")
    return Completions(s, f, good + span.start, end, basis, "s", len(start), "; ".join(notes))
