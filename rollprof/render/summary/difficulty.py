"""Length against difficulty: one row per bucket of pass rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollprof.analyzers.results import Analysis
from rollprof.render.numbers import number, percent
from rollprof.render.summary.page import Page, pad

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("prompts", "prompts", "count"),
    ("rollouts", "rollouts", "count"),
    ("length_mean", "mean", "length"),
    ("length_p95", "p95", "length"),
    ("truncated_share", "cut off", "share"),
    ("tail_share", "of tail", "share"),
    ("wait_share", "of wait", "share"),
)
"""Key of a bucket, its title, how it is shown."""
_FIRST = 14


def difficulty(page: Page, analysis: Analysis) -> None:
    """The table, with the columns that any bucket has; nothing when there are no buckets."""
    rows = [row for row in analysis.difficulty if row]
    if not rows:
        return
    present = [c for c in COLUMNS if any(row.get(c[0]) is not None for row in rows)]
    page.heading(
        "Difficulty",
        (f"  length in {analysis.lengths.unit}; tail: longest 5 %", "dim"),
        _rho(analysis),
    )
    first = max(_FIRST, *(len(_name(row)) for row in rows))
    width = max(8, min(13, (page.width - 2 - first) // max(len(present), 1)))
    page.row(pad("", first), *((pad(title, width, right=True), "dim") for _, title, _ in present), indent=2)
    for row in rows:
        cells = (pad(_cell(row.get(key), kind), width, right=True) for key, _, kind in present)
        page.row(pad(_name(row), first), *cells, indent=2)


def _rho(analysis: Analysis) -> str:
    rho = analysis.figures.get("difficulty_length_spearman")
    if rho is None or rho.value is None:
        return ""
    return f"; rank correlation {rho.value:+.2f}"


def _name(row: Mapping[str, Any]) -> str:
    """A row is about a bucket of pass rate, or about a data source."""
    return str(row.get("bucket") or row.get("dataset") or "").replace("_", " ")


def _cell(value: Any, kind: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return "–"
    return percent(value, 0) if kind == "share" else number(round(value))
