"""Metric parts of one run -> one value per step and key. The more exact source wins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollprof.adapters.base import Evidence, Interpretation, MetricPart, RolloutSummary

EXACTNESS = {"metrics": 0, "config": 1, "console": 2}
"""Lower is more exact: a file logger keeps every digit, a console line may keep three."""


@dataclass(slots=True)
class Merged:
    """All metric records of a run. `metrics[step][key]`, `times[step]`; records without a step are left
    out here (they stay in metrics.parquet)."""

    metrics: dict[int, dict[str, float]] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)


def by_exactness(parts: Iterable[MetricPart]) -> list[MetricPart]:
    """Parts, the most exact first; stable among equals."""
    return sorted(parts, key=lambda p: EXACTNESS.get(p.claim.role, 3))


def merge(parts: Sequence[MetricPart]) -> Merged:
    """Merge the parts of one run.

    Within a part the last finite value of a (step, key) wins: frameworks log a key again when a step is
    repeated after a resume. Between parts the more exact one wins, and the others fill its gaps.
    """
    merged = Merged()
    for part in by_exactness(parts):
        for step, values in values_by_step(part).items():
            known = merged.metrics.setdefault(step, {})
            for key, value in values.items():
                if key not in known or (math.isnan(known[key]) and not math.isnan(value)):
                    known[key] = value
        for record in part.metrics:
            if record.step is not None and record.time is not None:
                merged.times.setdefault(record.step, record.time)
        for name, setting in part.config.items():
            merged.config.setdefault(name, setting)
        for name, hint in part.hints.items():
            merged.hints.setdefault(name, hint)
    return merged


def values_by_step(part: MetricPart) -> dict[int, dict[str, float]]:
    """`values[step][key]` of one part; a later finite value replaces an earlier one."""
    values: dict[int, dict[str, float]] = {}
    for record in part.metrics:
        if record.step is None:
            continue
        at = values.setdefault(record.step, {})
        if record.key not in at or not math.isnan(record.value):
            at[record.key] = record.value
    return values


def evidence(
    merged: Merged,
    overrides: Mapping[str, Any],
    rollouts: Mapping[tuple[int, str], RolloutSummary],
) -> Evidence:
    """The merged run as adapters interpret it."""
    return Evidence(
        metrics=merged.metrics,
        times=merged.times,
        config=merged.config,
        hints=merged.hints,
        overrides=overrides,
        rollouts=rollouts,
    )


def combine(interpretations: Sequence[Interpretation]) -> Interpretation:
    """Interpretations of one run by several adapters: the first wins per column, the others fill gaps."""
    if len(interpretations) == 1:
        return interpretations[0]
    rows: dict[tuple[Any, Any], dict[str, Any]] = {}
    for one in interpretations:
        for row in one.steps:
            known = rows.setdefault((row["step"], row.get("split", "train")), {})
            for column, value in row.items():
                if known.get(column) is None:
                    known[column] = value
    facts = {name: fact for one in reversed(interpretations) for name, fact in one.facts.items()}
    return Interpretation(
        steps=list(rows.values()),
        facts=facts,
        version=next((i.version for i in interpretations if i.version), None),
        trainer=next((i.trainer for i in interpretations if i.trainer), None),
        alarms=[a for i in interpretations for a in i.alarms],
        notes=[n for i in interpretations for n in i.notes],
    )
