"""What durations tell about the ratio of decode costs: a posterior on a grid.

A stretch of decoding (a step of training, or a part of one) of `M` decode steps, `W` tokens and `Q` context
tokens takes `a*(M + r*W + k*Q)` seconds, `r = b/a`, `k = c/a`, times a factor whose logarithm is normal.
Nothing but ratios moves an idle fraction, so `a` and the size of the noise are marginalised:

* `r`: log-normal about the prior centre, one standard deviation a factor of three;
* `k`: log-uniform over what models and GPUs have, where the context is known, else 0;
* `a`: flat in the logarithm (exactly integrated);
* the noise: flat in the logarithm from 1 % to a factor of e (integrated over a grid).

The posterior is then thinned to equally likely draws, so that every later figure is a quantile of an array.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.model.decode import CONTEXT_RATIO_RANGE
from rollprof.model.shape import StepShape, bracket

Floats = NDArray[np.float64]

DRAWS = 512
MANY_ENGINES_ERROR = 0.045
"""How far the one-engine identity is off over several engines dealt round robin (90 %)."""

_NOISE = np.geomspace(0.01, 1.0, 24)
_RATIO_POINTS = 61
_CONTEXT_POINTS = 5
_TINY = 1e-12
_NINETY = 1.645
"""Standard deviations from the middle of a normal distribution to the end of its 90 % interval."""


@dataclass(frozen=True, slots=True)
class Work:
    """What each of `n` stretches of decoding consisted of, on one engine: arrays (n,)."""

    steps: Floats
    tokens: Floats
    context: Floats

    @classmethod
    def of(cls, shapes: Sequence[StepShape]) -> Work:
        """Of whole steps; tokens and context are shared out over the engines."""
        columns = [(s.decode_steps, s.tokens / s.engines, s.context / s.engines) for s in shapes]
        return cls(*np.array(columns, dtype=np.float64).reshape(-1, 3).T)


@dataclass(frozen=True, slots=True)
class Prior:
    """Of the ratio: log-normal, `factor` one standard deviation (ValueError unless above 1)."""

    center: float
    factor: float
    with_context: bool

    def __post_init__(self) -> None:
        if not (self.center > 0 and self.factor > 1):
            raise ValueError("the prior needs a centre above 0 and a factor above 1")


@dataclass(frozen=True, slots=True)
class Grid:
    """Points of `(r, k)` with the logarithm of their prior weight; arrays (G,), ascending in `r`."""

    ratio: Floats
    context_ratio: Floats
    log_prior: Floats
    sds: Floats

    @classmethod
    def of(cls, prior: Prior, low: float = -3.5, high: float = 3.5, points: int = _RATIO_POINTS) -> Grid:
        """`points` ratios from `low` to `high` standard deviations of the prior."""
        context = np.geomspace(*CONTEXT_RATIO_RANGE, _CONTEXT_POINTS) if prior.with_context else np.zeros(1)
        sds = np.repeat(np.linspace(low, high, points), len(context))
        ratio = prior.center * np.exp(math.log(prior.factor) * sds)
        return cls(ratio, np.tile(context, points), -0.5 * sds**2, sds)

    def log_work(self, work: Work) -> Floats:
        """`log(M + r*W + k*Q)`, shape (n, G)."""
        total = work.steps[:, None] + np.outer(work.tokens, self.ratio)
        return np.log(total + np.outer(work.context, self.context_ratio))


@dataclass(frozen=True, slots=True)
class Draws:
    """Equally likely values; arrays (DRAWS,).

    `scale` is `a`, `noise` the standard deviation of the log of a duration, `fixed` seconds before decoding.
    """

    ratio: Floats
    context_ratio: Floats
    scale: Floats
    noise: Floats
    fixed: Floats

    def parts(self, shape: StepShape) -> tuple[float, Floats, Floats]:
        """Decode work of a step in units of decode steps: `M, r*W, k*Q`."""
        tokens, context = shape.tokens / shape.engines, shape.context / shape.engines
        return shape.decode_steps, self.ratio * tokens, self.context_ratio * context

    def seconds(self, shape: StepShape) -> Floats:
        """Decode seconds of a step under each draw, without what is fixed."""
        steps, by_rollout, by_context = self.parts(shape)
        return (steps + by_rollout + by_context) * self.scale


def weigh(log_prior: Floats, log_seconds: Floats, log_work: Floats) -> tuple[Floats, Floats]:
    """Posterior weights (G, noise), sum 1, and the mean log scale at each grid point (G,).

    With less than two durations nothing can be learnt, and the weights are the prior's.
    """
    n = len(log_seconds)
    residual = log_seconds[:, None] - log_work
    scale = residual.mean(axis=0) if n else np.zeros(len(log_prior))
    squares = ((residual - scale) ** 2).sum(axis=0)
    freedom = max(n - 1, 0)  # the scale has taken one
    log_weight = log_prior[:, None] - freedom * np.log(_NOISE) - squares[:, None] / (2 * _NOISE**2)
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum(), scale


def pick(weight: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Systematic resampling: DRAWS grid points in their order, and the noise of each. No seed is needed."""
    at = np.cumsum(weight.ravel())
    picked = np.searchsorted(at, (np.arange(DRAWS) + 0.5) / DRAWS * at[-1])
    point, noise = np.divmod(picked, len(_NOISE))
    return point, _NOISE[noise]


