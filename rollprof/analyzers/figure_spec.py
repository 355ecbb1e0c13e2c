"""What is known about a figure before any number: its name, formula, unit, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from rollprof.analyzers.results import Basis

Aggregation = str
"""How steps become a run: `gpu-seconds`, `sum`, `max`, `pooled`, `sum / sum`, `median`, ..."""


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """One figure: what `explain`, `check`, the report's hover texts and the docs read.

    `needs` are alternatives, best first; each is a set of columns (`rollouts.started_at`) and facts
    (`fact.engines`) that together suffice. `basis_rules` says which input gives which basis.
    `source` names where the formula is published, "" where it is this project's own.
    """

    name: str
    unit: str
    formula: str
    aggregation: Aggregation
    needs: tuple[tuple[str, ...], ...]
    per_step: bool
    doc: str
    source: str = ""
    basis_rules: tuple[tuple[Basis, str], ...] = ()
