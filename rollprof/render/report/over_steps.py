"""Series over the steps of a run: drawn as they are, or in blocks where there are too many to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.render.report.layout import MOST_POINTS, MOST_ROWS, edge, line
from rollprof.render.report.model import Cell, Table
from rollprof.render.report.words import cell
from rollprof.stats.blocks import Block, blocks


def drawn(steps: Sequence[int], values: Sequence[float | None]) -> list[Block]:
    """What a plot shows: one block a step, or blocks of several where steps are too many."""
    return blocks(steps, values, MOST_POINTS)


def in_blocks(steps: Sequence[int]) -> str:
    """A remark where a point stands for several steps; empty otherwise."""
    size = len(steps) // MOST_POINTS + (len(steps) % MOST_POINTS > 0)
    return f"Each point is the median of {size:,} steps." if size > 1 else ""


def curve(
    name: str, steps: Sequence[int], values: Sequence[float | None], color: str, **more: Any
) -> list[dict[str, Any]]:
    """A line over the steps. With `band`, a colour, the range of each block stands behind it where a point is
    several steps."""
    found = drawn(steps, values)
    x = [b.first for b in found]
    soft, band = more.pop("band", None), []
    if soft is not None and len(found) < len(steps):
        axes = {k: v for k, v in more.items() if k in ("xaxis", "yaxis")}
        band = [
            edge(x, [b.low for b in found], **axes),
            edge(x, [b.high for b in found], fill="tonexty", fillcolor=soft, **axes),
        ]
    mode = "lines+markers" if len(found) <= 40 else "lines"
    marks = {"size": 5, "color": color}
    middle = [b.middle for b in found]
    return [*band, line(name, x, middle, color, **{"mode": mode, "marker": marks, **more})]


def numbers(
    steps: Sequence[int], columns: Mapping[str, tuple[Sequence[float | None], str]], caption: str
) -> Table:
    """The same in numbers: a row a step, or medians of blocks. `columns`: title -> (values, unit)."""
    cut = [(blocks(steps, values, MOST_ROWS), unit) for values, unit in columns.values()]
    first = cut[0][0] if cut else []
    rows = []
    for i, block in enumerate(first):
        label = f"{block.first:,}" if block.first == block.last else f"{block.first:,}–{block.last:,}"
        rows.append((Cell(label, "number"), *(cell(found[i].middle, unit) for found, unit in cut)))
    more = "Medians of neighbouring steps." if len(first) < len(steps) else ""
    return Table(("step", *columns), tuple(rows), caption, more, folded=True)
