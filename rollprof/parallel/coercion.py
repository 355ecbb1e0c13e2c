"""Values as mappers give them -> values that a column of the schema can hold.

Numbers may come as strings, scores as {"score": …} or true. What a column cannot hold (a step of 2**70, a
NaN, a negative length) becomes null and is remarked on; nothing raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from types import NoneType
from typing import Any

from rollprof.adapters.named_numbers import NamedNumbers
from rollprof.parallel.digests import storable
from rollprof.schema.tables import Column

Unfit = Callable[[int, str], None]
"""Told the index of a value that does not fit, and why."""

BITS = {"int16": 16, "int32": 32, "int64": 64}
COUNTS = ("tokens", "characters", "turns")
"""Units that are never negative."""

LONGEST_NUMBER = 64
SCORE = "score"
_WORDS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}


def coerce(column: Column, values: Sequence[Any], unfit: Unfit) -> Sequence[Any]:
    """`values` as the column holds them, None where they are absent or do not fit."""
    if _fits(column, values):
        return values
    kind = column.type
    if kind in BITS or kind == "uint64":
        return _integers(column, values, unfit)
    if kind == "float64":
        return _numbers(column, values, unfit)
    if kind == "map":
        return _mappings(column, values, unfit)
    if kind == "bool":
        return [None if v is None else _boolean(v, i, column, unfit) for i, v in enumerate(values)]
    return _names(column, values, unfit)


def _fits(column: Column, values: Sequence[Any]) -> bool:
    """Whether all values are as the column holds them: looked at together, since nearly all logs are."""
    if isinstance(values, NamedNumbers):
        return column.type == "map" and _plain(values.names, chain.from_iterable(values.columns))
    kinds = set(map(type, values))
    if kinds <= {NoneType}:
        return True
    present = [v for v in values if v is not None] if NoneType in kinds else values
    kinds.discard(NoneType)
    if column.type in BITS or column.type == "uint64":
        low, high = _range(column)
        return kinds == {int} and low <= min(present) and max(present) <= high
    if column.type == "float64":
        return kinds == {float} and math.isfinite(sum(present)) and _lowest(column) <= min(present)
    if column.type == "bool":
        return kinds == {bool}
    if column.type == "map" or kinds != {str}:
        return False
    names = set(present)
    return names <= set(column.values) if column.values else all(map(str.isascii, names))


def _range(column: Column) -> tuple[int, int]:
    bits = BITS.get(column.type)
    low, high = (0, 2**64 - 1) if bits is None else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return 0 if column.unit in COUNTS else low, high


def _lowest(column: Column) -> float:
    return 0.0 if column.name.endswith("_s") else -math.inf


def number(value: Any) -> float | None:
    """A finite number from whatever a log wrote, None where it is none."""
    if isinstance(value, dict):
        inner = value.get(SCORE)
        return None if isinstance(inner, dict) else number(inner)
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if value is None or (isinstance(value, str) and len(value) > LONGEST_NUMBER):
        return None
    try:
        plain = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return plain if math.isfinite(plain) else None


def _integers(column: Column, values: Sequence[Any], unfit: Unfit) -> list[int | None]:
    low, high = _range(column)

    def fit(value: Any, index: int) -> int | None:
        whole = _whole(value)
        if whole is None or not low <= whole <= high:
            unfit(index, f"{column.name}: not a whole number in range, left empty")
            return None
        return whole

    return [
        v if v is None or (type(v) is int and low <= v <= high) else fit(v, i) for i, v in enumerate(values)
    ]


def _whole(value: Any) -> int | None:
    if type(value) is int:
        return value
    if isinstance(value, str) and len(value) <= LONGEST_NUMBER:
        try:
            return int(value)
        except ValueError:
            pass
    plain = None if isinstance(value, bool) else number(value)
    return int(plain) if plain is not None and plain.is_integer() else None


def _numbers(column: Column, values: Sequence[Any], unfit: Unfit) -> list[float | None]:
    low = _lowest(column)

    def fit(value: Any, index: int) -> float | None:
        plain = number(value)
        if plain is None or plain < low:
            unfit(index, f"{column.name}: not a finite number{'' if low else ' from 0'}, left empty")
            return None
        return plain

    return [
        v if v is None or (type(v) is float and low <= v < math.inf and v > -math.inf) else fit(v, i)
        for i, v in enumerate(values)
    ]


def _boolean(value: Any, index: int, column: Column, unfit: Unfit) -> bool | None:
    found: bool | None = None
    if isinstance(value, bool):
        found = value
    elif isinstance(value, str):
        found = _WORDS.get(value.strip().lower())
    elif value in (0, 1):
        found = bool(value)
    if found is None:
        unfit(index, f"{column.name}: neither true nor false, left empty")
    return found


def _mappings(column: Column, values: Sequence[Any], unfit: Unfit) -> Sequence[Any]:
    """Lists of (name, number); plain ones are taken as they are."""
    if set(map(type, values)) <= {dict, NoneType}:
        parts = [part for value in values if value for part in value.values()]
        if _plain({name for value in values if value for name in value}, parts):
            return [None if value is None else list(value.items()) for value in values]
    return [None if v is None else _components(v, i, column, unfit) for i, v in enumerate(values)]


def _plain(names: Iterable[Any], numbers: Iterable[Any]) -> bool:
    """Names that can be stored as they are, and finite numbers."""
    found = list(numbers)
    return (
        set(map(type, found)) <= {float}
        and math.isfinite(sum(found))
        and all(type(name) is str and name.isascii() for name in names)
    )


def _components(value: Any, index: int, column: Column, unfit: Unfit) -> list[tuple[str, float]] | None:
    if not isinstance(value, dict):
        unfit(index, f"{column.name}: not a mapping of names to numbers, left empty")
        return None
    known = [(storable(str(name)), number(part)) for name, part in value.items()]
    if any(part is None for _, part in known):
        unfit(index, f"{column.name}: components that are no finite numbers, left out")
    return [(name, part) for name, part in known if part is not None]


def _names(column: Column, values: Sequence[Any], unfit: Unfit) -> list[str | None]:
    def fit(value: Any, index: int) -> str | None:
        if isinstance(value, str | int | float) and not column.values:
            return storable(str(value))
        unfit(
            index,
            f"{column.name}: not one of {', '.join(column.values) or 'the values it can have'}, left empty",
        )
        return None

    allowed = frozenset(column.values)
    return [
        v if v is None or (type(v) is str and (v in allowed or (not allowed and v.isascii()))) else fit(v, i)
        for i, v in enumerate(values)
    ]
