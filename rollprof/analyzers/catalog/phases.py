"""Shares of the step's time per phase."""

from __future__ import annotations

from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.analyzers.results import Basis
from rollprof.schema.tables import PHASE_COLUMNS, STEPS

PHASES: tuple[str, ...] = tuple(c.removesuffix("_s") for c in PHASE_COLUMNS)
"""Short names of the phases, in the order they are shown; `other` follows."""
OTHER = "other"

_RULES: tuple[tuple[Basis, str], ...] = (("logged", "the framework's own phase times"),)
_SUM = "sum / sum over the steps that log both"
_ALL = "sum / sum over all steps: a phase that a step does not log took no time in it"


def _phase(name: str) -> FigureSpec:
    column = f"{name}_s"
    return FigureSpec(
        f"phase_share_{name}",
        "fraction",
        f"{column} / step_s",
        _SUM if name == "generate" else _ALL,
        ((f"steps.{column}", "steps.step_s"),),
        True,
        f"Share of the step's wall time: {STEPS[column].doc}. A phase that runs beside the step (generation "
        "in an asynchronous run, evaluation outside it) is shown, but not counted into the step's sum.",
        "",
        _RULES,
    )


PHASE_FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "generation_share",
        "fraction",
        "generate_s / step_s",
        _SUM,
        (("steps.generate_s", "steps.step_s"),),
        True,
        "Share of the step's wall time spent generating rollouts. Published runs lie between 0.63 and 0.91. "
        "What generation cannot win, no remedy for stragglers can: the gain of a step is bounded by it.",
        "rollout share: StreamRL, Seer (2511.14617), Laminar (2510.12633)",
        _RULES,
    ),
    *(_phase(name) for name in PHASES),
    FigureSpec(
        "phase_share_other",
        "fraction",
        "(step_s - sum of the phases inside the step) / step_s",
        _ALL,
        (("steps.step_s", "steps.generate_s"),),
        True,
        "What no logged phase accounts for. Absent where the phases add up to more than the step, because "
        "then "
        "some of them run in parallel or outside it.",
        "",
        _RULES,
    ),
)
