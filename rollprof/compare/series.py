"""What a comparison needs of a run: every figure over the run and step by step. Small enough for a file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.results import Analysis, Basis, Figure, StepResult

Floats = NDArray[np.float64]

MOST_STEPS = 256
"""Steps that are kept of a longer run, evenly spread: enough for every interval, and a file stays small."""


@dataclass(frozen=True, slots=True)
class FigureSeries:
    """One figure: over the run, and `values[i]` of `RunSeries.steps[i]` (None where it has none).

    `values` is empty for a figure that has no value per step. `interval` as in `results.Figure`.
    """

    value: float | None
    unit: str
    basis: Basis | None
    interval: tuple[float, float] | None = None
    values: tuple[float | None, ...] = ()

    @property
    def known(self) -> bool:
        """It has a value or a bracket."""
        return self.value is not None or self.interval is not None


@dataclass(frozen=True, slots=True)
class RunSeries:
    """The figures of one run. `of_steps` steps there were, of which `steps` are kept.

    `rollouts_per_step` is the mean over the run, for steps that do not say how many they had.
    """

    steps: tuple[int, ...]
    of_steps: int
    rollouts_per_step: float | None
    figures: Mapping[str, FigureSeries] = field(default_factory=dict)

    def column(self, name: str) -> Floats:
        """The values of a figure step by step (S,), NaN where there is none."""
        found = self.figures.get(name)
        if found is None or not found.values:
            return np.full(len(self.steps), np.nan)
        return np.array([math.nan if v is None else v for v in found.values], dtype=np.float64)

    def rollouts(self) -> Floats:
        """Rollouts of each step (S,); the run's mean where a step does not say, NaN where nobody does."""
        logged = self.column("rollouts")
        return np.where(np.isnan(logged), self.rollouts_per_step or math.nan, logged)

    def span_s(self) -> Floats:
        """Seconds from the first start to the last completion of each step's rollouts (S,), NaN unknown.

        From the clock of the rollouts (`tail_time_s / tail_time_share` is T), else as logged.
        """
        slowest = self.column("rollout_s_max")
        share = self.figures.get("tail_time_share")
        if share is None or share.basis not in ("measured", "logged"):
            return slowest
        with np.errstate(divide="ignore", invalid="ignore"):
            clock = self.column("tail_time_s") / self.column("tail_time_share")
        return np.where(np.isfinite(clock), clock, slowest)

    def generate_s(self) -> Floats:
        """Seconds of each step's generation (S,): as logged, else what the rollouts took."""
        logged = self.column("generate_s")
        return np.where(np.isnan(logged), self.span_s(), logged)


def series_of(analysis: Analysis, *, skip: int = 0) -> RunSeries:
    """The series of an analysis, without its first `skip` steps; figures over the run stay as they are."""
    steps = list(analysis.steps)[skip:]
    kept = _spread(steps)
    run = analysis.run
    figures = {name: _series(name, figure, kept) for name, figure in analysis.figures.items()}
    return RunSeries(
        steps=tuple(s.step for s in kept),
        of_steps=len(steps),
        rollouts_per_step=run.rollouts / run.steps if run.rollouts and run.steps else None,
        figures={name: series for name, series in figures.items() if series.known},
    )


def _spread(steps: Sequence[StepResult]) -> list[StepResult]:
    if len(steps) <= MOST_STEPS:
        return list(steps)
    at = np.linspace(0, len(steps) - 1, MOST_STEPS).round().astype(int)
    return [steps[i] for i in at.tolist()]


def _series(name: str, figure: Figure, steps: Sequence[StepResult]) -> FigureSeries:
    values = tuple(step_value(step, name) for step in steps)
    kept = values if any(v is not None for v in values) else ()
    value = figure.value if figure.value is not None and math.isfinite(figure.value) else None
    ends = figure.interval if figure.interval is not None and np.isfinite(figure.interval).all() else None
    return FigureSeries(value, figure.unit, figure.basis, ends, kept)


def step_value(step: StepResult, name: str) -> float | None:
    """The value of a figure in one step: the figure, else the column of that name."""
    figure = step.figures.get(name)
    value = figure.value if figure is not None else step.columns.get(name)
    return None if value is None or not math.isfinite(value) else float(value)
