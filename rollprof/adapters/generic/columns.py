"""Rows of plain records as columns, all at once; what is out of the ordinary `KeyMapper` takes row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.mapping import Convert, Lookup

Records = Sequence[dict[str, Any]]
Column = list[Any]

AS_IT_IS: Mapping[Convert, type] = {
    values.text: str,
    values.passage: str,
    values.number: float,
}
"""Conversions that leave all (finite) values of a type alone."""


def column(records: Records, convert: Convert, get: Lookup) -> Column | None:
    """A converted column; None where a value is there and says nothing, which a row would remark on."""
    raw = [get(record) for record in records]
    kinds = set(map(type, raw))
    if kinds == {AS_IT_IS.get(convert)} and (convert is not values.number or math.isfinite(sum(raw))):
        return raw if convert is not values.text or "" not in raw else None
    found = [None if value is None else convert(value) for value in raw]
    gone = any(new is None and old is not None for new, old in zip(found, raw, strict=True))
    return None if gone else found


def components(records: Records, names: Sequence[str]) -> list[dict[str, float] | None]:
    """The named components of the reward of each row, as far as they are numbers."""
    if not names:
        return [None] * len(records)
    parts = [[values.number(record.get(name)) for record in records] for name in names]
    rows = (zip(names, row, strict=True) for row in zip(*parts, strict=True))
    return [{name: n for name, n in row if n is not None} or None for row in rows]


def completed(found: dict[str, Column], size: int, defaults: Mapping[str, Any]) -> bool:
    """Fills in what follows from the other columns, as `KeyMapper` does for a row; False where it cannot."""
    absent = list(repeat(None, size))
    get: Callable[[str], Column] = lambda name: found.get(name, absent)  # noqa: E731
    chats = any(type(prompt) is list for prompt in get("prompt"))
    if chats and None in get("response"):
        return False
    if "started_at" in found and "generate_s" in found and None in get("completed_at"):
        return False
    told = (get("response"), get("response_tokens"), get("generated_tokens"), get("generate_s"))
    if all(None in one for one in told):
        return False
    if "response_tokens" in found:
        found["token_basis"] = [
            basis or (None if tokens is None else "exact")
            for basis, tokens in zip(get("token_basis"), found["response_tokens"], strict=True)
        ]
    if "prompt" in found and None not in found["prompt"]:
        found.pop("prompt_id", None)  # the converter hashes the text
    elif "prompt" in found:
        return False
    elif "prompt_id" in found:
        found["group"] = [
            own if own is not None else prompt
            for own, prompt in zip(get("group"), found["prompt_id"], strict=True)
        ]
    if "policy_version_first" in found:
        found["policy_version_last"] = [
            first if last is None else last
            for first, last in zip(found["policy_version_first"], get("policy_version_last"), strict=True)
        ]
    for name, value in defaults.items():
        found[name] = list(repeat(value, size))
    return True
