"""Intraclass correlation ICC(1) of unbalanced groups, with a cluster bootstrap interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MAX_BOOTSTRAP_GROUPS = 4000
"""More groups than this are thinned for the interval, which is then scaled by sqrt(m/n)."""


@dataclass(frozen=True, slots=True)
class Icc:
    """ICC(1) and its interval; `groups` of at least two members, `members` in them."""

    value: float
    low: float
    high: float
    groups: int
    members: int


def icc1(
    values: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Icc | None:
    """One-way random effects ICC: (MSB - MSW) / (MSB + (n0 - 1) MSW), n0 for unequal group sizes.

    `values` and `groups` have shape (n,); groups of one member say nothing about the spread inside a
    group and are left out. The interval comes from resampling whole groups, so that it needs no normal
    distribution, with the bias of resampling taken out. None with fewer than three groups, or when nothing
    varies. (Shrout & Fleiss 1979; n0: Donner 1986.)
    """
    v = np.asarray(values, float)
    keys, index, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    keep = (counts >= 2)[index] & np.isfinite(v)
    if not keep.any():
        return None
    _, index = np.unique(index[keep], return_inverse=True)
    v = v[keep]
    n: Floats = np.bincount(index).astype(np.float64)
    mean: Floats = np.asarray(np.bincount(index, v) / n, dtype=np.float64)
    within: Floats = np.asarray(np.bincount(index, (v - mean[index]) ** 2), dtype=np.float64)
    if len(n) < 3 or len(keys) < 3:
        return None
    value = float(_icc(np.ones((1, len(n))), n, mean, within)[0])
    if not np.isfinite(value):
        return None
    rng = np.random.default_rng(seed)
    m = min(len(n), MAX_BOOTSTRAP_GROUPS)
    some = rng.choice(len(n), m, replace=False) if m < len(n) else np.arange(m)
    at = float(_icc(np.ones((1, m)), n[some], mean[some], within[some])[0])
    draws = rng.multinomial(m, np.full(m, 1 / m), size=resamples)
    drawn = _icc(draws, n[some], mean[some], within[some])
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < resamples // 2:
        return None
    low, high = _bias_corrected(drawn, at, level)
    shrink = np.sqrt(m / len(n))
    return Icc(
        value, float(value + (low - at) * shrink), float(value + (high - at) * shrink), len(n), len(v)
    )


def _icc(weights: npt.NDArray[np.generic], n: Floats, mean: Floats, within: Floats) -> Floats:
    """ICC(1) for each row of group weights (how often a group was drawn), shape (rows,)."""
    w = np.asarray(weights, float)
    k = w.sum(axis=1)
    total = w @ n
    grand = (w @ (n * mean)) / total
    between = w @ (n * mean**2) - total * grand**2
    msb = between / (k - 1)
    msw = (w @ within) / (total - k)
    n0 = (total - (w @ n**2) / total) / (k - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((msb - msw) / (msb + (n0 - 1) * msw), dtype=np.float64)


def _bias_corrected(drawn: Floats, value: float, level: float) -> tuple[float, float]:
    """Bias-corrected percentile interval (Efron): resampled groups repeat, which biases ICC a little."""
    from scipy.stats import norm

    share = float(np.clip(np.mean(drawn < value), 1 / len(drawn), 1 - 1 / len(drawn)))
    z0 = norm.ppf(share)
    z = norm.ppf((1 + level) / 2)
    ends = np.quantile(drawn, np.array([norm.cdf(2 * z0 - z), norm.cdf(2 * z0 + z)]))
    return float(ends[0]), float(ends[1])
