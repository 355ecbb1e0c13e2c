"""Figures that are a column of steps, and throughput per GPU."""

from __future__ import annotations

import numpy as np

from rollprof.analyzers.combine import absent, exact
from rollprof.analyzers.registry import COLUMN_FIGURES
from rollprof.analyzers.results import Figure, StepFigure
from rollprof.analyzers.run_data import RunData


def column_figures(run: RunData) -> dict[str, Figure]:
    """The median over steps of every numeric column that is a figure by itself."""
    found = {}
    for name in COLUMN_FIGURES:
        values = run.column(name)
        known = values[~np.isnan(values)]
        if len(known):
            found[name] = exact(name, float(np.median(known)), "logged", len(known))
    return found


def throughput(run: RunData) -> tuple[Figure, dict[int, StepFigure]]:
    """tokens_per_gpu_s as logged, else from the logged tokens, GPUs and step times."""
    name = "tokens_per_gpu_s"
    values = run.column(name).copy()
    gpus = run.column("gpus")
    if run.facts.gpus is not None:
        gpus = np.where(np.isnan(gpus), run.facts.gpus, gpus)
    with np.errstate(divide="ignore", invalid="ignore"):
        counted = run.column("tokens_total") / (gpus * run.column("step_s"))
    values = np.where(np.isnan(values), counted, values)
    values[~np.isfinite(values)] = np.nan
    known = ~np.isnan(values)
    steps = {
        int(i): StepFigure(float(values[i]), "logged", (float(values[i]), float(values[i])))
        for i in np.flatnonzero(known)
    }
    if not steps:
        return absent(name, "tokens, GPUs or step times are not logged"), {}
    return exact(name, float(np.median(values[known])), "logged", len(steps)), steps
