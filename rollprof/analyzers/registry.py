"""Every figure by its name: the truth that `explain`, `check`, the report's hover texts and the docs read.

Cheap to import: no polars, no numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from rollprof.analyzers.catalog.engines import ENGINE_FIGURES, STALENESS_FIGURES
from rollprof.analyzers.catalog.idle import IDLE_FIGURES
from rollprof.analyzers.catalog.lengths import LENGTH_FIGURES
from rollprof.analyzers.catalog.phases import PHASE_FIGURES
from rollprof.analyzers.catalog.prompts import PROMPT_FIGURES
from rollprof.analyzers.catalog.stragglers import STRAGGLER_FIGURES
from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.errors import UsageProblem
from rollprof.schema.tables import STEPS, Column

NOT_FIGURES = frozenset({"step", "split", "logged_at"})
"""Columns of `steps` that are keys or a clock."""


def _of_column(column: Column) -> FigureSpec:
    return FigureSpec(
        column.name,
        column.unit or "",
        f"{column.name} as logged",
        "median over steps",
        ((f"steps.{column.name}",),),
        True,
        f"{column.doc[0].upper()}{column.doc[1:]}: the column of steps.parquet, median over the steps that "
        "have it.",
        "",
        (("logged", "as the framework logged it"),),
    )


COLUMN_FIGURES: tuple[str, ...]
"""Figures that are nothing but a column of `steps`."""


def _build() -> tuple[dict[str, FigureSpec], tuple[str, ...]]:
    named = (
        *IDLE_FIGURES,
        *STRAGGLER_FIGURES,
        *LENGTH_FIGURES,
        *PHASE_FIGURES,
        *PROMPT_FIGURES,
        *STALENESS_FIGURES,
        *ENGINE_FIGURES,
    )
    table = {s.name: s for s in named}
    columns = [c for c in STEPS if c.name not in NOT_FIGURES and c.name not in table]
    table.update({c.name: _of_column(c) for c in columns})
    return table, tuple(c.name for c in columns)


_TABLE, COLUMN_FIGURES = _build()
REGISTRY: Mapping[str, FigureSpec] = MappingProxyType(_TABLE)


def spec(name: str) -> FigureSpec:
    """The figure of this name. Raises UsageProblem with the nearest names."""
    found = REGISTRY.get(name)
    if found is not None:
        return found
    near = get_close_matches(name, REGISTRY, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`rollprof explain` lists every figure"
    raise UsageProblem(f"no figure is called {name}", hint=hint)
