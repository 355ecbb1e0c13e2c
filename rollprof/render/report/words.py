"""Figures in words and cells: value with unit and bound, basis, and what the figure means in a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import Analysis, Figure, StepFigure, StepResult
from rollprof.render.numbers import ABSENT, between, figure_percent, number, quantity
from rollprof.render.report.model import Cell, Table
from rollprof.render.summary.headline import is_known

_SIGN = {"upper": "≤ ", "lower": "≥ "}


def value_text(figure: Figure | StepFigure, unit: str) -> str:
    """`41.2 %`, `≤ 23.5 %`, `59–81 %`, `6.37 s`, `164 to 223 tokens`; `not in this log` when absent."""
    if unit == "fraction":
        return figure_percent(figure)
    if figure.value is None:
        return ABSENT if figure.interval is None else between(*figure.interval, unit)
    if unit == "correlation":
        return f"{figure.value:+.2f}"
    return _SIGN.get(figure.bound or "", "") + quantity(figure.value, unit)


def interval_text(figure: Figure) -> str:
    """The interval of a value, where it has a width; a bracket is shown as the value itself."""
    ends = figure.interval
    if ends is None or figure.value is None or figure.bound is not None or abs(ends[1] - ends[0]) <= 1e-9:
        return ""
    if figure.unit == "correlation":
        return f"{ends[0]:+.2f} to {ends[1]:+.2f}"
    return between(*ends, figure.unit)


def figure_table(analysis: Analysis, names: Iterable[str], caption: str) -> Table | None:
    """Those of the figures that the log gives, with interval, basis and meaning. None when none.

    A remark that several figures share stands once, below.
    """
    known = [f for name in names if (f := analysis.figures.get(name)) is not None and is_known(f)]
    if not known:
        return None
    notes = Counter(f.note for f in known if f.note)
    shared = [note for note, count in notes.items() if count >= SHARED]
    with_interval = any(interval_text(f) for f in known)
    rows = [_row(f, shared, with_interval) for f in known]
    head = ("figure", "value", *(("interval",) if with_interval else ()), "basis", "what it is")
    return Table(head, tuple(rows), caption, "; ".join(_sentence(note) for note in shared))


SHARED = 3


def _row(figure: Figure, shared: Sequence[str], with_interval: bool) -> tuple[Cell, ...]:
    note = f" {_sentence(figure.note)}" if figure.note and figure.note not in shared else ""
    return (
        Cell(figure.name, "figure"),
        Cell(value_text(figure, figure.unit), "number"),
        *((Cell(interval_text(figure), "number"),) if with_interval else ()),
        Cell(figure.basis or "", "basis"),
        Cell(meaning(figure.name) + note, "quiet"),
    )


def _sentence(text: str) -> str:
    first = text.split(" ", 1)[0]
    return (text[:1].upper() + text[1:] if len(first) > 1 else text).rstrip(".") + "."


def meaning(name: str) -> str:
    """The first sentence of a figure's definition."""
    found = REGISTRY.get(name)
    return found.doc.split(". ")[0].rstrip(".") + "." if found is not None else ""


def of_step(step: StepResult, name: str) -> float | None:
    """A per-step figure or a logged column of that name."""
    figure = step.figures.get(name)
    return figure.value if figure is not None and figure.value is not None else step.columns.get(name)


def series(analysis: Analysis, name: str) -> list[float | None]:
    """One value a step, None where it is unknown."""
    return [of_step(step, name) for step in analysis.steps]


def step_numbers(analysis: Analysis) -> list[int]:
    """The steps' numbers, in order."""
    return [step.step for step in analysis.steps]


def listing(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def cell(value: float | None, unit: str) -> Cell:
    """A number in a table; a dash where it is unknown."""
    if value is None:
        return Cell("–", "number")
    if unit == "fraction":
        return Cell(quantity(value, unit), "number")
    if unit in ("tokens", "characters", "count"):
        return Cell(number(round(value)), "number")
    return Cell(quantity(value, unit), "number")


def without_empty(table: Table) -> Table:
    """The table without columns that have nothing in any row."""
    keep = [i for i in range(len(table.head)) if any(row[i].text not in ("", "–") for row in table.rows)]
    rows = tuple(tuple(row[i] for i in keep) for row in table.rows)
    return replace(table, head=tuple(table.head[i] for i in keep), rows=rows)
