"""Rank correlation of one point per cluster, with bootstrap interval and permutation p-value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MAX_BOOTSTRAP_POINTS = 2000
"""More points than this are thinned for the interval, which is then scaled by sqrt(m/n)."""
MAX_EXACT_KENDALL = 100_000


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """`value` with its interval, `p` by permutation (None when not asked for), `n` points."""

    value: float
    low: float
    high: float
    p: float | None
    n: int


def rank_correlation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    method: Literal["spearman", "kendall"] = "spearman",
    level: float = 0.95,
    resamples: int = 1000,
    permutations: int = 1000,
    seed: int = 0,
) -> RankCorrelation | None:
    """Spearman's rho or Kendall's tau-b of x and y, shape (n,): one point per cluster.

    Rollouts of one prompt are not independent; average them first, and resample prompts. The interval is
    the percentile interval of that bootstrap, the p-value the share of permutations at least as extreme.
    None with fewer than five points or when one side does not vary.
    """
    a, b = np.asarray(x, float), np.asarray(y, float)
    ok = np.isfinite(a) & np.isfinite(b)
    a, b = a[ok], b[ok]
    n = len(a)
    if n < 5 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    rng = np.random.default_rng(seed)
    m = min(n, MAX_BOOTSTRAP_POINTS)
    chosen = rng.choice(n, m, replace=False) if m < n else np.arange(n)
    value = _whole(a, b, method)
    at = value if m == n else _one(a[chosen], b[chosen], method)
    drawn = _bootstrap(a[chosen], b[chosen], method, resamples, rng)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    shrink = np.sqrt(m / n)
    p = _permutation_p(a[chosen], b[chosen], permutations, rng) if permutations else None
    return RankCorrelation(
        value=value,
        low=float(np.clip(value + (low - at) * shrink, -1, 1)),
        high=float(np.clip(value + (high - at) * shrink, -1, 1)),
        p=p,
        n=n,
    )


def _whole(a: Floats, b: Floats, method: str) -> float:
    if method == "kendall" and len(a) > MAX_EXACT_KENDALL:
        # tau-b of a fixed random subset: its error is far below the interval's width.
        rows = np.random.default_rng(1).choice(len(a), MAX_EXACT_KENDALL, replace=False)
        return _one(a[rows], b[rows], method)
    return _one(a, b, method)


def _one(a: Floats, b: Floats, method: str) -> float:
    from scipy import stats

    if method == "kendall":
        return float(stats.kendalltau(a, b).statistic)
    return float(_pearson(stats.rankdata(a)[None, :], stats.rankdata(b)[None, :])[0])


def _pearson(a: Floats, b: Floats) -> Floats:
    """Row-wise Pearson correlation, shape (rows,)."""
    a = a - a.mean(axis=1, keepdims=True)
    b = b - b.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.asarray(np.nan_to_num(r), dtype=np.float64)


def _bootstrap(a: Floats, b: Floats, method: str, resamples: int, rng: np.random.Generator) -> Floats:
    from scipy import stats

    n = len(a)
    if method == "kendall":
        values = []
        for _ in range(min(resamples, max(100, 200_000 // n))):
            rows = rng.integers(0, n, n)
            values.append(stats.kendalltau(a[rows], b[rows]).statistic)
        return np.nan_to_num(np.array(values))
    drawn = []
    block = max(1, 1_000_000 // n)
    for start in range(0, resamples, block):
        rows = rng.integers(0, n, (min(block, resamples - start), n))
        drawn.append(_pearson(stats.rankdata(a[rows], axis=1), stats.rankdata(b[rows], axis=1)))
    return np.concatenate(drawn)


def _permutation_p(a: Floats, b: Floats, permutations: int, rng: np.random.Generator) -> float:
    from scipy import stats

    ra, rb = stats.rankdata(a), stats.rankdata(b)
    ra, rb = ra - ra.mean(), rb - rb.mean()
    seen = abs(float(ra @ rb))
    block = max(1, 1_000_000 // len(a))
    extreme = 0
    for start in range(0, permutations, block):
        rows = rng.permuted(np.tile(rb, (min(block, permutations - start), 1)), axis=1)
        extreme += int((np.abs(rows @ ra) >= seen * (1 - 1e-12)).sum())
    return (extreme + 1) / (permutations + 1)
