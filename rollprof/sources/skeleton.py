"""Objects reduced to what tells their keys and types: long strings and lists clipped, damage tolerated."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_TEXT = 500
MAX_ITEMS = 20
MAX_DEPTH = 6

_STRING = re.compile(r'\s*"((?:[^"\\]|\\.){0,200})"\s*:\s*')
_NEXT = re.compile(r"\s*,")
_DECODER = json.JSONDecoder(strict=False)
_UNFINISHED: dict[str, Any] = {'"': "", "[": [], "{": {}}


def clipped(value: Any, depth: int = 0) -> Any:
    """The value with strings of at most 500 characters, lists of at most 20 items, 6 levels deep."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else value[:MAX_TEXT]
    if depth >= MAX_DEPTH and isinstance(value, list | dict):
        return type(value)()
    if isinstance(value, list):
        return [clipped(item, depth + 1) for item in value[:MAX_ITEMS]]
    if isinstance(value, dict):
        return {key: clipped(item, depth + 1) for key, item in value.items()}
    return value


def skeleton(head: bytes) -> dict[str, Any]:
    """Keys of an object of which only the start is there, with the values as far as they can be read.

    A value that is cut off counts as empty of its type: `{"a": 1, "b": "xy` gives {"a": 1, "b": ""}.
    """
    text = head.decode("utf-8", "replace")
    found: dict[str, Any] = {}
    position = text.find("{") + 1
    while position > 0:
        key = _STRING.match(text, position)
        if key is None:
            break
        start = text[key.end() : key.end() + 1]
        try:
            value, stop = _DECODER.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            if start in _UNFINISHED:
                found[key.group(1)] = _UNFINISHED[start]
            break
        found[key.group(1)] = clipped(value)
        comma = _NEXT.match(text, stop)
        position = comma.end() if comma else 0
    return found
