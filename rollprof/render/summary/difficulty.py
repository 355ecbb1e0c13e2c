"""Length against difficulty: one row per bucket of pass rate, or per data source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rich.cells import cell_len

from rollprof.analyzers.results import Analysis
from rollprof.render.numbers import ABSENT, number, percent
from rollprof.render.summary.page import Page, joined, pad
from rollprof.render.text import clean

By = Literal["bucket", "dataset"]

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


def difficulty(page: Page, analysis: Analysis, by: By, *, notes: bool) -> None:
    """The table by bucket of pass rate, or by data source; nothing where there are no prompts with rewards.

    Columns that no row has are left out. `notes` adds a line on what the columns mean.
    """
    rows = [row for row in analysis.difficulty if row.get(by) is not None]
    title = "Difficulty" if by == "bucket" else "Data source"
    if not rows:
        if by == "dataset":
            page.heading(title, f"  {ABSENT}")
        return
    present = [c for c in COLUMNS if any(row.get(c[0]) is not None for row in rows)]
    first = min(30, max(_FIRST, *(cell_len(_name(row, by)) for row in rows)))
    width = max(8, min(13, (page.width - 2 - first) // max(len(present), 1)))
    titles = (pad(words, width, right=True) for _, words, _ in present)
    page.heading(pad(title, first + 2), *((words, "dim") for words in titles))
    for row in rows:
        cells = (pad(_cell(row.get(key), kind), width, right=True) for key, _, kind in present)
        page.row(pad(_name(row, by), first), *cells, indent=2)
    if notes:
        tail = "of tail, of wait: share of the longest 5 % and of the straggler wait"
        page.add((joined((_rho(analysis) if by == "bucket" else "", tail), "; "), "dim"), indent=2)


def _rho(analysis: Analysis) -> str:
    rho = analysis.figures.get("difficulty_length_spearman")
    if rho is None or rho.value is None:
        return ""
    return f"rank correlation with length {rho.value:+.2f}"


def _name(row: Mapping[str, Any], by: By) -> str:
    return clean(str(row[by])).replace("_", " ") if by == "bucket" else clean(str(row[by]))


def _cell(value: Any, kind: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return "–"
    return percent(value, 0) if kind == "share" else number(round(value))
