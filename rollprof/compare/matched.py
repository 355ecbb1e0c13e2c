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

import numpy as np
from numpy.typing import NDArray

from rollprof.compare.series import RunSeries

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], float]

MIN_STEPS = 5
"""Steps of each run below which nothing is said about noise."""
RESAMPLES = 400
SEED = 20_261
AS_GOOD = 4.0
"""Difference of the corrected Akaike criterion up to which a form counts as fitting about as well."""

FORMS: tuple[tuple[int, ...], ...] = ((1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2), (1, 2, 3), (0, 1, 2, 3))
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
    forms: tuple[tuple[int, ...], ...] = FORMS,
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
    best = good[0]
    beta = _fit(t, x, best)
    value = _ratio(t, x, u, y, beta, statistic)
    if value is None:
        return None
    draws: tuple[Floats, ...] = ()
    if min(len(t), len(u)) >= MIN_STEPS:
        draws = tuple(_bootstrap(t, x, u, y, form, statistic, resamples) for form in good)
        draws = tuple(d for d in draws if len(d))
    return Ratio(value, draws, beta * (float(t.sum()) / float((x @ beta).sum())))


def _usable(seconds: Floats, x: Floats) -> tuple[Floats, Floats]:
    good = np.isfinite(seconds) & (seconds > 0) & np.isfinite(x).all(axis=1)
    return seconds[good], x[good]


def _good_forms(t: Floats, x: Floats, forms: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
    """The forms that fit about as well as the best, that one first; at most a cost for every three steps."""
    n = len(t)
    scored = []
    for form in forms:
        k = len(form)
        if k > max(1, n // 3):
            continue
        beta = _fit(t, x, form)
        if not beta.any():
            continue
        rss = float(np.mean((1 - (x @ beta) / t) ** 2))
        # logs are rounded: forms that are exact up to that are all as good
        rss = max(rss, 1e-8)
        scored.append((n * np.log(rss) + 2 * k + 2 * k * (k + 1) / max(n - k - 1, 1), form))
    scored.sort(key=lambda s: (s[0], len(s[1])))
    return [form for score, form in scored if score <= scored[0][0] + AS_GOOD]


def _fit(t: Floats, x: Floats, form: tuple[int, ...]) -> Floats:
    """Costs (4,), none below 0, that make the relative errors of the steps smallest."""
    from scipy.optimize import nnls

    columns = list(form)
    scale = np.abs(x[:, columns]).mean(axis=0)
    scale[scale == 0] = 1.0
    found, _ = nnls(x[:, columns] / scale / t[:, None], np.ones(len(t)))
    beta = np.zeros(x.shape[1])
    beta[columns] = found / scale
    return beta


def _ratio(t: Floats, x: Floats, u: Floats, y: Floats, beta: Floats, statistic: Statistic) -> float | None:
    before, after = x @ beta, y @ beta
    if not (before > 0).all() or not (after > 0).all():
        return None
    return statistic(u / after) / statistic(t / before) - 1.0


def _bootstrap(
    t: Floats,
    x: Floats,
    u: Floats,
    y: Floats,
    form: tuple[int, ...],
    statistic: Statistic,
    resamples: int,
) -> Floats:
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(resamples):
        i, j = rng.integers(0, len(t), len(t)), rng.integers(0, len(u), len(u))
        beta = _fit(t[i], x[i], form)
        value = _ratio(t[i], x[i], u[j], y[j], beta, statistic)
        if value is not None:
            found.append(value)
    return np.array(found, dtype=np.float64)
