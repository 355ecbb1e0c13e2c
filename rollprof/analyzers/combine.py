"""From figures of steps to figures of the run: which basis, which weight, which interval.

An interval says what the log leaves open about *this* run, not what another run would give. A figure that
is known exactly has an interval of zero width; one that is only a bound reaches from the bound to what is
known on the other side; a calibrated one carries the interval of its calibration; a bracket is all there
is where only lengths are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.registry import spec
from rollprof.analyzers.results import BASES, Basis, Bound, Figure, StepFigure, weaker

Floats = NDArray[np.float64]

FEW = 0.1
"""Share of the weight up to which steps on a weaker basis are left out, not to weaken the run's figure."""
HALF = 0.5
"""Share of the weight that steps with a value need to speak for a run whose other steps are brackets."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """A figure of one step and the weight it has in the run."""

    figure: StepFigure
    weight: float


def exact(
    name: str,
    value: float | None,
    basis: Basis | None,
    n: int,
    *,
    unit: str | None = None,
    others: Mapping[str, float | tuple[float, float]] | None = None,
    note: str = "",
) -> Figure:
    """A figure that is known exactly on its basis: an interval of zero width."""
    if value is None or not np.isfinite(value):
        return absent(name, note, unit=unit)
    value = float(value)
    return Figure(name, value, unit or spec(name).unit, basis, None, n, (value, value), others or {}, note)


def absent(name: str, note: str = "", *, unit: str | None = None) -> Figure:
    """A figure that this log cannot give."""
    return Figure(name, None, unit or spec(name).unit, None, note=note)


def weighted_mean(
    name: str,
    items: Sequence[Weighted],
    *,
    others: Mapping[str, float | tuple[float, float]] | None = None,
    note: str = "",
    unit: str | None = None,
) -> Figure:
    """The run's figure: the weighted mean of its steps' values, or of their brackets where most lack a value.

    Steps whose basis is weaker than that of nine tenths of the weight are left out, and the note says so.
    """
    usable = [w for w in items if w.weight > 0 and (w.figure.value is not None or w.figure.interval)]
    valued = [w for w in usable if w.figure.value is not None]
    if sum(w.weight for w in valued) < HALF * sum(w.weight for w in usable) or not valued:
        return _bracket(name, usable, others or {}, note, unit)
    kept = _strongest(valued)
    weights = np.array([w.weight for w in kept])
    weights /= weights.sum()
    value = float(weights @ np.array([w.figure.value for w in kept], dtype=np.float64))
    low, high = _ends(kept, weights)
    notes = [note] if note else []
    if len(kept) < len(usable):
        notes.append(f"from {len(kept)} of {len(usable)} steps; the others are known less well")
    return Figure(
        name,
        value,
        unit or spec(name).unit,
        weaker(*(w.figure.basis for w in kept)),
        _bound(kept),
        len(kept),
        (min(low, value), max(high, value)),
        others or {},
        "; ".join(notes),
    )


def total(name: str, items: Sequence[StepFigure], *, of: int, note: str = "") -> Figure:
    """The run's figure as a sum over steps; `of` is how many steps there are, those that lack it included."""
    known = [f for f in items if f.value is not None or f.interval is not None]
    if not known:
        return absent(name, note)
    ends = np.array([_interval(f) for f in known], dtype=np.float64).sum(axis=0)
    values = [f.value for f in known if f.value is not None]
    value = float(sum(values)) if len(values) == len(known) else None
    notes = [note] if note else []
    if len(known) < of:
        notes.append(f"from {len(known)} of {of} steps")
    return Figure(
        name,
        value,
        spec(name).unit,
        weaker(*(f.basis for f in known)),
        _bound([Weighted(f, 1.0) for f in known]),
        len(known),
        (float(ends[0]), float(ends[1])),
        {},
        "; ".join(notes),
    )


def mean_of(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Weighted mean of (value, weight); None without weight."""
    total = sum(w for _, w in pairs)
    return sum(v * w for v, w in pairs) / total if total > 0 else None


def mean_bracket(brackets: Sequence[tuple[tuple[float, float], float]]) -> tuple[float, float] | None:
    """Weighted mean of brackets, end by end: the mean lies between the two whatever each step is."""
    low = mean_of([(b[0], w) for b, w in brackets])
    high = mean_of([(b[1], w) for b, w in brackets])
    return None if low is None or high is None else (low, high)


def _strongest(valued: Sequence[Weighted]) -> list[Weighted]:
    """All, or those on the strongest bases where these make up nearly all of the weight."""
    total = sum(w.weight for w in valued)
    for i in range(len(BASES)):
        kept = [w for w in valued if w.figure.basis in BASES[: i + 1]]
        if sum(w.weight for w in kept) >= (1 - FEW) * total:
            return kept
    return list(valued)


def _ends(kept: Sequence[Weighted], weights: Floats) -> tuple[float, float]:
    ends = np.array([_interval(w.figure) for w in kept], dtype=np.float64)
    return float(weights @ ends[:, 0]), float(weights @ ends[:, 1])


def _interval(figure: StepFigure) -> tuple[float, float]:
    if figure.interval is not None:
        return figure.interval
    assert figure.value is not None
    return figure.value, figure.value


def _bound(kept: Sequence[Weighted]) -> Bound | None:
    """A bound of the run only where its steps bound to the same side (or are exact)."""
    found = {w.figure.bound for w in kept}
    found.discard(None)
    return next(iter(found)) if len(found) == 1 else None


def _bracket(
    name: str,
    usable: Sequence[Weighted],
    others: Mapping[str, float | tuple[float, float]],
    note: str,
    unit: str | None,
) -> Figure:
    pairs = [(_interval(w.figure), w.weight) for w in usable]
    found = mean_bracket(pairs)
    if found is None:
        return absent(name, note, unit=unit)
    basis = weaker(*(w.figure.basis for w in usable))
    return Figure(name, None, unit or spec(name).unit, basis, None, len(usable), found, others, note)
