"""Times of two runs at the same response lengths, so that a longer answer is not called a slower engine.

The time of a step is written as `k0 + a*M + b*sum(L) + c*Q`, `M` the longest response, `Q` the context
tokens held (as `model.decode` has it, with every coefficient at least 0), and fitted to the old run. What
the new run took over what that predicts for its own lengths is the slowdown. Which of the four costs are
there, the old run often cannot tell: every form that fits about as well is carried along, and the interval
covers them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rollprof.compare.series import RunSeries

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""What makes one number of a run's steps: over the last axis."""

MIN_STEPS = 5
"""Steps of each run below which nothing is said about noise."""
RESAMPLES = 1000
SEED = 20_261
AS_GOOD = 4.0
"""Difference of the corrected Akaike criterion up to which a form counts as fitting about as well."""

Form = tuple[int, ...]
Rows = NDArray[np.int64]
FORMS: tuple[Form, ...] = ((1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3))
"""Which of the columns of `lengths` a form has: constant, longest, tokens, context."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """`value` = how much longer the new run took at equal lengths, 0.2 for 20 %; `draws` of the bootstrap,
    one array for each form of the cost; `cost` (4,) is the best form's, scaled to the old run's sum."""

    value: float
    draws: tuple[Floats, ...]
    cost: Floats


def lengths(run: RunSeries) -> Floats:
    """What the time of a step can depend on, shape (S, 4): 1, longest response, tokens, context held.

    NaN where a step lacks it. Tokens are per rollout times rollouts, context is half the sum of squares.
    """
    longest, mean = run.column("response_tokens_max"), run.column("response_tokens_mean")
    spread = run.column("response_tokens_std")
    n = run.rollouts()
    n = np.where(np.isnan(n), 1.0, n)
    # without a spread, that of an exponential distribution: it only sets how context grows with length
    squares = mean**2 + np.where(np.isnan(spread), mean, spread) ** 2
    return np.stack([np.ones(len(mean)), longest, n * mean, n * squares / 2], axis=1)


def waits(run: RunSeries) -> Floats:
    """The same for times of waiting for the last rollout, which go with how far it is from the others."""
    found = lengths(run)
    found[:, 1] -= run.column("response_tokens_mean")
    return found


def matched_ratio(
    old: tuple[Floats, Floats],
    new: tuple[Floats, Floats],
    statistic: Statistic,
    *,
    forms: tuple[Form, ...] = FORMS,
    resamples: int = RESAMPLES,
) -> Ratio | None:
    """How much longer the new steps took than the old at equal lengths; both are (seconds (S,), x (S, 4)).

    None where either run has no step with a time and lengths. `statistic` makes one number of a run's
    steps (their median). Draws are empty below `MIN_STEPS` steps.
    """
    (t, x), (u, y) = _usable(*old), _usable(*new)
    if not len(t) or not len(u):
        return None
    good = _good_forms(t, x, forms)
    if not good:
        return None
    beta = fit(t, x, good[0])
    value = float(_ratios(t, x, u, y, beta[None], None, statistic)[0])
    if not np.isfinite(value):
        return None
    draws: tuple[Floats, ...] = ()
    if resamples and min(len(t), len(u)) >= MIN_STEPS:
        rows = (draw_rows(len(t), resamples, 0), draw_rows(len(u), resamples, 1))
        drawn = (_ratios(t, x, u, y, fits(t, x, form, rows[0]), rows, statistic) for form in good)
        draws = tuple(d[np.isfinite(d)] for d in drawn)
        draws = tuple(d for d in draws if len(d))
    return Ratio(value, draws, beta * (float(t.sum()) / float((x @ beta).sum())))


def draw_rows(n: int, resamples: int, stream: int) -> Rows:
    """Rows of `resamples` bootstrap samples of `n` steps, (resamples, n); the same ones every time."""
    rows: Rows = np.random.default_rng([SEED, stream]).integers(0, n, (resamples, n))
    return rows


def _usable(seconds: Floats, x: Floats) -> tuple[Floats, Floats]:
    good = np.isfinite(seconds) & (seconds > 0) & np.isfinite(x).all(axis=1)
    return seconds[good], x[good]


def _good_forms(t: Floats, x: Floats, forms: tuple[Form, ...]) -> list[Form]:
    """The forms that fit about as well as the best, that one first; at most a cost for every three steps."""
    n = len(t)
    scored = []
    for form in forms:
        k = len(form)
        beta = fit(t, x, form)
        if k > max(1, n // 3) or not beta.any():
            continue
        # logs are rounded: forms that are exact up to that are all as good
        rss = max(float(np.mean((1 - (x @ beta) / t) ** 2)), 1e-8)
        scored.append((n * np.log(rss) + 2 * k + 2 * k * (k + 1) / max(n - k - 1, 1), form))
    scored.sort(key=lambda s: (s[0], len(s[1])))
    return [form for score, form in scored if score <= scored[0][0] + AS_GOOD]


def fit(t: Floats, x: Floats, form: Form) -> Floats:
    """Costs (4,), none below 0, that make the relative errors of the steps smallest."""
    return np.asarray(fits(t, x, form, np.arange(len(t))[None])[0])


def fits(t: Floats, x: Floats, form: Form, rows: Rows) -> Floats:
    """The same for many samples of the steps: costs (R, 4) of `rows` (R, n).

    Least squares with no cost below 0 is least squares over some of the costs: with four at most, all
    choices are tried at once for all samples.
    """
    columns = list(form)
    scaled = x[:, columns] / t[:, None]
    scale = np.abs(scaled).mean(axis=0)
    scale[scale == 0] = 1.0
    scaled = scaled / scale
    counts = _counts(rows, len(t))
    gram = np.tensordot(counts, scaled[:, :, None] * scaled[:, None, :], 1)
    target = counts @ scaled
    best, found = np.full(len(rows), np.inf), np.zeros((len(rows), len(columns)))
    for size in range(1, len(columns) + 1):
        for chosen in combinations(range(len(columns)), size):
            at = np.ix_(range(len(rows)), chosen, chosen)
            # a trace of a ridge: costs that the steps cannot tell apart share what they explain
            inner = gram[at] + _RIDGE * rows.shape[1] * np.eye(size)
            wanted = target[:, list(chosen)]
            beta = np.linalg.solve(inner, wanted[:, :, None])[:, :, 0]
            error = -(beta * wanted).sum(axis=1)
            better = (beta >= 0).all(axis=1) & (error < best - _RIDGE)
            best[better] = error[better]
            found[better] = 0.0
            found[np.ix_(better, chosen)] = beta[better]
    costs = np.zeros((len(rows), x.shape[1]))
    costs[:, columns] = found / scale
    return costs


_RIDGE = 1e-9


def _counts(rows: Rows, n: int) -> Floats:
    """How often each of `n` steps is in each sample (R, n)."""
    counts = np.zeros((len(rows), n))
    np.add.at(counts, (np.arange(len(rows))[:, None], rows), 1.0)
    return counts


def _ratios(
    t: Floats,
    x: Floats,
    u: Floats,
    y: Floats,
    costs: Floats,
    rows: tuple[Rows, Rows] | None,
    statistic: Statistic,
) -> Floats:
    """Slowdown (R,) under each of the costs (R, 4); NaN where a cost gives a step no time."""
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = t / (costs @ x.T), u / (costs @ y.T)
        if rows is not None:
            before = np.take_along_axis(before, rows[0], axis=1)
            after = np.take_along_axis(after, rows[1], axis=1)
        found = statistic(after) / statistic(before) - 1.0
    good = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1)
    return np.where(good, found, np.nan)
