"""Metric parts of one run -> one value per step and key. The more exact source wins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollprof.adapters.base import Evidence, Interpretation, MetricPart, RolloutSummary

EXACTNESS: Mapping[tuple[str, str], int] = {
    ("metrics", "exact"): 0,
    ("metrics", "unknown"): 0,
    ("config", "unknown"): 1,
    ("console", "exact"): 2,
    ("metrics", "float32"): 3,
}
"""By role and precision, lower is more exact: a file logger keeps every digit, a console line may be damaged,
TensorBoard keeps seven digits; all other consoles come last, which may keep three."""
PRINTED = 4


@dataclass(slots=True)
class Merged:
    """All metric records of a run. `metrics[step][key]`, `times[step]`; records without a step are left
    out here (they stay in metrics.parquet)."""

    metrics: dict[int, dict[str, float]] = field(default_factory=dict)
    times: dict[int, float] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)


def exactness(part: MetricPart) -> int:
    """Rank of a part: lower is more exact."""
    return EXACTNESS.get((part.claim.role, part.precision), PRINTED)


def by_exactness(parts: Iterable[MetricPart]) -> list[MetricPart]:
    """Parts, the most exact first; of equals the one that was written last, since a resumed run logs steps
    again. Stable where the clock does not tell."""
    return sorted(parts, key=lambda p: (exactness(p), -last_time(p)))


def last_time(part: MetricPart) -> float:
    """When the last of its records was logged; 0 where it has no clock."""
    return max((r.time for r in part.metrics if r.time is not None), default=0.0)


def first_time(part: MetricPart) -> float:
    """When the first of its records was logged; infinity where it has no clock."""
    return min((r.time for r in part.metrics if r.time is not None), default=math.inf)


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


def precedence(parts: Sequence[MetricPart]) -> list[tuple[MetricPart, str]]:
    """(part, remark) for each file whose values stand in a more exact one too: which one counts."""
    remarks: list[tuple[MetricPart, str]] = []
    told: dict[str, tuple[MetricPart, set[tuple[int, str]]]] = {}
    for part in by_exactness(parts):
        mine = {(r.step, r.key) for r in part.metrics if r.step is not None}
        for better, theirs in told.values():
            if better.file.path != part.file.path and (both := mine & theirs):
                steps = len({step for step, _ in both})
                remarks.append(
                    (
                        part,
                        f"{len(both)} values of {steps} steps are in {better.file.name} too, "
                        f"which {_why(better, part)}: its values count",
                    )
                )
                break
        known = told.setdefault(part.file.path, (part, set()))
        known[1].update(mine)
    return remarks


def _why(better: MetricPart, part: MetricPart) -> str:
    return "is more exact" if exactness(better) < exactness(part) else "is as exact and comes first"


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
