"""Records of any rollout log -> columns, by the names of their keys or by `--map`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Dropped, MapperContext, Row
from rollprof.adapters.generic import columns, mixed
from rollprof.adapters.generic.aliases import (
    CLAIMING,
    MILLISECONDS,
    component_keys,
    normal,
    resolve,
    step_of_name,
)
from rollprof.adapters.mapping import CONVERT, Convert, Lookup, column_named, lookup

COLUMNS = tuple(CONVERT)
_AT = {column: i for i, column in enumerate(COLUMNS)}
_TELLING = tuple(_AT[c] for c in (*CLAIMING, "generate_s"))
_QUIET = frozenset(_AT[c] for c in ("prompt", "response", "prompt_id", "group", "correct", "finish_reason"))
_START, _END = _AT["started_at"], _AT["completed_at"]


class KeyMapper:
    """One row per record. Keys that a record brings for the first time are looked up as they come, so a
    log may change its columns half way.

    Records without a step get the number that is the file's name (`7.jsonl`), else step 1.
    """

    columns = COLUMNS

    def __init__(self, context: MapperContext) -> None:
        self._mapped = {column_named(name): lookup(key) for name, key in context.columns.items()}
        self._known: set[str] = set()
        self._take: list[tuple[int, Convert, tuple[Lookup, ...]]] = []
        self._components: list[str] = []
        self._step = step_of_name(context.stem)
        self._of_step = frozenset(context.hints.get(mixed.OF_STEP, "").split(","))
        self._steps_too = mixed.STEPS_TOO in context.hints
        self._learn(context.keys)

    def __call__(self, record: dict[str, Any]) -> Row | Dropped:
        if not record.keys() <= self._known:
            self._learn(record)
        if self._steps_too and mixed.is_of_a_step(tuple(record)):
            return Dropped("")  # the reader of steps takes it
        row: list[Any] = [None] * len(COLUMNS)
        for at, convert, getters in self._take:
            for get in getters:
                raw = get(record)
                if raw is None:
                    continue
                value = convert(raw)
                if value is not None:
                    row[at] = value
                    break
                if at not in _QUIET and row[at] is None:
                    row[at] = raw  # what does not fit goes on as it stands, for the converter to remark on
        self._complete(row, record)
        return tuple(row)

    def batch(self, records: Sequence[dict[str, Any]]) -> Mapping[str, Sequence[Any]] | None:
        """The columns of plain records, as the rows one by one would give them; None for others."""
        keys = set().union(*records)
        if not keys <= self._known:
            self._learn(keys)
        if any(len(getters) > 1 for _, _, getters in self._take):
            return None
        if self._steps_too and any(map(mixed.is_of_a_step, set(map(tuple, records)))):
            return None
        found: dict[str, columns.Column] = {}
        for at, convert, (get,) in self._take:
            column = columns.column(records, convert, get, quiet=at in _QUIET)
            if column is None:
                return None
            found[COLUMNS[at]] = column
        if self._components and "rewards" in found:
            return None
        found["rewards"] = columns.components(records, self._components)
        absent = [None] * len(records)
        if not self._has_step:
            found["step"] = [self._step] * len(records)
        if not columns.completed(found, absent):
            return None
        return {name: found.get(name, absent) for name in COLUMNS}

    def _complete(self, row: list[Any], record: dict[str, Any]) -> None:
        """What follows from the other columns."""
        if row[_AT["response"]] is None:
            _split_chat(row)
        if row[_AT["completed_at"]] is None:
            start, took = row[_AT["started_at"]], row[_AT["generate_s"]]
            if type(start) is float and type(took) is float:
                row[_AT["completed_at"]] = start + took
        if all(row[at] is None for at in _TELLING) and (row[_START] is None or row[_END] is None):
            raise ValueError("no response, no token count and no time in it")
        if self._components:
            named = {k: n for k in self._components if (n := values.number(record.get(k))) is not None}
            known = row[_AT["rewards"]]
            if named and (known is None or isinstance(known, dict)):
                row[_AT["rewards"]] = {**(known or {}), **named}
        if row[_AT["response_tokens"]] is not None:
            row[_AT["token_basis"]] = row[_AT["token_basis"]] or "exact"
        if row[_AT["step"]] is None and not self._has_step:
            row[_AT["step"]] = self._step
        if row[_AT["prompt"]] is not None:
            row[_AT["prompt_id"]] = None  # the converter hashes the text
        elif row[_AT["group"]] is None:
            row[_AT["group"]] = row[_AT["prompt_id"]]
        if row[_AT["policy_version_last"]] is None:
            row[_AT["policy_version_last"]] = row[_AT["policy_version_first"]]

    def _learn(self, keys: Any) -> None:
        self._known.update(keys)
        named = resolve(sorted(self._known))
        self._take = []
        for column in COLUMNS:
            if column in self._of_step:
                continue
            if column in self._mapped:
                getters: tuple[Lookup, ...] = (self._mapped[column],)
            else:
                getters = tuple(_getter(key) for key in named.get(column, ()))
            if getters:
                self._take.append((_AT[column], CONVERT[column], getters))
        self._has_step = any(at == _AT["step"] for at, _, _ in self._take)
        # A share correct is no truth value; it stays a component of its own name.
        self._components = sorted(
            [*component_keys(self._known), *named.get("correct", ()), *named.get("reward", ())]
        )


def _getter(key: str) -> Lookup:
    if normal(key) not in MILLISECONDS:
        return lambda record: record.get(key)

    def scaled(record: Mapping[str, Any]) -> Any:
        number = values.number(record.get(key))
        return None if number is None else number / 1000

    return scaled


def _split_chat(row: list[Any]) -> None:
    """A chat that ends with the assistant holds prompt and response."""
    chat = row[_AT["prompt"]]
    if type(chat) is not list or len(chat) < 2 or not isinstance(chat[-1], dict):
        return
    if chat[-1].get("role") == "assistant":
        row[_AT["prompt"]], row[_AT["response"]] = chat[:-1], values.passage(chat[-1].get("content"))
