"""The decode cost from samples of the engines: a step decodes one token per running rollout, so it takes
`running / (tokens per second)` seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rollprof.model.decode import DecodeCost

if TYPE_CHECKING:
    import polars as pl

FEWEST = 20
_EVERY = 5


@dataclass(frozen=True, slots=True)
class SamplesFit:
    """`a + b*B` fitted to `n` samples. Errors are mean absolute over mean step seconds, on every fifth
    sample; skill is being better than the median of the others."""

    cost: DecodeCost
    n: int
    held_out_error: float
    constant_error: float
    skill: bool


def fit_samples(engines: pl.LazyFrame) -> SamplesFit | None:
    """None with fewer than 20 samples of an engine at work, or without throughput."""
    import polars as pl

    names = set(engines.collect_schema().names())
    if not {"running", "generation_tokens_s"} <= names:
        return None
    columns = [pl.col(c).cast(pl.Float64, strict=False) for c in ("running", "generation_tokens_s")]
    table = engines.select(columns).drop_nulls().collect()
    running = table["running"].to_numpy().astype(np.float64)
    pace = table["generation_tokens_s"].to_numpy().astype(np.float64)
    good = np.isfinite(running) & np.isfinite(pace) & (running >= 1) & (pace > 0)
    running, seconds = running[good], running[good] / pace[good]
    if len(running) < FEWEST or np.ptp(running) < 2:
        return None
    # an engine that just ran dry shows old throughput with few running: far off, and left out
    typical = float(np.median(seconds))
    near = (seconds < 10 * typical) & (seconds > typical / 10)
    running, seconds = running[near], seconds[near]
    held = np.arange(len(running)) % _EVERY == _EVERY - 1
    if not held.any():
        return None
    a, b = _solve(running[~held], seconds[~held])
    mean = float(seconds[held].mean())
    error = float(np.abs(a + b * running[held] - seconds[held]).mean()) / mean
    constant = float(np.abs(np.median(seconds[~held]) - seconds[held]).mean()) / mean
    a, b = _solve(running, seconds)
    return SamplesFit(DecodeCost(0.0, a, b, 0.0), len(running), error, constant, error < constant)


def _solve(
    running: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
    seconds: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> tuple[float, float]:
    from scipy.optimize import nnls

    top = float(running.max())
    a, b = nnls(np.column_stack([np.ones(len(running)), running / top]), seconds)[0].tolist()
    return a, b / top
