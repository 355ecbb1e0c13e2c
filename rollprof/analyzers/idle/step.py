"""From generation phases to whole steps: the headline, who waited, and the GPU-hours lost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rollprof.analyzers.generations import Generation
from rollprof.analyzers.results import Basis, Bound, StepFigure, weaker
from rollprof.analyzers.run_data import RunData

LONGER = 1.02
"""A generation call longer than its step by more than this contradicts it."""


@dataclass(frozen=True, slots=True)
class StepIdle:
    """Figures of the step `index` by name, its GPU-seconds, and whether its times contradict each other.

    `share` is the part of the step that is generation, NaN when unknown.
    """

    index: int
    figures: Mapping[str, StepFigure]
    weight: float
    share: float
    contradicts: bool = False


def step_idle_of(run: RunData, g: Generation, idle: StepFigure | None, seconds: float | None) -> StepIdle:
    """Figures of a step from its generation_idle and `seconds`, the length of its generation phase.

    Same GPUs for both: `generation_idle * generate_s / step_s`. Separate GPUs: the rollout side is idle
    outside generation and by generation_idle inside it, the trainer while it waits; weighted by GPUs.
    """
    took = g.generate_s if g.generate_s > 0 else (seconds or math.nan)
    share = took / g.step_s if g.step_s > 0 else math.nan
    contradicts = run.facts.mode != "async" and share > LONGER
    share = math.nan if contradicts else min(share, 1.0)
    sides = _sides(run, g, idle, share)
    figures = {name: f for name, f in sides.items() if f is not None}
    whole = _whole(run, sides, idle, share)
    if whole is not None:
        figures["step_idle"] = whole
    gpus = gpus_of(run, g.index)
    lost = _lost(whole or idle, gpus, g.step_s if whole is not None else took)
    if lost is not None:
        figures["gpu_hours_lost"] = lost
        if run.settings.gpu_hour_cost is not None:
            figures["cost_lost"] = scaled(lost, run.settings.gpu_hour_cost)
    weight = (gpus or 1.0) * (g.step_s if g.step_s > 0 else 0.0)
    return StepIdle(g.index, figures, weight, share, contradicts)


def gpus_of(run: RunData, i: int) -> float | None:
    """GPUs at work in a step: as logged, else of the job, else of its two sides."""
    logged = float(run.column("gpus")[i])
    if logged > 0:
        return logged
    sides = (run.facts.rollout_gpus, run.facts.trainer_gpus)
    if run.facts.gpus is None and sides[0] is not None and sides[1] is not None:
        return sides[0] + sides[1]
    return run.facts.gpus


def scaled(figure: StepFigure, factor: float, basis: Basis | None = None) -> StepFigure:
    """The figure times a known factor."""
    value = None if figure.value is None else figure.value * factor
    ends = None if figure.interval is None else (figure.interval[0] * factor, figure.interval[1] * factor)
    return StepFigure(value, weaker(figure.basis, basis), ends, figure.bound)


def _sides(
    run: RunData, g: Generation, idle: StepFigure | None, share: float
) -> dict[str, StepFigure | None]:
    """trainer_idle and rollout_idle of a step."""
    return {
        "trainer_idle": _trainer(run, g, share),
        "rollout_idle": _rollout(run, g, idle, share),
    }


def _trainer(run: RunData, g: Generation, share: float) -> StepFigure | None:
    own = _mean(run, g, "trainer_idle")
    if own is None:
        waited = float(np.nansum(run.column("wait_s")[list(g.members)]))
        if run.has("wait_s") and g.step_s > 0:
            own = min(1.0, waited / g.step_s)
        elif run.facts.separate and run.facts.mode != "async" and share >= 0:
            own = share  # a synchronous trainer waits through generation
    return None if own is None else StepFigure(own, "logged", (own, own))


def _rollout(run: RunData, g: Generation, idle: StepFigure | None, share: float) -> StepFigure | None:
    own = _mean(run, g, "rollout_idle")
    if own is not None:
        return StepFigure(own, "logged", (own, own))
    if not run.facts.separate or run.facts.mode == "async" or idle is None or not share >= 0:
        return None
    busy = [None if x is None else (1 - x) * share for x in (idle.value, *(idle.interval or (None, None)))]
    value = None if busy[0] is None else 1 - busy[0]
    ends = None if busy[1] is None or busy[2] is None else (1 - busy[1], 1 - busy[2])
    return StepFigure(value, weaker(idle.basis, "logged"), ends, idle.bound)


def _mean(run: RunData, g: Generation, column: str) -> float | None:
    """Mean over members, weighted by their step times, of a share that the framework logs."""
    values = run.column(column)[list(g.members)]
    known = np.isfinite(values) & (values >= 0) & (values <= 1)
    if not known.any():
        return None
    weights = np.nan_to_num(run.column("step_s")[list(g.members)], nan=0.0)[known]
    return float(np.average(values[known], weights=weights if weights.sum() > 0 else None))


def _whole(
    run: RunData, sides: Mapping[str, StepFigure | None], idle: StepFigure | None, share: float
) -> StepFigure | None:
    if not run.facts.separate and run.facts.mode != "async":
        return None if idle is None or not share >= 0 else scaled(idle, share, "logged")
    rollout, trainer = sides["rollout_idle"], sides["trainer_idle"]
    gpus = (run.facts.rollout_gpus, run.facts.trainer_gpus)
    if rollout is None or trainer is None or gpus[0] is None or gpus[1] is None:
        return None
    return _blend(rollout, gpus[0], trainer, gpus[1])


def _blend(a: StepFigure, wa: float, b: StepFigure, wb: float) -> StepFigure:
    """The two sides weighted by their GPUs."""

    def mix(x: float, y: float) -> float:
        return (wa * x + wb * y) / (wa + wb)

    ends_a, ends_b = _ends(a), _ends(b)
    value = None if a.value is None or b.value is None else mix(a.value, b.value)
    bound: Bound | None = a.bound or b.bound
    return StepFigure(
        value, weaker(a.basis, b.basis), (mix(ends_a[0], ends_b[0]), mix(ends_a[1], ends_b[1])), bound
    )


def _ends(figure: StepFigure) -> tuple[float, float]:
    if figure.interval is not None:
        return figure.interval
    return (figure.value or 0.0, figure.value or 0.0)


def _lost(idle: StepFigure | None, gpus: float | None, seconds: float) -> StepFigure | None:
    """GPU-hours: idle share x GPUs x seconds / 3600."""
    if idle is None or gpus is None or not seconds > 0:
        return None
    return scaled(idle, gpus * seconds / 3600)
