"""What the rules of findings look at, and how they write numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollprof.analyzers.idle.run import IdleResult
from rollprof.analyzers.phases import PhaseResult
from rollprof.analyzers.results import Figure, Missing, StepFigure, Straggler
from rollprof.analyzers.run_data import RunData


@dataclass(frozen=True, slots=True)
class Context:
    """The results so far. `figures` has every figure of the run; `lengths[i]` those of `run.steps[i]`."""

    run: RunData
    figures: Mapping[str, Figure]
    lengths: Sequence[Mapping[str, StepFigure]]
    idle: IdleResult
    phases: PhaseResult
    stragglers: Sequence[Straggler]
    missing: Sequence[Missing]

    def value(self, name: str) -> float | None:
        """The value of a figure, None where it is absent or a bracket."""
        figure = self.figures.get(name)
        return None if figure is None else figure.value

    def basis(self, name: str) -> str | None:
        """The basis of a figure."""
        figure = self.figures.get(name)
        return None if figure is None else figure.basis

    def enable(self, name: str) -> str:
        """The option that would bring an absent figure."""
        return next((m.enable for m in self.missing if m.figure == name), "")


def percent(value: float) -> str:
    """`41 %`, with a digit below 10 %."""
    return f"{100 * value:.0f} %" if value >= 0.0995 else f"{100 * value:.1f} %"


def number(value: float) -> str:
    """`8,192` or `3.14`."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def of_steps(count: int, steps: int) -> str:
    """`in 41 of 58 steps`; of one step there is nothing to count."""
    return "in the only step" if steps == 1 else f"in {count:,} of {steps:,} steps"
