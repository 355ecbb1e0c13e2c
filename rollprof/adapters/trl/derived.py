"""What the metrics of a run say about its dump, as settings under `log.`: which steps were evaluated, what
the reward functions are called and how they were weighted, where the run ended.

The files of a dump do not say these things; whoever arranges and maps them looks here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rollprof.sources.records import MetricRecord

FUNCTIONS = "log.reward_functions"
WEIGHTS = "log.reward_weights"
EVALUATED = "log.evaluated."
LAST_STEP = "log.last_step"

SAME = 2e-3
"""Relative difference up to which a sum of rewards is the logged one: four printed digits each."""


def derived_settings(metrics: Sequence[MetricRecord], *, finished: bool) -> dict[str, Any]:
    """Settings under `log.` from the records of one part. `finished`: training came to its end."""
    steps: dict[int, dict[str, float]] = {}
    for record in metrics:
        if record.step is not None:
            steps.setdefault(record.step, {})[record.key] = record.value
    settings: dict[str, Any] = {}
    for step, values in steps.items():
        if any(key.startswith("eval_completions/") or key == "eval_reward" for key in values):
            settings[f"{EVALUATED}{step}"] = _evaluated_prompts(values)
    names = reward_functions(steps.values())
    if names:
        settings[FUNCTIONS] = names
        weights = reward_weights(names, steps.values())
        if weights is not None:
            settings[WEIGHTS] = dict(zip(names, weights, strict=True))
    if finished and steps:
        settings[LAST_STEP] = max(steps)
    return settings


def _evaluated_prompts(values: Mapping[str, float]) -> int:
    """Prompts of an evaluation: its duration times its speed; 0 where these are not logged."""
    count = values.get("eval_runtime", math.nan) * values.get("eval_samples_per_second", math.nan)
    return round(count) if math.isfinite(count) else 0


def reward_functions(steps: Iterable[Mapping[str, float]]) -> list[str]:
    """Names of the reward functions: `rewards/NAME/mean` (from 0.17) or `rewards/NAME`."""
    names: dict[str, None] = {}
    for values in steps:
        for key in values:
            if key.startswith("rewards/"):
                name = key.removeprefix("rewards/")
                if name.endswith("/mean"):
                    names[name.removesuffix("/mean")] = None
                elif not name.endswith("/std"):
                    names[name] = None
    return list(names)


def reward_weights(names: Sequence[str], steps: Iterable[Mapping[str, float]]) -> list[float] | None:
    """Weights with which the means of the functions add up to the logged reward.

    TRL's default is 1 for each; other weights follow from enough steps by least squares. None where the
    logged numbers do not add up (a function that skips rows) or are too few.
    """
    rows: list[list[float]] = []
    totals: list[float] = []
    for values in steps:
        row = [values.get(f"rewards/{n}/mean", values.get(f"rewards/{n}", math.nan)) for n in names]
        total = values.get("reward", math.nan)
        if all(map(math.isfinite, [*row, total])):
            rows.append(row)
            totals.append(total)
    if not rows:
        return None
    if _adds_up(rows, totals, [1.0] * len(names)):
        return [1.0] * len(names)
    if len(rows) <= len(names):
        return None
    import numpy as np

    solved, _, rank, _ = np.linalg.lstsq(np.array(rows), np.array(totals), rcond=None)
    weights = [round(float(w), 3) for w in solved]
    return weights if rank == len(names) and _adds_up(rows, totals, weights) else None


def _adds_up(rows: Sequence[Sequence[float]], totals: Sequence[float], weights: Sequence[float]) -> bool:
    for row, total in zip(rows, totals, strict=True):
        parts = [w * v for w, v in zip(weights, row, strict=True)]
        if abs(sum(parts) - total) > SAME * max(1e-2, *map(abs, parts), abs(total)):
            return False
    return True
