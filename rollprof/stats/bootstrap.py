"""Percentile bootstrap over steps of a weighted mean (a ratio of sums). Reproducible: the seed is fixed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

BLOCK = 4_000_000
"""Entries of one block of resampling weights: 32 MB."""


def ratio_interval(
    numerators: ArrayLike,
    denominators: ArrayLike,
    *,
    level: float = 0.9,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Interval of `sum(numerators) / sum(denominators)` when whole steps are drawn anew, arrays (n,).

    Steps that lack either are left out. None with fewer than two steps, or when nothing divides.
    (Efron's percentile bootstrap; steps are the units because rollouts of a step share its end.)
    """
    a, b = np.asarray(numerators, dtype=np.float64), np.asarray(denominators, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"{a.size} numerators but {b.size} denominators")
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if len(a) < 2 or not b.sum() > 0:
        return None
    drawn = np.concatenate([(w @ a) / (w @ b) for w in _weights(len(a), resamples, seed)])
    drawn = drawn[np.isfinite(drawn)]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def mean_interval(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.9,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Interval of the weighted mean of `values` (n,) over resampled steps; see `ratio_interval`."""
    v = np.asarray(values, dtype=np.float64)
    w = np.ones_like(v) if weights is None else np.asarray(weights, dtype=np.float64)
    return ratio_interval(v * w, w, level=level, resamples=resamples, seed=seed)


def _weights(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each of `n` steps was drawn, in blocks of resamples (rows, n)."""
    rng = np.random.default_rng(seed)
    size = max(1, min(resamples, BLOCK // n))
    done = 0
    while done < resamples:
        rows = min(size, resamples - done)
        yield rng.multinomial(n, np.full(n, 1 / n), size=rows).astype(np.float64)
        done += rows
