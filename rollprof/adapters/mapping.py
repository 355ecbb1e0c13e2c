"""From keys of a record to columns of `rollouts`: what each column accepts, and where its value lies.

Used by the generic adapter for everything and by framework adapters for `--map COLUMN=KEY`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Dropped, Row, RowMapper
from rollprof.errors import UsageProblem
from rollprof.schema.tables import ROLLOUTS

Convert = Callable[[Any], Any]
Lookup = Callable[[dict[str, Any]], Any]

_SPLITS = {
    "train": "train",
    "training": "train",
    "rollout": "train",
    "eval": "eval",
    "evaluation": "eval",
    "val": "eval",
    "valid": "eval",
    "validation": "eval",
    "validate": "eval",
    "test": "eval",
}


def split_name(value: Any) -> str | None:
    """`train` or `eval`; a bool is read as "is it evaluation"."""
    if type(value) is bool:
        return "eval" if value else "train"
    return _SPLITS.get(value.strip().lower()) if type(value) is str else None


def prompt_key(value: Any) -> int | None:
    """A prompt's own id as 64 bits: an unsigned integer as it stands, any other id hashed."""
    if type(value) is int and 0 <= value < 2**64:
        return value
    name = values.text(value)
    if name is None:
        return None
    from hashlib import blake2b

    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def group_key(value: Any) -> str | int | None:
    """Whatever identifies a group: a number or a name."""
    return value if type(value) is int else values.text(value)


def components(value: Any) -> dict[str, float] | None:
    """Reward components: the numeric items of a mapping."""
    if not isinstance(value, dict):
        return None
    found = {str(k): n for k, v in value.items() if (n := values.number(v)) is not None}
    return found or None


def small(value: Any) -> int | None:
    """A whole number that fits 16 bits (turns)."""
    whole = values.integer(value)
    return whole if whole is not None and 0 <= whole < 2**15 else None


def index(value: Any) -> int | None:
    """A whole number that fits 32 bits (a position in a group)."""
    whole = values.integer(value)
    return whole if whole is not None and abs(whole) <= values.INT32_MAX else None


def basis(value: Any) -> str | None:
    """`token_basis` as it stands, when it is one."""
    return value if value in ROLLOUTS["token_basis"].values else None


CONVERT: dict[str, Convert] = {
    "step": values.integer,
    "split": split_name,
    "prompt": values.passage,
    "response": values.passage,
    "prompt_id": prompt_key,
    "dataset": values.text,
    "group": group_key,
    "sample_index": index,
    "prompt_tokens": values.count,
    "response_tokens": values.count,
    "generated_tokens": values.count,
    "token_basis": basis,
    "reward": values.number,
    "rewards": components,
    "correct": values.boolean,
    "advantage": values.number,
    "finish_reason": values.finish_reason,
    "started_at": values.moment,
    "completed_at": values.moment,
    "queue_s": values.seconds,
    "generate_s": values.seconds,
    "tool_s": values.seconds,
    "reward_s": values.seconds,
    "turns": small,
    "engine": values.text,
    "policy_version_first": values.integer,
    "policy_version_last": values.integer,
}
"""How a value becomes one of a column; the columns that `--map` may name."""

SYNONYMS = {"group_id": "group"}
"""Schema columns that the converter computes, and what to give it instead."""


def column_named(name: str) -> str:
    """The column that `--map NAME=…` means. Raises UsageProblem for a name that is none."""
    column = SYNONYMS.get(name, name)
    if column in CONVERT:
        return column
    from difflib import get_close_matches

    near = get_close_matches(name, CONVERT, 1)
    hint = f"did you mean {near[0]}?" if near else f"columns: {', '.join(CONVERT)}"
    raise UsageProblem(f"--map {name}: no such column", hint=hint)


def lookup(key: str) -> Lookup:
    """A getter for `key`: the key itself where the record has it, else its dotted path into nested
    mappings (`metrics.queue_s`)."""
    if "." not in key:
        return lambda record: record.get(key)
    head, _, rest = key.partition(".")
    inner = lookup(rest)

    def nested(record: dict[str, Any]) -> Any:
        if key in record:
            return record[key]
        below = record.get(head)
        return inner(below) if isinstance(below, dict) else None

    return nested


class Mapped:
    """A framework's row mapper with some columns taken from other keys (`--map`)."""

    def __init__(self, base: RowMapper, columns: Mapping[str, str]) -> None:
        named = {column_named(name): key for name, key in columns.items()}
        added = tuple(c for c in named if c not in base.columns)
        self._columns: tuple[str, ...] = (*base.columns, *added)
        self._base = base
        self._take: Sequence[tuple[int, Convert, Lookup]] = [
            (self._columns.index(c), CONVERT[c], lookup(key)) for c, key in named.items()
        ]
        self._empty = (None,) * len(added)

    @property
    def columns(self) -> tuple[str, ...]:
        return self._columns

    def __call__(self, record: dict[str, Any]) -> Row | Dropped:
        row = self._base(record)
        if isinstance(row, Dropped):
            return row
        out = [*row, *self._empty]
        for at, convert, get in self._take:
            out[at] = convert(get(record))
        return tuple(out)
