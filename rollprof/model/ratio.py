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
_NOISE = np.geomspace(0.01, 1.0, 24)
_PRIOR_SDS = np.linspace(-3.5, 3.5, 61)
_CONTEXT_POINTS = 5
_TINY = 1e-12

MANY_ENGINES_ERROR = 0.045
"""How far the one-engine identity is off over several engines dealt round robin (90 %)."""


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
class Grid:
    """Points of `(r, k)` with the logarithm of their prior weight; arrays (G,)."""

    ratio: Floats
    context_ratio: Floats
    log_prior: Floats

    def log_work(self, work: Work) -> Floats:
        """`log(M + r*W + k*Q)`, shape (n, G); -inf for a stretch without decode steps."""
        total = work.steps[:, None] + np.outer(work.tokens, self.ratio)
        total += np.outer(work.context, self.context_ratio)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(total))


@dataclass(frozen=True, slots=True)
class Draws:
    """Equally likely values; arrays (DRAWS,). `noise` is the standard deviation of the log of a duration."""

    ratio: Floats
    context_ratio: Floats
    log_scale: Floats
    noise: Floats

    def log_seconds(self, shape: StepShape) -> Floats:
        """Log of the decode seconds of a step under each draw."""
        work = shape.decode_steps + self.ratio * shape.tokens / shape.engines
        work = work + self.context_ratio * shape.context / shape.engines
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(work) + self.log_scale)


def make_grid(center: float, factor: float, *, with_context: bool) -> Grid:
    """The prior. `factor` is one standard deviation of the log-normal (ValueError unless above 1)."""
    if not (center > 0 and factor > 1):
        raise ValueError("the prior needs a centre above 0 and a factor above 1")
    ratio = center * np.exp(math.log(factor) * _PRIOR_SDS)
    context = np.geomspace(*CONTEXT_RATIO_RANGE, _CONTEXT_POINTS) if with_context else np.zeros(1)
    return Grid(
        np.repeat(ratio, len(context)),
        np.tile(context, len(ratio)),
        np.repeat(-0.5 * _PRIOR_SDS**2, len(context)),
    )


def weigh(grid: Grid, log_seconds: Floats, log_work: Floats) -> tuple[Floats, Floats]:
    """Posterior weights (G, noise), sum 1, and the mean log scale at each grid point (G,).

    With less than two durations nothing can be learnt, and the weights are the prior's.
    """
    n = len(log_seconds)
    residual = log_seconds[:, None] - log_work
    scale = residual.mean(axis=0) if n else np.zeros(len(grid.ratio))
    squares = ((residual - scale) ** 2).sum(axis=0)
    freedom = max(n - 1, 0)  # the scale has taken one
    log_weight = grid.log_prior[:, None] - freedom * np.log(_NOISE) - squares[:, None] / (2 * _NOISE**2)
    weight = np.exp(log_weight - log_weight.max())
    return weight / weight.sum(), scale


def thin(grid: Grid, weight: Floats, scale: Floats) -> Draws:
    """Systematic resampling: draws in the order of the grid, reproducible and without a seed."""
    at = np.cumsum(weight.ravel())
    picked = np.searchsorted(at, (np.arange(DRAWS) + 0.5) / DRAWS * at[-1])
    point, noise = np.divmod(picked, len(_NOISE))
    return Draws(grid.ratio[point], grid.context_ratio[point], scale[point], _NOISE[noise])


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
    """`slot_idle` and `effective_idle` of a step under each draw (k0 = 0), in this order; arrays (DRAWS,).

    `drift` (DRAWS,) is the standard deviation of the log of the speed of the step's end against that of
    its start. A tail that runs slower by a factor `e^d` takes that much more of the time, which moves the
    logit of an idle fraction by about `d`. slot_idle stays inside the bracket of its shape.
    """
    steps = shape.decode_steps
    by_rollout = draws.ratio * shape.tokens / shape.engines
    by_context = draws.context_ratio * shape.context / shape.engines
    total = steps + by_rollout + by_context
    off = _normals(1)
    i_len = np.clip(shape.i_len + off * shape.i_len_error / 1.645, 0.0, 1.0)
    spread = off * shape.gini_error / 1.645
    lost = steps * i_len / total
    slot = lost + (by_rollout * (shape.gini + spread) + by_context * (shape.i_ctx + spread)) / total
    if shape.engines > 1:
        slot = slot + off * MANY_ENGINES_ERROR / 1.645
    shift = drift * _normals(0)
    low, high = bracket(shape)
    slot = np.clip(_shift(slot, shift), low, high)
    return slot, np.minimum(_shift(lost, shift), slot)


def _shift(fraction: Floats, by: Floats) -> Floats:
    """The fraction whose logit is larger by `by`."""
    inside = np.clip(fraction, _TINY, 1 - _TINY)
    return np.asarray(1.0 / (1.0 + (1.0 - inside) / inside * np.exp(-by)))
