"""Step metrics whose keys are column names of `steps`, one record per step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Claim, Evidence, Fact, Interpretation, MetricPart
from rollprof.adapters.mapping import split_name
from rollprof.schema.ledger import Ledger
from rollprof.schema.tables import ROLLOUTS, STEPS
from rollprof.sources.records import MetricRecord, SniffedFile

COLUMNS = frozenset(STEPS.column_names) - {"step", "split"}
TELLING = COLUMNS - set(ROLLOUTS.column_names) - {"rollouts", "prompts", "gpus", "logged_at"}
"""Columns that only a step has."""

SINGLE = frozenset(ROLLOUTS.column_names) - set(STEPS.column_names) | {"prompt", "response"}
"""Columns that only a single rollout has."""

EVAL = "eval/"


def is_step(record: Mapping[str, Any]) -> bool:
    """True for a record of one step: a column that only a step has, another one of a step, and none of a
    single rollout."""
    keys = record.keys()
    return "step" in keys and bool(TELLING & keys) and len(COLUMNS & keys) >= 2 and not SINGLE & keys


def read(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """One part with all steps. Evaluation steps (`split`) keep apart by a prefix of their keys."""
    from rollprof.sources.lines import read_json

    part = MetricPart(file, claim, hints=dict(claim.hints))
    for record in read_json(file, ledger):
        step = values.integer(record.data.get("step"))
        if step is None:
            ledger.note(file.name, record.offset, "no step number, left out")
            continue
        prefix = EVAL if split_name(record.data.get("split")) == "eval" else ""
        time = values.moment(record.data.get("logged_at"))
        for key, value in record.data.items():
            number = values.number(value) if key in COLUMNS and key != "logged_at" else None
            if number is not None:
                part.metrics.append(MetricRecord(step, prefix + key, number, time, record.offset))
    return [part]


def interpret(evidence: Evidence) -> Interpretation:
    """The columns as they stand; GPUs where they are logged."""
    rows = [row for step in sorted(evidence.metrics) for row in _rows(step, evidence)]
    gpus = sorted({m["gpus"] for m in evidence.metrics.values() if m.get("gpus", 0) > 0})
    facts = {"gpus": Fact(gpus[-1], "logged", "column gpus")} if len(gpus) == 1 else {}
    return Interpretation(steps=rows, facts=facts)


def _rows(step: int, evidence: Evidence) -> Iterator[dict[str, Any]]:
    metrics = evidence.metrics[step]
    for split, prefix in (("train", ""), ("eval", EVAL)):
        row: dict[str, Any] = {
            key.removeprefix(prefix): _typed(key.removeprefix(prefix), value)
            for key, value in metrics.items()
            if key.startswith(EVAL) == bool(prefix) and key.removeprefix(prefix) in COLUMNS
        }
        if row:
            time = evidence.times.get(step)
            yield {"step": step, "split": split, **row, **({"logged_at": time} if time is not None else {})}


def _typed(column: str, value: float) -> float | int | None:
    if STEPS[column].type == "int64":
        return int(value) if value.is_integer() else None
    return value
