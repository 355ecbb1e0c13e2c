"""Runs side by side: the first is what the others are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import Analysis, Figure, RunInfo
from rollprof.compare.change import Change, change
from rollprof.compare.decomposition import Decomposition, decompose
from rollprof.compare.overlay import Overlay, overlay
from rollprof.compare.series import series_of
from rollprof.compare.settings import SettingChange, changed_settings


@dataclass(frozen=True, slots=True)
class Side:
    """One run of a comparison: what it is called, who wrote it, and its own figures."""

    label: str
    run: RunInfo
    headline: str


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: in every run (None where it is not in the log), and its change in all but the first."""

    name: str
    unit: str
    figures: tuple[Figure | None, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs side by side. `changes`, `generation` have an entry for each run but the first.

    `generation` says what the change in generation time is made of, or in a sentence why that cannot be
    told.
    """

    sides: tuple[Side, ...]
    rows: tuple[Row, ...]
    settings: tuple[SettingChange, ...]
    lengths: Overlay | None
    generation: tuple[Decomposition | str, ...]


def compare(runs: Sequence[tuple[str, Analysis]]) -> Comparison:
    """Compare runs, given with their labels, with the first of them. ValueError for fewer than two."""
    if len(runs) < 2:
        raise ValueError("a comparison takes two runs")
    labels, analyses = [label for label, _ in runs], [analysis for _, analysis in runs]
    series = [series_of(analysis) for analysis in analyses]
    names = [n for n in REGISTRY if any(n in one.figures for one in series)]
    rows = tuple(
        Row(
            name,
            next(one.figures[name].unit for one in series if name in one.figures),
            tuple(
                a.figures.get(name) if name in s.figures else None
                for a, s in zip(analyses, series, strict=True)
            ),
            tuple(change(series[0], other, name) for other in series[1:]),
        )
        for name in names
    )
    return Comparison(
        sides=tuple(Side(label, a.run, a.headline) for label, a in zip(labels, analyses, strict=True)),
        rows=rows,
        settings=changed_settings([a.run for a in analyses]),
        lengths=overlay([a.lengths for a in analyses]),
        generation=tuple(decompose(series[0], other) for other in series[1:]),
    )
