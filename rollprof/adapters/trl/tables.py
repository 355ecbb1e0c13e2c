"""Completions in other containers than TRL's Parquet: wandb's tables, ms-swift's `completions.jsonl`.

A table is a copy of the Parquet file of its step where both are there. ms-swift writes an object per log,
whose values are lists, one entry per completion.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Claim
from rollprof.adapters.trl import completions, processes
from rollprof.adapters.trl.derived import EVALUATED, FUNCTIONS
from rollprof.schema.ledger import Ledger
from rollprof.sources.columnar import COLUMNAR, is_table, rows_of
from rollprof.sources.lines import read_json
from rollprof.sources.records import SniffedFile

COPY = "copy"
"""Hint: other files of the run hold the same rollouts, more of them or more exactly."""

FIRST = ("step", "prompt", "completion")

Pair = tuple[SniffedFile, Claim]
Weigh = Callable[[Sequence[str], Mapping[str, Any]], list[float] | None]


def claim_table(file: SniffedFile, adapter: str) -> Claim | None:
    """A table of completions, or ms-swift's lines of lists."""
    first: Mapping[str, Any] = file.objects[0] if file.objects else {}
    if is_table(first) and tuple(first["columns"][:3]) == FIRST:
        series = file.name.rpartition("/")[0] or file.name
        why = "completions of TRL in a table of wandb's"
        hints = {COLUMNAR: "1", COPY: "1", "whole_file": "1"}
        return Claim(adapter, "rollouts", 0.9, why, series=series, hints=hints)
    if all(isinstance(first.get(key), list) for key in FIRST):
        why = "completions.jsonl of ms-swift (a relative of TRL): a list per column"
        hints = {COLUMNAR: "1", "whole_file": "1"}
        return Claim(adapter, "rollouts", 0.9, why, series=file.name, hints=hints)
    return None


def arrange_tables(
    files: Sequence[Pair], config: Mapping[str, Any], weigh: Weigh, shared: Mapping[str, str], ledger: Ledger
) -> list[Pair]:
    """The files with what the run's settings say about them, without tables that repeat the one before.
    `weigh(names, config)` gives the weights of reward functions."""
    told = [str(n) for n in config.get(FUNCTIONS) or []]
    size = values.integer(config.get("num_generations"))
    out: list[Pair] = []
    before: list[str] | None = None
    for file, claim in files:
        hints = {**claim.hints, **shared}
        split = claim.split
        first: Mapping[str, Any] = file.objects[0] if file.objects else {}
        columns = [str(c) for c in first["columns"]] if is_table(first) else list(first)
        names = [c for c in columns if c in told]
        weights = weigh(names, config) if names else None
        if names:
            hints[completions.REWARDS] = json.dumps(names)
        if weights is not None:
            hints[completions.WEIGHTS] = json.dumps(weights)
        if is_table(first):
            rows = list(_rows(file))
            content = [json.dumps({k: v for k, v in r.items() if k != "step"}, sort_keys=True) for r in rows]
            if content and content == before:
                ledger.dropped += len(rows)
                ledger.note(file.name, 0, "left out: the same completions as the table before")
                continue
            before = content
            if size and rows and len(rows) % size == 0:
                hints[completions.GROUP_SIZE] = str(size)
            hints |= processes.engine_hints(len(rows), config)
            if rows and f"{EVALUATED}{rows[0].get('step')}" in config:
                split = "eval"
        out.append((file, replace(claim, split=split, hints=hints)))
    return out


def _rows(file: SniffedFile) -> Iterator[dict[str, Any]]:
    for record in read_json(file, Ledger()):
        yield from rows_of(record.data)
