"""Where the time of a step goes: shares per phase, and what no phase accounts for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.catalog.phases import OTHER, PHASES
from rollprof.analyzers.combine import absent, exact
from rollprof.analyzers.results import Figure, StepFigure
from rollprof.analyzers.run_data import RunData

Floats = NDArray[np.float64]

FITS = 1.02
"""Phases may add up to this much of the step: clocks and rounding."""
BESIDE: tuple[frozenset[str], ...] = (
    frozenset(),
    frozenset({"generate"}),
    frozenset({"eval"}),
    frozenset({"checkpoint"}),
    frozenset({"eval", "checkpoint"}),
    frozenset({"generate", "eval", "checkpoint"}),
)
"""Phases that may run beside the step (generation in an asynchronous run) or after its clock has stopped
(evaluation and checkpoints of some releases), in the order in which that is assumed."""


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """`shares` by phase, the largest part of the answer; `figures` the same by figure name.

    `beside` are phases that are not part of the step's sum; `overlap` says that no choice of these fits.
    """

    shares: Mapping[str, Figure]
    figures: Mapping[str, Figure]
    steps: tuple[Mapping[str, StepFigure], ...]
    beside: frozenset[str]
    overlap: bool


def analyze_phases(run: RunData) -> PhaseResult:
    """Shares of the step's time: sum over sum, of the steps that log both."""
    step_s = run.column("step_s")
    timed = step_s > 0
    columns = {p: run.column(f"{p}_s") for p in PHASES if run.has(f"{p}_s")}
    beside = _beside(run, step_s, columns)
    inside = [p for p in columns if p not in (beside or ())]
    shares: dict[str, Figure] = {}
    for name in PHASES:
        figure = f"phase_share_{name}"
        values = columns.get(name)
        both = timed & ~np.isnan(values) if values is not None else np.zeros(len(run), dtype=bool)
        if values is None or not both.any():
            continue
        # a phase that a step does not log took no time in it; without generation it is no step
        of = both if name == "generate" else timed
        share = float(values[both].sum() / step_s[of].sum())
        note = "beside the step, not part of its sum" if beside and name in beside else ""
        shares[name] = exact(figure, share, "logged", int(both.sum()), note=note)
    shares[OTHER] = _other(step_s, timed, [columns[p] for p in inside], overlap=beside is None)
    figures = {f.name: f for f in shares.values()}
    generation = shares.get("generate")
    figures["generation_share"] = (
        absent("generation_share", "generate_s or step_s is not logged")
        if generation is None
        else exact("generation_share", generation.value, "logged", generation.n, note=generation.note)
    )
    for name in PHASES:
        figures.setdefault(f"phase_share_{name}", absent(f"phase_share_{name}", "this phase is not logged"))
    steps = tuple(_step(columns, step_s, i) for i in range(len(run)))
    shown = {n: f for n, f in shares.items() if f.value is not None}
    return PhaseResult(shown, figures, steps, beside or frozenset(), beside is None)


def _beside(run: RunData, step_s: Floats, columns: Mapping[str, Floats]) -> frozenset[str] | None:
    """The phases to leave out of the sum, the first choice that fits the steps; None if none does."""
    timed = step_s > 0
    if not timed.any():
        return frozenset()
    whole = float(step_s[timed].sum())
    first = [frozenset({"generate"})] if run.facts.mode == "async" else []
    for choice in (*first, *BESIDE):
        parts = [float(np.nansum(v[timed])) for p, v in columns.items() if p not in choice]
        if sum(parts) <= FITS * whole:
            return choice & frozenset(columns)
    return None


def _other(step_s: Floats, timed: NDArray[np.bool_], inside: Sequence[Floats], *, overlap: bool) -> Figure:
    name = f"phase_share_{OTHER}"
    if overlap:
        return absent(name, "the phases add up to more than the step")
    if not timed.any() or not inside:
        return absent(name, "step_s or its phases are not logged")
    known = sum(float(np.nansum(v[timed])) for v in inside)
    whole = float(step_s[timed].sum())
    return exact(name, max(0.0, 1 - known / whole), "logged", int(timed.sum()))


def _step(columns: Mapping[str, Floats], step_s: Floats, i: int) -> dict[str, StepFigure]:
    if not step_s[i] > 0:
        return {}
    found = {}
    for name, values in columns.items():
        if not np.isnan(values[i]):
            share = float(values[i] / step_s[i])
            found[f"phase_share_{name}"] = StepFigure(share, "logged", (share, share))
            if name == "generate":
                found["generation_share"] = found[f"phase_share_{name}"]
    return found
