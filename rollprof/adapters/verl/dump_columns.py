"""Rows of a plain dump as columns, all at once; what is out of the ordinary `DumpMapper` takes row by row.

Plain: text in `input` and `output`, whole steps, scores that are numbers, and extras that are numbers or of
no interest. Nearly all dumps of a text-only run are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.mapping import Convert

Records = Sequence[dict[str, Any]]
NUMBERS = frozenset({float, int, bool})


def layout(records: Records) -> tuple[str, ...] | None:
    """The keys of all records in their order; None where they differ."""
    layouts = set(map(tuple, records))
    return layouts.pop() if len(layouts) == 1 else None


def texts(records: Records, key: str) -> list[str] | None:
    """A column of texts; None where one is none."""
    found = [record[key] for record in records]
    return found if set(map(type, found)) == {str} else None


def numbers(column: Sequence[Any]) -> list[float] | None:
    """A column of finite numbers as `values.number` gives them; None where one is none."""
    kinds = set(map(type, column))
    if not kinds <= NUMBERS:
        return None
    try:
        found = list(column) if kinds == {float} else list(map(float, column))
    except OverflowError:
        return None
    return found if math.isfinite(sum(found)) else None


def whole(records: Records, key: str) -> list[int] | None:
    """A column of whole numbers that fit 64 bits; None where one is none."""
    found = [record[key] for record in records]
    if set(map(type, found)) != {int} or max(map(abs, found)) > values.INT64_MAX:
        return None
    return found


def components(
    records: Records, keys: Collection[str], reward: Sequence[float]
) -> list[dict[str, float]] | None:
    """`rewards` of each row: its extras by their names, and the score; None where one is no number."""
    names, columns = [], []
    for key in keys:
        column = numbers([record[key] for record in records])
        if column is None:
            return None
        names.append(key)
        columns.append(column)
    names.append("score")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, reward, strict=True)]


def optional(records: Records, convert: Convert, *keys: str) -> Sequence[Any]:
    """A column that a dump may have, under the first of `keys` that it knows."""
    key = next((key for key in keys if key in records[0]), None)
    return [None if key is None else convert(record[key]) for record in records]