def posterior(log_seconds: Floats, work: Work, prior: Prior) -> Draws:
    """Draws of the posterior of `n` durations, nothing of them fixed; of the prior without any.

    Many quiet durations leave a posterior narrower than the grid is fine, hence a second, closer look.
    """
    wide = Grid.of(prior)
    weight, _ = weigh(wide.log_prior, log_seconds, wide.log_work(work))
    mass = np.cumsum(weight.sum(axis=1))
    first, last = np.searchsorted(mass, (1e-5, 1 - 1e-5))
    cell = wide.sds[-1] * 2 / (_RATIO_POINTS - 1)
    last = min(int(last), len(mass) - 1)
    grid = Grid.of(prior, float(wide.sds[first] - cell), float(wide.sds[last] + cell))
    weight, scale = weigh(grid.log_prior, log_seconds, grid.log_work(work))
    at, noise = pick(weight)
    return Draws(grid.ratio[at], grid.context_ratio[at], np.exp(scale[at]), noise, np.zeros(DRAWS))


@functools.cache
def _normals(which: int) -> Floats:
    """Standard normal values to go with the draws, evenly spread over every stretch of their order.

    Multiples of an irrational number modulo 1 form a lattice with the (sorted) draws; two different
    irrationals (of the golden and the plastic ratio) give two independent sequences.
    """
    step = (0.6180339887498949, 0.7548776662466927)[which]
    normal = statistics.NormalDist()
    return np.array([normal.inv_cdf((i * step) % 1.0 * 0.998 + 0.001) for i in range(1, DRAWS + 1)])


def idle_draws(shape: StepShape, draws: Draws, drift: Floats) -> tuple[Floats, Floats]:
    """`slot_idle` and `effective_idle` of a step under each draw, in this order; arrays (DRAWS,).

    `drift` (DRAWS,) is the standard deviation of the log of the speed of the step's end against that of
    its start. A tail that runs slower by a factor `e^d` takes that much more of the time, which moves the
    logit of an idle fraction by about `d`. slot_idle of the decode time stays inside the bracket of the
    shape; fixed seconds are busy.
    """
    steps, by_rollout, by_context = draws.parts(shape)
    total = steps + by_rollout + by_context
    off = _normals(1) / _NINETY
    lost = steps * np.clip(shape.i_len + off * shape.i_len_error, 0.0, 1.0) / total
    wrong = off * shape.gini_error
    slot = lost + (by_rollout * (shape.gini + wrong) + by_context * (shape.i_ctx + wrong)) / total
    if shape.engines > 1:
        slot = slot + off * MANY_ENGINES_ERROR
    shift = drift * _normals(0)
    low, high = bracket(shape)
    slot = np.clip(_shift(slot, shift), low, high)
    lost = np.minimum(_shift(lost, shift), slot)
    decoding = 1.0 / (1.0 + draws.fixed / draws.seconds(shape))
    return slot * decoding, lost * decoding


def _shift(fraction: Floats, by: Floats) -> Floats:
    """The fraction whose logit is larger by `by`."""
    inside = np.clip(fraction, _TINY, 1 - _TINY)
    return np.asarray(1.0 / (1.0 + (1.0 - inside) / inside * np.exp(-by)))
