"""Rows of plain records as columns, all at once; what is out of the ordinary `KeyMapper` takes row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.generic.aliases import CLAIMING
from rollprof.adapters.mapping import Convert, Lookup

Records = Sequence[dict[str, Any]]
Column = list[Any]

AS_IT_IS: Mapping[Convert, type] = {
    values.text: str,
    values.passage: str,
    values.number: float,
}
"""Conversions that leave all (finite) values of a type alone."""


def column(records: Records, convert: Convert, get: Lookup, *, quiet: bool) -> Column | None:
    """A converted column; None where a value is there and says nothing, which a row would remark on unless
    the column is `quiet`."""
    raw = [get(record) for record in records]
    if set(map(type, raw)) == {AS_IT_IS.get(convert)} and _all_say_something(raw, convert):
        return raw
    found = [None if value is None else convert(value) for value in raw]
    gone = any(new is None and old is not None for new, old in zip(found, raw, strict=True))
    return None if gone and not quiet else found


def _all_say_something(values_: Column, convert: Convert) -> bool:
    if convert is values.number:
        return math.isfinite(sum(values_))
    return convert is not values.text or "" not in values_


def components(records: Records, names: Sequence[str]) -> list[dict[str, float] | None]:
    """The named components of the reward of each row, as far as they are numbers."""
    if not names:
        return [None] * len(records)
    parts = [[values.number(record.get(name)) for record in records] for name in names]
    rows = (zip(names, row, strict=True) for row in zip(*parts, strict=True))
    return [{name: n for name, n in row if n is not None} or None for row in rows]


def completed(found: dict[str, Column], absent: Column) -> bool:
    """Fills in what follows from the other columns, as `KeyMapper` does for a row; False where it cannot.
    `absent`: a column without values."""

    def get(name: str) -> Column:
        return found.get(name, absent)

    if None in get("response") and any(type(prompt) is list for prompt in get("prompt")):
        return False  # a chat that may hold its response
    if "started_at" in found and "generate_s" in found and None in get("completed_at"):
        return False
    if all(None in get(name) for name in (*CLAIMING, "generate_s")):
        return False
    if "prompt" in found:
        if None in found["prompt"]:
            return False
        found.pop("prompt_id", None)  # the converter hashes the text
    elif "prompt_id" in found:
        found["group"] = _filled(get("group"), found["prompt_id"])
    if "response_tokens" in found:
        exact = [None if tokens is None else "exact" for tokens in found["response_tokens"]]
        found["token_basis"] = _filled(get("token_basis"), exact)
    if "policy_version_first" in found:
        found["policy_version_last"] = _filled(get("policy_version_last"), found["policy_version_first"])
    return True


def _filled(own: Column, other: Column) -> Column:
    """`own`, with `other` where it has none."""
    return [b if a is None else a for a, b in zip(own, other, strict=True)]
