"""verl's file logger: one JSON object per step, `{"step": 1, "data": {…}}`."""

from __future__ import annotations

import math
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Claim, MetricPart
from rollprof.adapters.verl.runs import Entry, RunSplitter
from rollprof.schema.ledger import Ledger
from rollprof.sources.lines import read_json
from rollprof.sources.records import SniffedFile


def read(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """The runs in a file logger's file, oldest first: verl truncates it, but people join several."""
    splitter = RunSplitter(file.name, ledger)
    left_out = 0
    for record in read_json(file, ledger):
        step, data = values.integer(record.data.get("step")), record.data.get("data")
        if step is None or not isinstance(data, dict):
            ledger.note(file.name, record.offset, "no step and data: not a record of the file logger")
            continue
        pairs = numbers(data)
        left_out += len(data) - len(pairs)
        if pairs:
            splitter.add(Entry(step, pairs, record.offset))
    if left_out:
        ledger.note(file.name, 0, f"{left_out} values that are no numbers left out")
    runs = splitter.finish()
    if not runs:
        return [MetricPart(file, claim, hints=dict(claim.hints))]
    return [
        MetricPart(
            file,
            claim,
            metrics=run.metrics,
            hints=dict(claim.hints),
            label=str(i + 1) if len(runs) > 1 else "",
        )
        for i, run in enumerate(runs)
    ]


def numbers(data: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """The scalars of a record. null stands for a NaN or an infinity (0.7.1 and later) and becomes NaN."""
    pairs: list[tuple[str, float]] = []
    for key, value in data.items():
        if value is None:
            pairs.append((key, math.nan))
        elif isinstance(value, bool | int | float):
            try:
                pairs.append((key, float(value)))
            except OverflowError:
                continue
    return tuple(pairs)
