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
from rollprof.adapters.named_numbers import NamedNumbers

Records = Sequence[dict[str, Any]]
NUMBERS = frozenset({float, int, bool})


def extras(
    records: Records, *, needed: frozenset[str], barred: frozenset[str], known: frozenset[str]
) -> tuple[str, ...] | None:
    """The keys beside the `known` ones, which all records have in the same order; None where they differ, or
    where a record lacks a `needed` key or has a `barred` one."""
    found = set()
    for keys in set(map(tuple, records)):
        if not needed.issubset(keys) or not barred.isdisjoint(keys):
            return None
        found.add(tuple(key for key in keys if key not in known))
    return found.pop() if len(found) == 1 else None


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
    records: Records, keys: Collection[str], names: Collection[str], reward: Sequence[float]
) -> NamedNumbers | None:
    """`rewards` of each row: its extras by their names, a mapping's below its own, and the score.

    Lists say nothing, nor do texts under `names`; None where a value may say something else.
    """
    given: dict[str, Sequence[Any]] = {}
    for key in keys:
        column = [record[key] for record in records]
        kinds = set(map(type, column))
        if kinds == {dict}:
            below = _below(key, column)
            if below is None:
                return None
            given.update(below)
        elif kinds != {list} and not (kinds == {str} and key in names):
            given[key] = column
    given["score"] = reward
    columns = tuple(map(numbers, given.values()))
    plain = tuple(column for column in columns if column is not None)
    return NamedNumbers(tuple(given), plain) if len(plain) == len(columns) else None


def _below(key: str, mappings: Records) -> dict[str, Sequence[Any]] | None:
    """The columns of mappings that all have the same keys; what is nested deeper says nothing."""
    layouts = set(map(tuple, mappings))
    if len(layouts) != 1:
        return None
    columns = {f"{key}.{name}": [mapping[name] for mapping in mappings] for name in layouts.pop()}
    return {name: column for name, column in columns.items() if not set(map(type, column)) <= {dict, list}}


def optional(records: Records, convert: Convert, key: str, otherwise: str = "") -> Sequence[Any]:
    """A column that a dump may have, under `key` or another one."""
    if not any(key in record or otherwise in record for record in records):
        return [None] * len(records)
    return [convert(record.get(key, record.get(otherwise))) for record in records]
