"""Rows of TRL's completions files -> rows of `rollouts`.

A file holds the last generation batch in generation order: `num_generations` rows in a row are a group, and
equal blocks of rows belong to the processes one after the other. Which columns are rewards, how they were
weighted and how large groups are is told by the hints of `arranging`; without them the mapper keeps to what
a row shows by itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import MapperContext, Row

TEXTS = ("step", "prompt", "completion", "advantage")
"""Columns that every release writes."""
SWIFT = ("advantages", "solution", "num_turns", "entropy", "gen_step")
"""Columns of ms-swift that are no rewards."""

END_TOKENS = "end_tokens"
RESPONSE_CAP = "response_cap"
GROUP_SIZE = "group_size"
REWARDS = "rewards"
WEIGHTS = "weights"
EVAL_ROWS = "eval_rows"
TRAIN_ROWS = "train_rows"
ENGINE_ROWS = "engine_rows"
ENGINE_NAME = "engine_name"

NUMBERED = re.compile(r"completions_(\d{5,})(?:\.parquet)?$")

COLUMNS = (
    "step",
    "split",
    "prompt",
    "response",
    "group",
    "sample_index",
    "reward",
    "rewards",
    "advantage",
    "turns",
    "engine",
)


class CompletionMapper:
    """Maps the rows of one file, in order."""

    def __init__(self, context: MapperContext) -> None:
        hints = context.hints
        self._group_size = int(hints.get(GROUP_SIZE, "0"))
        self._engine_rows = int(hints.get(ENGINE_ROWS, "0"))
        self._engine_name = hints.get(ENGINE_NAME, "engine")
        self._train_rows = int(hints[TRAIN_ROWS]) if TRAIN_ROWS in hints else None
        self._eval_group_size = int(hints.get(EVAL_ROWS, "0")) or self._group_size
        self._names: list[str] | None = json.loads(hints[REWARDS]) if REWARDS in hints else None
        self._weights: list[float] | None = json.loads(hints[WEIGHTS]) if WEIGHTS in hints else None
        self._step = _numbered(context.stem)
        self._extras = _between(context.keys)
        self._row = 0
        self._last_prompt: Any = None
        self._run = -1
        self._in_run = 0

    @property
    def columns(self) -> tuple[str, ...]:
        return COLUMNS

    def __call__(self, record: dict[str, Any]) -> Row:
        row, self._row = self._row, self._row + 1
        prompt = _passage(record.get("prompt"))
        evaluated = self._train_rows is not None and row >= self._train_rows
        group, index = self._place(row - (self._train_rows or 0) if evaluated else row, prompt, evaluated)
        rewards = self._rewards(record)
        step = values.integer(record.get("step"))
        completion = record.get("completion")
        return (
            self._step if step is None else step,
            "eval" if evaluated else None,
            prompt,
            _response(completion),
            group,
            index,
            self._reward(record),
            rewards or None,
            values.number(record.get("advantage", record.get("advantages"))),
            _turns(completion),
            None if evaluated or not self._engine_rows else f"{self._engine_name}{row // self._engine_rows}",
        )

    def _place(self, row: int, prompt: Any, evaluated: bool) -> tuple[str, int]:
        """Group and position in it: by row number, else by runs of equal prompts."""
        size = self._eval_group_size if evaluated else self._group_size
        if size:
            return f"{'eval' if evaluated else ''}{row // size}", row % size
        if self._run < 0 or prompt != self._last_prompt:
            self._last_prompt, self._run, self._in_run = prompt, self._run + 1, -1
        self._in_run += 1
        return str(self._run), self._in_run

    def _rewards(self, record: Mapping[str, Any]) -> dict[str, float]:
        """Reward columns under their names; without a hint, every column of numbers that could be one."""
        names = self._extras if self._names is None else self._names
        found = {}
        for name in names:
            value = record.get(name)
            if type(value) is float and math.isfinite(value):
                found[name] = value
        return found

    def _reward(self, record: Mapping[str, Any]) -> float | None:
        """The weighted sum, with functions that returned nothing left out, as the trainer forms it; None
        where no function returned anything."""
        if self._names is None or self._weights is None:
            return None
        total, any_value = 0.0, False
        for name, weight in zip(self._names, self._weights, strict=True):
            value = record.get(name)
            if type(value) is float and not math.isnan(value):
                total += weight * value
                any_value = True
        return total if any_value else None


def _numbered(stem: str) -> int | None:
    match = NUMBERED.match(stem)
    return int(match.group(1)) if match is not None else None


def _between(keys: Sequence[str]) -> list[str]:
    """Columns that are neither texts nor the advantage: rewards, and what reward functions logged."""
    return [k for k in keys if k not in (*TEXTS, *SWIFT) and not k.startswith("__index_level_")]


def _passage(value: Any) -> Any:
    """Text as it stands; a chat without the keys that Parquet filled with nulls, so that the same chat is
    the same in every file."""
    if isinstance(value, list):
        return [_message(m) for m in value]
    return values.passage(value)


def _message(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    return {k: _passage(v) if isinstance(v, list) else v for k, v in message.items() if v is not None}


def _response(value: Any) -> Any:
    """What the policy wrote: TRL counts its tokens and leaves out what tools and environments answered."""
    chat = _passage(value)
    if not isinstance(chat, list):
        return chat
    own = [m for m in chat if not isinstance(m, dict) or m.get("role") == "assistant"]
    return [part for message in own for part in _with_calls(message)]


def _with_calls(message: Any) -> list[Any]:
    """A message, and its tool calls as text: they are tokens of the policy too."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    if not calls:
        return [message]
    return [message, {"role": "assistant", "content": json.dumps(calls, ensure_ascii=False, default=str)}]


def _turns(value: Any) -> int | None:
    """Messages of the policy in a chat."""
    if not isinstance(value, list):
        return None
    return sum(isinstance(m, dict) and m.get("role") == "assistant" for m in value) or None
