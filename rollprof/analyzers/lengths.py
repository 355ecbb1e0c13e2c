"""Response lengths: quantiles, inequality, truncation and drift, per step and pooled over the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers import length_stats
from rollprof.analyzers.combine import absent, exact
from rollprof.analyzers.length_figures import LOGGED, RUN_NAMES, from_aggregates
from rollprof.analyzers.registry import spec
from rollprof.analyzers.results import Basis, Figure, Lengths, StepFigure
from rollprof.analyzers.run_data import RunData

Floats = NDArray[np.float64]

MIN_STEPS = 5
"""A slope over fewer steps is noise."""


@dataclass(frozen=True, slots=True)
class LengthResult:
    """`figures` of the run by name; `steps[i]` those of `run.steps[i]`."""

    lengths: Lengths
    figures: Mapping[str, Figure]
    steps: tuple[Mapping[str, StepFigure], ...]


def analyze_lengths(run: RunData) -> LengthResult:
    """Every length figure that the rollouts, or else the logged aggregates, allow."""
    ordered = length_stats.sorted_lengths(run.rollouts.length)
    unit = run.rollouts.unit
    logged = from_aggregates(run)
    if not len(ordered):
        steps = tuple(logged.step(i) for i in range(len(run)))
        figures = {name: logged.figures.get(name) or absent(name) for name in RUN_NAMES}
        figures.update(_drift(run, steps, "tokens"))
        cap = run.facts.response_cap
        return LengthResult(Lengths("tokens", None, None, None, (), cap), figures, steps)
    steps = tuple({**logged.step(i), **_step_figures(run, i)} for i in range(len(run)))
    figures = {**_pooled(run, ordered), **_truncation(run)}
    figures.update(_logged_first(run, figures, logged.figures))
    figures.update(_kaplan_meier(run, unit))
    figures.update(_drift(run, steps, unit))
    linear, log = length_stats.histograms(ordered, unit)
    cap = run.facts.response_cap if unit == "tokens" else None
    ecdf = tuple(length_stats.quantiles(ordered, np.arange(101.0)).tolist())
    lengths = Lengths(unit, run.rollouts.token_basis, linear, log, ecdf, cap)
    return LengthResult(lengths, {n: figures.get(n) or absent(n) for n in RUN_NAMES}, steps)


def _basis(run: RunData) -> Basis:
    return "modelled" if run.rollouts.token_basis == "scaled" else "measured"


def _note(run: RunData) -> str:
    return {
        "tokenized": "counted with the tokenizer given",
        "scaled": "characters scaled to the step's logged mean",
        "characters": "no token information: counted in characters",
    }.get(run.rollouts.token_basis or "", "")


def unit_of(name: str, unit: str) -> str:
    """The unit of a length figure: that of the registry, with characters where only those are known."""
    return spec(name).unit.replace("tokens", unit)


def _step_figures(run: RunData, i: int) -> dict[str, StepFigure]:
    span = run.slices.get(i)
    if span is None:
        return {}
    found: dict[str, StepFigure] = {}
    ordered = length_stats.sorted_lengths(run.rollouts.length[span])
    if len(ordered):
        basis = _basis(run)
        for name, value in length_stats.summary(ordered).items():
            column = LOGGED.get(name)
            if not run.rollouts.exact and column and run.has(column) and not np.isnan(run.column(column)[i]):
                continue  # the logged aggregate is exact, the rollouts' own lengths are not
            found[name] = StepFigure(value, basis, (value, value))
    share = _truncated_share(run, span)
    if share is not None:
        found["truncated_share"] = StepFigure(share, "measured", (share, share))
    return found


def _pooled(run: RunData, ordered: Floats) -> dict[str, Figure]:
    basis, note, unit = _basis(run), _note(run), run.rollouts.unit
    return {
        name: exact(name, value, basis, len(ordered), unit=unit_of(name, unit), note=note)
        for name, value in length_stats.summary(ordered).items()
    }


def _truncated_share(run: RunData, span: slice) -> float | None:
    flags = run.rollouts.truncated
    if flags is None:
        return None
    known = flags[span][flags[span] >= 0]
    return float(known.mean()) if len(known) else None


def _truncation(run: RunData) -> dict[str, Figure]:
    flags = run.rollouts.truncated
    if flags is None:
        return {}
    known = int((flags >= 0).sum())
    share = float((flags == 1).sum()) / known
    note = "" if known == len(flags) else f"known for {known} of {len(flags)} rollouts"
    return {"truncated_share": exact("truncated_share", share, "measured", known, note=note)}


def _logged_first(
    run: RunData, counted: Mapping[str, Figure], logged: Mapping[str, Figure]
) -> dict[str, Figure]:
    """Where lengths are not counts of tokens the logged aggregate wins; otherwise it stands beside."""
    found: dict[str, Figure] = {}
    for name, figure in logged.items():
        own = counted.get(name)
        if own is None or (not run.rollouts.exact and name in LOGGED and own.basis != "measured"):
            found[name] = figure
        elif own.unit == figure.unit and figure.value is not None and own.value is not None:
            found[name] = replace(own, others={"logged": figure.value})
    return found


def _kaplan_meier(run: RunData, unit: str) -> dict[str, Figure]:
    rollouts = run.rollouts
    known = ~np.isnan(rollouts.length)
    censored = np.zeros(len(known), dtype=bool)
    for flags in (rollouts.truncated, rollouts.aborted):
        if flags is not None:
            censored |= flags == 1
    names = ("km_median_tokens", "km_restricted_mean_tokens")
    if rollouts.truncated is None and rollouts.aborted is None:
        return {n: absent(n, "which rollouts were cut is not logged", unit=unit_of(n, unit)) for n in names}
    values = rollouts.length[known]
    median, mean = length_stats.kaplan_meier(values, censored[known])
    note = _note(run)
    why = note if median is not None else "more than half of the rollouts were cut before it"
    basis = _basis(run)
    return {
        names[0]: exact(names[0], median, basis, len(values), unit=unit_of(names[0], unit), note=why),
        names[1]: exact(names[1], mean, basis, len(values), unit=unit_of(names[1], unit), note=note),
    }


def _drift(run: RunData, steps: tuple[Mapping[str, StepFigure], ...], unit: str) -> dict[str, Figure]:
    sources = {
        "length_drift_p50": "response_tokens_p50",
        "length_drift_p99": "response_tokens_p99",
        "length_drift_truncated": "truncated_share",
    }
    found: dict[str, Figure] = {}
    for name, source in sources.items():
        note = ""
        pairs = _series(run, steps, source)
        if not pairs and name == "length_drift_p50":
            note = "slope of the mean: no quantiles logged"
            pairs = _series(run, steps, "response_tokens_mean")
        unit_here = unit_of(name, unit)
        if len(pairs) < MIN_STEPS:
            found[name] = absent(name, f"fewer than {MIN_STEPS} steps", unit=unit_here)
            continue
        at, values = np.array([p[0] for p in pairs], float), np.array([p[1] for p in pairs], float)
        slope, low, high = length_stats.theil_sen(at, values)
        basis = pairs[0][2]
        interval = (min(low, slope), max(high, slope))
        found[name] = Figure(name, slope, unit_here, basis, None, len(pairs), interval, {}, note)
    return found


def _series(
    run: RunData, steps: tuple[Mapping[str, StepFigure], ...], name: str
) -> list[tuple[float, float, Basis | None]]:
    return [
        (float(run.steps[i]), figure.value, figure.basis)
        for i, figures in enumerate(steps)
        if (figure := figures.get(name)) is not None and figure.value is not None
    ]
