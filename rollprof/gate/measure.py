"""The number that a rule compares: a figure of the run, or what one makes of its steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rollprof.analyzers.missing import said
from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import BASES, Analysis, Basis, Bound, StepFigure, StepResult, weaker
from rollprof.compare.change import STATISTICS, Aggregate

LOGGED: Basis = "logged"


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure as a rule sees it: `value` None where only the interval is known. `steps` have the figure.

    `worst` is the step with the largest value and `best` the one with the smallest, each with that value.
    """

    value: float | None
    interval: tuple[float, float]
    unit: str
    basis: Basis | None
    bound: Bound | None
    steps: int
    worst: tuple[int, float] | None = None
    best: tuple[int, float] | None = None
    note: str = ""


def measure(
    analysis: Analysis, name: str, aggregate: Aggregate = "run", *, allow_modelled: bool = False
) -> Measured | str:
    """The figure of this analysis, or in a sentence why it has none.

    With `allow_modelled` the value of a modelled figure (the upper end of its bracket) stands for it.
    """
    figure = analysis.figures.get(name)
    steps = _steps(analysis, name)
    worst, best = _extremes(steps)
    if aggregate == "run":
        if figure is None or (figure.value is None and figure.interval is None):
            return (figure.note if figure is not None else "") or "not in this log"
        count = len(steps) or analysis.run.steps
        interval, bound, note = figure.interval, figure.bound, figure.note
        if interval is None or (allow_modelled and figure.basis == "modelled" and figure.value is not None):
            assert figure.value is not None
            if interval is not None and interval[0] < interval[1]:
                bound, note = (
                    None,
                    "; ".join(n for n in (note, "the upper end of its range stands for it") if n),
                )
            interval = (figure.value, figure.value)
        return Measured(figure.value, interval, figure.unit, figure.basis, bound, count, worst, best, note)
    if not REGISTRY[name].per_step:
        return f"has no value per step to take the {aggregate} of"
    if not steps:
        return (figure.note if figure is not None else "") or "not in this log"
    unit = figure.unit if figure is not None else REGISTRY[name].unit
    return _over_steps([f for _, f in steps], aggregate, unit, worst, best)


def _steps(analysis: Analysis, name: str) -> list[tuple[int, StepFigure]]:
    found = ((step.step, _of_step(step, name)) for step in analysis.steps)
    return [(n, f) for n, f in found if f is not None and (f.value is not None or f.interval is not None)]


def _of_step(step: StepResult, name: str) -> StepFigure | None:
    if name in step.figures:
        return step.figures[name]
    value = step.columns.get(name)
    if value is None or not math.isfinite(value):
        return None
    return StepFigure(float(value), LOGGED, (float(value), float(value)))


def _ends(figure: StepFigure) -> tuple[float, float]:
    if figure.interval is not None:
        return figure.interval
    assert figure.value is not None
    return figure.value, figure.value


def _extremes(
    steps: list[tuple[int, StepFigure]],
) -> tuple[tuple[int, float] | None, tuple[int, float] | None]:
    known = [(n, f.value if f.value is not None else _ends(f)[1]) for n, f in steps]
    if not known:
        return None, None
    return max(known, key=lambda s: s[1]), min(known, key=lambda s: s[1])


def _over_steps(
    steps: list[StepFigure],
    aggregate: Aggregate,
    unit: str,
    worst: tuple[int, float] | None,
    best: tuple[int, float] | None,
) -> Measured:
    """Each of the statistics grows with every step's value, so it maps ends of intervals to ends."""
    statistic = STATISTICS[aggregate]
    low = float(statistic(np.array([_ends(f)[0] for f in steps])))
    high = float(statistic(np.array([_ends(f)[1] for f in steps])))
    values = [f.value for f in steps]
    value = float(statistic(np.array(values, dtype=np.float64))) if None not in values else None
    bounds = {f.bound for f in steps} - {None}
    bound = next(iter(bounds)) if len(bounds) == 1 else None
    return Measured(
        value, (low, high), unit, weaker(*(f.basis for f in steps)), bound, len(steps), worst, best
    )


def strong_enough(basis: Basis | None, required: Basis) -> bool:
    """Whether a figure on `basis` may decide where `required` is asked for."""
    return basis is not None and BASES.index(basis) <= BASES.index(required)


def ways(name: str, analysis: Analysis, *, better: bool = False) -> str:
    """The framework's options that would bring a figure, "" where none is known.

    For an absent figure those that the analysis names. `better` asks for those of a stronger basis: what
    the first alternative lacks that can be brought.
    """
    if not better:
        for item in analysis.missing:
            if item.figure == name and item.enable:
                return item.enable
    for group in REGISTRY[name].needs:
        lacking = [need for need in group if need not in analysis.have]
        options = [said(need, analysis.brings) for need in lacking]
        known = [option for option in options if option]
        if lacking and len(known) == len(lacking):
            return "; ".join(dict.fromkeys(known))
    return ""
