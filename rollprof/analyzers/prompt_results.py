"""Figures of prompts and policy versions, wired into an analysis: difficulty, dynamic sampling, staleness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from rollprof.analyzers.results import Basis, Figure, StepFigure, weaker
from rollprof.analyzers.tables import Settings, Tables

if TYPE_CHECKING:
    import polars as pl


_F = TypeVar("_F", Figure, StepFigure)


@dataclass(frozen=True, slots=True)
class PromptResults:
    """Figures of the run, figures per step number, and the three tables of an analysis."""

    figures: Mapping[str, Figure] = field(default_factory=dict)
    steps: Mapping[int, Mapping[str, StepFigure]] = field(default_factory=dict)
    difficulty: Sequence[Mapping[str, Any]] = ()
    sampling: Mapping[str, Any] | None = None
    staleness: Mapping[str, Any] | None = None


MOST_DRAWS = 1_000_000_000
"""Resamples x rollouts: beyond it fewer resamples do, as intervals of so many prompts are narrow anyway."""
FEWEST_RESAMPLES = 100


OF_REWARDS = ("zero_variance_share", "all_correct_share", "all_wrong_share", "dynamic_sampling_rounds")
"""Figures that need no length."""


def prompt_results(
    tables: Tables, settings: Settings, cap: float | None, rollouts: int = 0, lengths: Basis = "measured"
) -> PromptResults:
    """All that needs prompts, rewards or policy versions. Empty where the log has none of them.

    `lengths` is the basis of the response lengths: what is computed from scaled ones is modelled too.
    """
    from rollprof.analyzers.difficulty import analyze_difficulty
    from rollprof.analyzers.groups import grade, group_table
    from rollprof.analyzers.sampling import analyze_sampling
    from rollprof.analyzers.staleness import analyze_staleness, as_table

    frame = within(tables.rollouts, settings.steps)
    segments = within(tables.segments, settings.steps)
    figures: dict[str, Figure] = {}
    steps: dict[int, dict[str, StepFigure]] = {}
    graded = grade(frame, split=settings.split, reward=settings.reward, cap=cap)
    difficulty: Sequence[Mapping[str, Any]] = ()
    sampling: Mapping[str, Any] | None = None
    if graded is not None:
        most = max(FEWEST_RESAMPLES, MOST_DRAWS // max(rollouts, 1))
        resamples, seed = min(settings.resamples, most), settings.seed
        groups = group_table(graded)
        hard = analyze_difficulty(graded, groups, resamples=resamples, seed=seed)
        difficulty = (*hard.buckets, *hard.datasets)
        figures.update(hard.figures)
        kept = analyze_sampling(graded, groups, resamples=resamples, seed=seed)
        if kept is not None:
            figures.update(kept.figures)
            sampling = kept.table
            _join(steps, {step: _on(at, lengths) for step, at in kept.steps.items()})
        figures = _on(figures, lengths)
    rows = within(tables.rollouts.with_row_index("rollout"), settings.steps)
    stale = analyze_staleness(rows, segments, split=settings.split)
    if stale is not None:
        figures.update(stale.figures)
        _join(steps, stale.steps)
    return PromptResults(figures, steps, difficulty, sampling, None if stale is None else as_table(stale))


def _on(figures: Mapping[str, _F], lengths: Basis) -> dict[str, _F]:
    """The figures with the basis of the lengths that they stand on."""
    return {
        name: figure if name in OF_REWARDS else replace(figure, basis=weaker(figure.basis, lengths))
        for name, figure in figures.items()
    }


def within(frame: pl.LazyFrame, steps: tuple[int | None, int | None] | None) -> pl.LazyFrame:
    """The rows of steps `a..b`, inclusive, either end open."""
    import polars as pl

    first, last = steps or (None, None)
    if first is not None:
        frame = frame.filter(pl.col("step") >= first)
    if last is not None:
        frame = frame.filter(pl.col("step") <= last)
    return frame


def _join(all_steps: dict[int, dict[str, StepFigure]], more: Mapping[int, Mapping[str, StepFigure]]) -> None:
    for step, figures in more.items():
        all_steps.setdefault(step, {}).update(figures)
