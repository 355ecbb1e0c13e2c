"""What a change in generation time is made of.

A step's generation is `W + s*(k0 + a*M + b*sum(L) + c*Q)`: `W` waiting elsewhere (around the rollouts, in a
queue, for tools), `s` the slowness of the engine, `M = h*m` with `m` the mean length and `h` how far the
longest is above it. Each of these is moved from the old run's value to the new one's, in every order, and
what the time changes is averaged over the orders (Shapley 1953): the parts add up to the whole change, and
none is favoured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rollprof.compare import matched
from rollprof.compare.series import RunSeries

Floats = NDArray[np.float64]

FACTORS = ("lengths", "tail", "pace", "elsewhere", "batch")
WORDS: Mapping[str, tuple[str, str]] = {
    "lengths": ("longer answers", "shorter answers"),
    "tail": ("heavier tail", "lighter tail"),
    "pace": ("slower per token", "faster per token"),
    "elsewhere": ("waiting elsewhere", "less waiting elsewhere"),
    "batch": ("more rollouts", "fewer rollouts"),
}
"""Each factor by what it does to the time: up, down."""
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the change, in seconds a step, with its 90 % interval (None with too few steps)."""

    factor: str
    name: str
    seconds: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Mean generation time a step of the old and of the new run, and the parts of the difference.

    `main` is the name of the part that explains most, "" where the change is no more than noise. `pace`
    is the slowdown at equal lengths with its interval; `elsewhere_known` whether the log tells the rollouts'
    own time from the rest of the call.
    """

    old_s: float
    new_s: float
    parts: tuple[Part, ...]
    main: str
    pace: float
    pace_interval: tuple[float, float] | None
    elsewhere_known: bool
    steps: tuple[int, int]
    interval: tuple[float, float] | None

    @property
    def change_s(self) -> float:
        """Seconds a step that the new run takes more."""
        return self.new_s - self.old_s


@dataclass(frozen=True, slots=True)
class _Steps:
    """Usable steps of a run: seconds (S,), of these elsewhere (S,), and lengths (S, 4)."""

    t: Floats
    w: Floats
    x: Floats
    n: Floats

    def __len__(self) -> int:
        return len(self.t)


def decompose(old: RunSeries, new: RunSeries) -> Decomposition | str:
    """The parts of the change in generation time, or why there are none."""
    if "response_tokens_mean" not in old.figures or "response_tokens_mean" not in new.figures:
        return "the lengths of one of the runs are not in its log"
    if old.figures["response_tokens_mean"].unit != new.figures["response_tokens_mean"].unit:
        return "lengths are in tokens in one run and in characters in the other"
    known = _elsewhere_known(old) and _elsewhere_known(new)
    a, b = _steps(old, known), _steps(new, known)
    if not len(a) or not len(b):
        return "no step of one of the runs has both a generation time and lengths"
    point = _parts(a, b)
    if point is None:
        return "the times of the old run do not go with lengths in any way"
    values, pace, form = point
    draws = _draws(a, b, form)
    old_s, new_s = float(a.t.mean()), float(b.t.mean())
    total = _interval(draws[:, : len(FACTORS)].sum(axis=1), new_s - old_s) if draws is not None else None
    parts = tuple(
        Part(
            factor,
            WORDS[factor][value < 0],
            value,
            None if draws is None else _interval(draws[:, i], value),
        )
        for i, (factor, value) in enumerate(zip(FACTORS, values.tolist(), strict=True))
        if factor != "batch" or abs(value) > 1e-9
    )
    slower = None if draws is None else _interval(draws[:, -1], pace)
    main = _main(parts, new_s - old_s, total)
    return Decomposition(old_s, new_s, parts, main, pace, slower, known, (len(a), len(b)), total)


def _elsewhere_known(run: RunSeries) -> bool:
    apart = np.isfinite(run.column("generate_s")) & np.isfinite(run.span_s())
    return bool(apart.any())


def _steps(run: RunSeries, known: bool) -> _Steps:
    t, x = run.generate_s(), matched.lengths(run)
    w = np.zeros(len(t))
    if known:
        span = run.span_s()
        inside = np.nan_to_num(run.column("tool_s_mean")) + np.nan_to_num(run.column("queue_share")) * span
        w = np.clip(t - span, 0.0, None) + inside
        w = np.minimum(w, 0.99 * t)
    good = np.isfinite(t) & (t > 0) & np.isfinite(w) & np.isfinite(x).all(axis=1)
    n = run.rollouts()
    n = np.where(np.isnan(n), 1.0, n)
    return _Steps(t[good], w[good], x[good], n[good])


def _parts(a: _Steps, b: _Steps) -> tuple[Floats, float, matched.Form] | None:
    """Seconds of each factor (5,), the slowdown, and the form of the cost that was used."""
    ratio = matched.matched_ratio((a.t - a.w, a.x), (b.t - b.w, b.x), _mean, resamples=0)
    if ratio is None:
        return None
    rows = (np.arange(len(a))[None], np.arange(len(b))[None])
    form = tuple(np.flatnonzero(ratio.cost).tolist())
    seconds, pace = _factors(a, b, rows, ratio.cost[None])
    return seconds[0], float(pace[0]), form


def _mean(values: Floats) -> Floats:
    """The mean over steps: parts of a mean add up."""
    return np.asarray(values.mean(axis=-1))


def _factors(
    a: _Steps, b: _Steps, rows: tuple[matched.Rows, matched.Rows], costs: Floats
) -> tuple[Floats, Floats]:
    """Seconds of each factor (R, 5) and the slowdown (R,) in samples of the steps, under costs (R, 4).

    Costs are scaled to the old steps' own time, and the slowdown is of sums: both are exact for averages.
    """
    one, two = _averages(a, rows[0]), _averages(b, rows[1])
    scaled = costs * (one.decode / (costs * one.x).sum(axis=1))[:, None]
    pace = two.decode / (scaled * two.x).sum(axis=1)

    def seconds(new: frozenset[str]) -> Floats:
        n, m = (two if "batch" in new else one).n, (two if "lengths" in new else one).m
        tail = two if "tail" in new else one
        x = np.stack([np.ones_like(n), tail.h * m, n * m, n * m * m * tail.q], axis=1)
        s = pace if "pace" in new else 1.0
        elsewhere = (two if "elsewhere" in new else one).elsewhere
        return np.asarray(s * (scaled * x).sum(axis=1) + elsewhere)

    return np.stack([_shapley(factor, seconds) for factor in FACTORS], axis=1), pace - 1.0


@dataclass(frozen=True, slots=True)
class _Averages:
    """Of samples of the steps, each (R,): rollouts `n`, mean length `m`, longest/m `h`, context/(n m^2) `q`,
    seconds `decode` and `elsewhere`; `x` (R, 4) the averages of the lengths, which these make up exactly."""

    n: Floats
    m: Floats
    h: Floats
    q: Floats
    decode: Floats
    elsewhere: Floats
    x: Floats


def _averages(run: _Steps, rows: matched.Rows) -> _Averages:
    n, w, t = run.n[rows].mean(axis=1), run.w[rows].mean(axis=1), run.t[rows].mean(axis=1)
    x = run.x[rows].mean(axis=1)
    m = np.where(x[:, 2] > 0, x[:, 2], 1.0) / n
    return _Averages(n, m, x[:, 1] / m, x[:, 3] / (n * m * m), t - w, w, x)


def _shapley(factor: str, value: Callable[[frozenset[str]], Floats]) -> Floats:
    others = [f for f in FACTORS if f != factor]
    n = len(FACTORS)
    terms = []
    for size in range(n):
        weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
        for subset in combinations(others, size):
            without = frozenset(subset)
            terms.append(weight * (value(without | {factor}) - value(without)))
    return np.asarray(np.sum(terms, axis=0))


def _draws(a: _Steps, b: _Steps, form: matched.Form) -> Floats | None:
    """Bootstrap over steps of both runs: the factors' seconds and the slowdown, (resamples, 6)."""
    if min(len(a), len(b)) < matched.MIN_STEPS:
        return None
    rows = (matched.draw_rows(len(a), RESAMPLES, 0), matched.draw_rows(len(b), RESAMPLES, 1))
    costs = matched.fits(a.t - a.w, a.x, form, rows[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds, pace = _factors(a, b, rows, costs)
    found = np.column_stack([seconds, pace])
    found = found[np.isfinite(found).all(axis=1)]
    return found if len(found) else None


def _interval(draws: Floats, value: float) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.05, 0.95]).tolist()
    return min(low, value), max(high, value)


def _main(parts: tuple[Part, ...], change: float, total: tuple[float, float] | None) -> str:
    """The part that moves the time furthest in the direction it went, where that is more than noise."""
    if total is not None and total[0] <= 0 <= total[1]:
        return ""
    with_it = [p for p in parts if p.seconds * change > 0 and not _noise(p)]
    return max(with_it, key=lambda p: abs(p.seconds)).name if with_it else ""


def _noise(part: Part) -> bool:
    return part.interval is not None and part.interval[0] <= 0 <= part.interval[1]
