"""Values as logs hold them -> values as the schema holds them. None where a value says nothing.

Loggers write numbers as strings, NumPy scalars as their repr, times in three units and finish reasons
in every spelling; all adapters read them alike. Nothing here raises on any JSON value.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

INT64_MAX = 2**63 - 1
INT32_MAX = 2**31 - 1

_WRAPPED = re.compile(r"^(?:np|numpy|torch)?\.?[a-z]+\d*\((.*)\)$", re.IGNORECASE)
_LONGEST_NUMBER = 64

_TRUE = frozenset({"true", "yes", "1", "1.0"})
_FALSE = frozenset({"false", "no", "0", "0.0"})

_FINISH = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "stop_token": "stop",
    "matched": "stop",
    "finish": "stop",
    "finished": "stop",
    "complete": "stop",
    "completed": "stop",
    "done": "stop",
    "success": "stop",
    "length": "length",
    "max_length": "length",
    "max_tokens": "length",
    "max_new_tokens": "length",
    "max_output_tokens": "length",
    "length_capped": "length",
    "context_length": "length",
    "truncated": "length",
    "cut_off": "length",
    "abort": "abort",
    "aborted": "abort",
    "cancel": "abort",
    "canceled": "abort",
    "cancelled": "abort",
    "error": "abort",
    "failed": "abort",
    "failure": "abort",
    "timeout": "abort",
    "preempted": "abort",
    "tool": "tool",
    "tools": "tool",
    "tool_call": "tool",
    "tool_calls": "tool",
    "tool_use": "tool",
    "function_call": "tool",
}


def number(value: Any) -> float | None:
    """A finite number, also from a bool, a numeric string or a printed NumPy scalar."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is int or kind is bool:
        try:
            return float(value)
        except OverflowError:
            return None
    if kind is str:
        return _parsed(value)
    return None


def integer(value: Any) -> int | None:
    """A whole number that fits 64 bits; 3.0 and "3" count, 3.5 and True do not."""
    if type(value) is int:
        return value if -INT64_MAX <= value <= INT64_MAX else None
    if type(value) is bool:
        return None
    as_float = number(value)
    if as_float is None or not as_float.is_integer() or abs(as_float) > INT64_MAX:
        return None
    return int(as_float)


def count(value: Any) -> int | None:
    """A count of tokens: a whole number from 0, or the length of a list of tokens."""
    if isinstance(value, list | tuple):
        return len(value)
    whole = integer(value)
    return whole if whole is not None and 0 <= whole <= INT32_MAX else None


def boolean(value: Any) -> bool | None:
    """True or False, also as 0, 1, "true", "False"; None for anything in between."""
    if type(value) is bool:
        return value
    if type(value) in (int, float):
        return True if value == 1 else False if value == 0 else None
    if type(value) is str:
        text = value.strip().lower()
        return True if text in _TRUE else False if text in _FALSE else None
    return None


def text(value: Any) -> str | None:
    """A short name: a string, or the text of a number."""
    if type(value) is str:
        return value or None
    if type(value) in (int, float, bool):
        return str(value)
    return None


def passage(value: Any) -> str | list[Any] | None:
    """A prompt or a response: text, or a chat as a list of messages. A single message is a chat of one."""
    if type(value) is str or type(value) is list:
        return value
    if isinstance(value, dict):
        return [value]
    if isinstance(value, tuple):
        return list(value)
    return None


def finish_reason(value: Any) -> str | None:
    """One of schema.FINISH_REASONS. A bool is read as "was it cut off"."""
    if value is None or value == "":
        return None
    if type(value) is bool:
        return "length" if value else "stop"
    if isinstance(value, dict):  # SGLang: {"type": "length", "length": 1024}
        return finish_reason(value.get("type") or value.get("reason"))
    if isinstance(value, list | tuple):  # one per turn: the last one ended it
        return finish_reason(value[-1]) if value else None
    if type(value) is not str:
        return "unknown"
    name = value.rpartition(".")[2].strip().lower().replace("-", "_").replace(" ", "_")
    return _FINISH.get(name.removeprefix("finish_reason_"), "unknown")


def seconds(value: Any) -> float | None:
    """A duration in seconds; negative ones say nothing."""
    plain = number(value)
    return plain if plain is not None and plain >= 0 else None


def moment(value: Any) -> float | None:
    """A time: seconds on whatever clock, epoch seconds from epoch milli-, micro- and nanoseconds and from
    ISO 8601 text (UTC where it names no zone)."""
    plain = number(value)
    if plain is not None:
        for limit, scale in ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3)):
            if plain >= limit:
                return plain * scale
        return plain
    if type(value) is str and 8 <= len(value) <= 40:
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    return None


def _parsed(value: str) -> float | None:
    if not value or len(value) > _LONGEST_NUMBER or "_" in value:
        return None
    try:
        plain = float(value)
    except ValueError:
        wrapped = _WRAPPED.match(value.strip())
        return _parsed(wrapped.group(1)) if wrapped else {"true": 1.0, "false": 0.0}.get(value.lower())
    return plain if math.isfinite(plain) else None


def short_path(text: str) -> str:
    """The end of a path that names a thing: `reward_func.py`, `Qwen/Qwen3-4B`. Folders of a machine do not
    belong into a dataset that people share."""
    parts = [p for p in text.replace("\\", "/").split("/") if p]
    local = text.startswith(("/", "~", ".")) or "\\" in text
    return parts[-1] if local and parts else "/".join(parts[-2:])
