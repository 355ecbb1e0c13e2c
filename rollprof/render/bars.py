"""Pictures made of characters: bars, sparklines and a histogram that stands upright."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rollprof.render.numbers import short_tokens

_RISING = " ▁▂▃▄▅▆▇█"
_GROWING = " ▏▎▍▌▋▊▉█"
_EIGHTHS = 8


def bar(fraction: float, width: int) -> str:
    """A horizontal bar of `fraction` of `width` cells, to an eighth of a cell; blank-padded."""
    eighths = round(min(max(fraction, 0.0), 1.0) * width * _EIGHTHS)
    if fraction > 0 and eighths == 0:
        eighths = 1
    full, rest = divmod(eighths, _EIGHTHS)
    return ("█" * full + (_GROWING[rest] if rest else "")).ljust(width)


def span(low: float, high: float, width: int) -> str:
    """A range on a bar of `width` cells: empty up to `low`, shaded up to `high`."""
    first = min(int(min(max(low, 0.0), 1.0) * width), width - 1)
    last = max(first + 1, math.ceil(min(max(high, 0.0), 1.0) * width))
    return (" " * first + "░" * (last - first)).ljust(width)


def sparkline(values: Sequence[float | None], width: int) -> tuple[str, int]:
    """One character a value from 0 to the largest; None is a gap.

    More values than `width` are shown in runs, each by its largest. Returns the line and the length
    of a run.
    """
    per_cell = max(1, math.ceil(len(values) / max(width, 1)))
    cells = [
        max((v for v in values[i : i + per_cell] if v is not None), default=None)
        for i in range(0, len(values), per_cell)
    ]
    top = max((c for c in cells if c is not None), default=0.0)
    return "".join(_level(c, top) for c in cells), per_cell


def _level(value: float | None, top: float) -> str:
    if value is None:
        return " "
    if top <= 0:
        return _RISING[1]
    return _RISING[min(max(round(value / top * _EIGHTHS), 1), _EIGHTHS)]


@dataclass(frozen=True, slots=True)
class Upright:
    """A histogram drawn as columns. `rows` from top to bottom; `columns[i]` is the range of column i."""

    rows: tuple[str, ...]
    columns: tuple[tuple[float, float], ...]
    peak: int
    """Count of the tallest column."""

    def position(self, value: float) -> int:
        """The column that holds `value` (the nearest one outside the range)."""
        for index, (low, high) in enumerate(self.columns):
            if value < high or (value == high and index == len(self.columns) - 1):
                return index if value >= low else max(index - 1, 0) if index else 0
        return len(self.columns) - 1


def upright(edges: Sequence[float], counts: Sequence[int], width: int, height: int) -> Upright:
    """Columns of `counts` (one more edge than counts) in `width` x `height` cells.

    Neighbouring bins share a column where there are more than fit, a bin takes several columns where
    there are fewer. A bin with anything in it never looks empty.
    """
    merged_edges, merged = _merge(edges, counts, width)
    widths = _shares(len(merged), width)
    peak = max(merged, default=0)
    rows = [
        "".join(_cell(count, peak, row, height) * cells for count, cells in zip(merged, widths, strict=True))
        for row in range(height, 0, -1)
    ]
    columns = []
    for (low, high), cells in zip(pairwise(merged_edges), widths, strict=True):
        columns += _split(low, high, cells)
    return Upright(tuple(rows), tuple(columns), peak)


def _shares(parts: int, width: int) -> list[int]:
    """`width` cells dealt to `parts` bins as evenly as whole cells allow, one each at least."""
    total = max(width, parts)
    return [(i + 1) * total // parts - i * total // parts for i in range(parts)]


def _merge(edges: Sequence[float], counts: Sequence[int], width: int) -> tuple[list[float], list[int]]:
    per_column = max(1, math.ceil(len(counts) / max(width, 1)))
    starts = range(0, len(counts), per_column)
    merged = [sum(counts[i : i + per_column]) for i in starts]
    return [edges[i] for i in starts] + [edges[-1]], merged


def _cell(count: int, peak: int, row: int, height: int) -> str:
    if not count or not peak:
        return " "
    eighths = max(1, round(count / peak * height * _EIGHTHS))
    return _RISING[min(max(eighths - (row - 1) * _EIGHTHS, 0), _EIGHTHS)]


def _split(low: float, high: float, parts: int) -> list[tuple[float, float]]:
    """Equal parts of a bin: geometric where it can be, as on a logarithmic axis."""
    if low > 0:
        ratio = (high / low) ** (1 / parts)
        marks = [low * ratio**i for i in range(parts)] + [high]
    else:
        marks = [low + (high - low) * i / parts for i in range(parts)] + [high]
    return list(pairwise(marks))


def ticks(picture: Upright) -> str:
    """The axis labels under the columns: 1-2-5 steps, as many as fit, each at its place."""
    if not picture.columns:
        return ""
    low, high = picture.columns[0][0], picture.columns[-1][1]
    decades = range(math.floor(math.log10(max(low, 1))), math.ceil(math.log10(max(high, 1))) + 1)
    wanted = [m * 10.0**d for d in decades for m in (1, 2, 5) if low <= m * 10.0**d <= high]
    return place([(picture.position(v), short_tokens(v)) for v in wanted], len(picture.columns) + 6)


def place(labels: Sequence[tuple[int, str]], width: int, line: str = " ") -> str:
    """Labels at their columns on a line of `line`; an earlier one in the list wins where two collide."""
    cells = [line] * width
    for column, label in labels:
        start, end = column, column + len(label)
        if end > width or any(c != line for c in cells[max(start - 1, 0) : end + 1]):
            continue
        cells[start:end] = label
    return "".join(cells).rstrip()


def pointers(labels: Sequence[tuple[int, str]], width: int, line: str) -> str:
    """Like `place`, each label with an arrow at its column: to the right of it, or to the left if full."""
    cells = [line] * width
    for column, label in labels:
        for start, text in ((column, f"↑{label}"), (column - len(label), f"{label}↑")):
            end = start + len(text)
            if start >= 0 and end <= width and all(c == line for c in cells[max(start - 1, 0) : end + 1]):
                cells[start:end] = text
                break
    return "".join(cells)
