"""Length distributions of several runs over the same bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rollprof.analyzers.results import Lengths

BINS = 40


@dataclass(frozen=True, slots=True)
class Overlay:
    """Shares of the rollouts per bin, `shares[r][i]` between `edges[i]` and `edges[i + 1]` in run `r`.

    Bins are log-spaced and the same for all runs. `shares[r]` is empty for a run without lengths.
    """

    unit: str
    edges: tuple[float, ...]
    shares: tuple[tuple[float, ...], ...]
    quantiles: tuple[tuple[float, ...], ...]
    """0 to 100 % of each run, 101 values or none."""


def overlay(lengths: Sequence[Lengths]) -> Overlay | None:
    """The distributions of runs whose lengths are in the same unit; None where fewer than two are."""
    known = [one for one in lengths if one.ecdf]
    if not known:
        return None
    unit = known[0].unit
    kept = [one.ecdf if one.unit == unit else () for one in lengths]
    usable = [q for q in kept if q]
    if len(usable) < 2:
        return None
    low = max(1.0, min(q[0] for q in usable))
    high = max(max(q[-1] for q in usable), 2 * low)
    edges = np.geomspace(low, high, BINS + 1)
    shares = tuple(_shares(q, edges) if q else () for q in kept)
    return Overlay(unit, tuple(edges.tolist()), shares, tuple(tuple(q) for q in kept))


def _shares(quantiles: Sequence[float], edges: np.typing.NDArray[np.float64]) -> tuple[float, ...]:
    """From the quantiles: many rollouts of one length are a jump, which belongs to one bin."""
    values = np.asarray(quantiles, dtype=np.float64)
    # what lies below an edge: strictly, so that a jump at an edge falls into the bin that begins there
    at = np.arange(len(values), dtype=np.float64) / (len(values) - 1)
    distinct, first = np.unique(values, return_index=True)
    below = np.interp(edges, distinct, at[first], left=0.0)
    below[0] = 0.0
    below[-1] = 1.0
    return tuple(np.diff(below).tolist())
