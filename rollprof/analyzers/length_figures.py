"""Length figures from logged aggregates alone: what a console log without rollouts still says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.catalog.lengths import LENGTH_FIGURES
from rollprof.analyzers.combine import exact
from rollprof.analyzers.results import Figure, StepFigure
from rollprof.analyzers.run_data import RunData

Floats = NDArray[np.float64]

RUN_NAMES: tuple[str, ...] = tuple(f.name for f in LENGTH_FIGURES)
LOGGED: Mapping[str, str] = {
    "response_tokens_mean": "response_tokens_mean",
    "response_tokens_min": "response_tokens_min",
    "response_tokens_max": "response_tokens_max",
    "truncated_share": "truncated_share",
}
"""Figure: the column of steps that is its logged aggregate."""


@dataclass(frozen=True, slots=True)
class AggregateLengths:
    """Figures of the run, and columns (S,) from which those of a step are taken."""

    figures: Mapping[str, Figure]
    columns: Mapping[str, Floats]

    def step(self, i: int) -> dict[str, StepFigure]:
        """The figures of the i-th step."""
        return {
            name: StepFigure(float(v[i]), "logged", (float(v[i]), float(v[i])))
            for name, v in self.columns.items()
            if not np.isnan(v[i])
        }


def from_aggregates(run: RunData) -> AggregateLengths:
    """Mean and truncated share weighted by rollouts, the least minimum, the greatest maximum."""
    columns = {name: run.column(column) for name, column in LOGGED.items() if run.has(column)}
    figures: dict[str, Figure] = {}
    weights, note = _weights(run)
    for name, values in columns.items():
        known = ~np.isnan(values)
        if name.endswith(("_min", "_max")):
            value = float(values[known].min() if name.endswith("_min") else values[known].max())
            figures[name] = exact(name, value, "logged", int(known.sum()))
            continue
        use = known & (weights > 0)
        if use.any():
            value = float(np.average(values[use], weights=weights[use]))
            figures[name] = exact(name, value, "logged", int(use.sum()), note=note)
    return AggregateLengths(figures, columns)


def _weights(run: RunData) -> tuple[Floats, str]:
    """Rollouts per step; equal weights, and a word on it, where some step does not say."""
    counts = run.column("rollouts")
    if np.isnan(counts).any():
        return np.ones(len(run)), "rollouts per step unknown: steps weigh the same"
    return counts, ""
