"""Statistics of one set of response lengths. Numpy in, plain floats out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.results import Histogram

Floats = NDArray[np.float64]

PERCENTILES = (50, 90, 95, 99)
TAILS = (1, 5, 10)
"""Percent of the responses whose share of the tokens is a figure."""
BINS = 40
"""Bars of a histogram: what a terminal of 80 columns and a plot both show well."""


def sorted_lengths(values: Floats) -> Floats:
    """The known lengths, ascending."""
    return np.sort(values[~np.isnan(values)])


def quantiles(ordered: Floats, percents: tuple[float, ...] | Floats) -> Floats:
    """Percentiles of ascending values, linear interpolation between order statistics."""
    at = np.asarray(percents, dtype=np.float64) / 100 * (len(ordered) - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, len(ordered) - 1)
    return np.asarray(ordered[low] + (ordered[high] - ordered[low]) * (at - low), dtype=np.float64)


def summary(ordered: Floats) -> dict[str, float]:
    """Length figures by name, of ascending lengths (N,), N > 0. Without a ratio that divides by zero."""
    n, total = len(ordered), float(ordered.sum())
    mean = total / n
    found = {
        "response_tokens_mean": mean,
        "response_tokens_std": float(np.sqrt(np.mean((ordered - mean) ** 2))),
        "response_tokens_min": float(ordered[0]),
        "response_tokens_max": float(ordered[-1]),
    }
    at = dict(zip(PERCENTILES, quantiles(ordered, PERCENTILES).tolist(), strict=True))
    found.update({f"response_tokens_p{p}": value for p, value in at.items()})
    if at[50] > 0:
        found["max_over_median"] = found["response_tokens_max"] / at[50]
        found["p99_over_p50"] = at[99] / at[50]
    if total > 0:
        found["gini_length"] = gini(ordered)
        for percent in TAILS:
            longest = max(1, math.ceil(percent * n / 100 - 1e-9))
            found[f"tail_token_share_{percent}"] = float(ordered[n - longest :].sum()) / total
    return found


def gini(ordered: Floats) -> float:
    """Gini coefficient of ascending values: `1 - sum_ij min(x_i, x_j) / (N*sum(x))`, 0 when all are equal."""
    n = len(ordered)
    rank = np.arange(1, n + 1, dtype=np.float64)
    return max(0.0, float((2 * rank - n - 1) @ ordered) / (n * float(ordered.sum())))


def histograms(ordered: Floats, unit: str) -> tuple[Histogram, Histogram]:
    """Linear and log-spaced histogram of ascending lengths (N,), N > 0. Every length is counted in both."""
    low, high = float(ordered[0]), float(ordered[-1])
    start = 0.0 if low < high / 4 else low
    linear = np.linspace(start, max(high, start + 1), BINS + 1)
    logged = np.geomspace(max(1.0, low), max(high, max(1.0, low) * 2), BINS + 1)
    logged[0], logged[-1] = max(1.0, low), max(high, max(1.0, low) * 2)
    return (
        Histogram(tuple(linear.tolist()), _counts(ordered, linear), unit, "linear"),
        Histogram(tuple(logged.tolist()), _counts(np.maximum(ordered, logged[0]), logged), unit, "log"),
    )


def _counts(ordered: Floats, edges: Floats) -> tuple[int, ...]:
    """Counts per bin, the last bin closed on both sides."""
    below = np.searchsorted(ordered, edges, side="left")
    below[0], below[-1] = 0, len(ordered)
    return tuple(int(c) for c in np.diff(below))


def kaplan_meier(values: Floats, censored: NDArray[np.bool_]) -> tuple[float | None, float]:
    """Median and restricted mean of lengths (N,), N > 0, some of which are cut before their end.

    The median is the smallest length with S(x) <= 1/2, None where more than half are censored before it;
    the mean is the integral of S up to the longest length seen. (Kaplan and Meier 1958.)
    """
    if not (censored & (values < values.max())).any():
        return _uncensored(values, censored)  # one common cap: the sample itself, without sorting twice
    from scipy import stats

    survival = stats.ecdf(stats.CensoredData.right_censored(values, censored)).sf
    at = np.asarray(survival.quantiles, dtype=np.float64)
    left = np.asarray(survival.probabilities, dtype=np.float64)
    # S is 1 up to the first length and constant between lengths
    widths = np.diff(np.concatenate([[0.0], at]))
    before = np.concatenate([[1.0], left[:-1]])
    below = np.flatnonzero(left <= 0.5 + 1e-12)
    median = float(at[below[0]]) if len(below) else None
    return median, float(before @ widths)


def _uncensored(values: Floats, censored: NDArray[np.bool_]) -> tuple[float | None, float]:
    """Kaplan-Meier where nothing is censored below the longest length."""
    half = -(-len(values) // 2)
    median = float(np.partition(values, half - 1)[half - 1])
    ended = len(values) - int(censored.sum())
    return (median if ended >= half or median < values.max() else None), float(values.mean())


def theil_sen(steps: Floats, values: Floats, level: float = 0.9) -> tuple[float, float, float]:
    """Slope per step and its interval (Sen). Beyond 1,000 steps, of medians over blocks of equal size."""
    from scipy import stats

    if len(steps) > MAX_SLOPE_POINTS:
        blocks = np.array_split(np.arange(len(steps)), MAX_SLOPE_POINTS)
        steps, values = (np.array([np.median(x[b]) for b in blocks]) for x in (steps, values))
    found = stats.theilslopes(values, steps, alpha=level)
    return float(found.slope), float(found.low_slope), float(found.high_slope)


MAX_SLOPE_POINTS = 1000
"""All pairs of more points than this take memory that the answer does not need."""
