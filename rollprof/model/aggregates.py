"""The shape of a step of which the log has only the mean, the maximum and the share at the cap.

`1 - mean/max` needs no distribution; the Gini coefficient does. A log-normal is fitted to what is known and
replaced by a typical sample of it (its quantiles at the plotting positions of N values), so that queues
and context go the same way as with real lengths.

Two ways, by what the log offers:
* more than 2/N of the responses at the cap: the log-normal, censored at the cap, that has this share
  there and the step's mean;
* else the log-normal of the run's median of maximum/mean, as the maximum of one step is mostly chance; its
  Gini is shrunk half-way to the one that RL runs have in common.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rollprof.model.schedule import Floats, capacity
from rollprof.model.shape import StepShape, step_shape

GINI_ERROR = 0.12
"""How far a Gini coefficient from aggregates may be off (90 %), on public runs with known lengths."""

COMMON_GINI = 0.36
"""Of the response lengths of public RL runs (.15 to .51, mostly .3 to .42)."""

_LARGEST_SIGMA = 8.0
_HALVINGS = 40

Method = Literal["censored", "run"]


@dataclass(frozen=True, slots=True)
class AggregateShape(StepShape):
    """A shape whose `gini`, `i_ctx` and `context` are estimated by `method`.

    `gini_error` is at least .12 and reaches to the common Gini: a few runaway responses at the cap make a
    log-normal that the others do not follow. `i_len` is exact without a queue; with one it rests on a
    random order of submission, and `i_len_error` reaches to the shortest and longest possible makespan.
    """

    method: Method = "run"


def shape_from_aggregates(
    mean: float,
    maximum: float,
    n: int,
    cap_share: float | None = None,
    cap: float | None = None,
    run_ratio: float | None = None,
    slots: int | None = None,
    engines: int = 1,
) -> AggregateShape:
    """The shape of a step of `n` responses with `mean` and `maximum` tokens.

    `cap_share` is the fraction cut at `cap` tokens (at the maximum without), `run_ratio` the run's median
    over steps of maximum/mean (this step's without). Forms are nan for a step without tokens. ValueError
    for numbers that contradict each other, as a mean above the maximum or a maximum above `n*mean`.
    """
    sample, method = sample_from_aggregates(mean, maximum, n, cap_share, cap, run_ratio)
    if not mean:
        return AggregateShape(**dataclasses.asdict(step_shape(np.zeros(n), slots=slots, engines=engines)))
    return _shape(sample, mean, maximum, method, slots, engines)


def sample_from_aggregates(
    mean: float,
    maximum: float,
    n: int,
    cap_share: float | None = None,
    cap: float | None = None,
    run_ratio: float | None = None,
) -> tuple[Floats, Method]:
    """Typical lengths (n,), ascending, of a step that has these aggregates, and how they were found.

    Arguments as of `shape_from_aggregates`. ValueError for numbers that contradict each other.
    """
    possible = n >= 1 and 0 <= mean <= maximum <= mean * n * 1.001 and 0 <= (cap_share or 0.0) <= 1
    if not possible or not math.isfinite(maximum):
        raise ValueError(f"no lengths have mean {mean}, maximum {maximum}, count {n}, cap share {cap_share}")
    if not mean:
        return np.zeros(n), "run"
    if cap_share is not None and cap_share > 2 / n:
        ceiling = min(cap or maximum, maximum)
        sample = _typical(min(mean / ceiling, 1.0), n, cap_share) * ceiling
        return sample * (mean / float(sample.mean())), "censored"
    rest = _half_way(min(1.0 / run_ratio, 1.0) if run_ratio else mean / maximum, n)[:-1]
    # the longest is known, and the others share what tokens it leaves
    rest = rest * (max(mean * n - maximum, 0.0) / max(float(rest.sum()), 1e-300))
    if n > 1 and rest[-1] > maximum:  # a tail this run never has fits no typical sample
        return _typical(mean / maximum, n, None) * maximum, "run"
    return np.append(rest, maximum), "run"


def _shape(
    sample: Floats, mean: float, maximum: float, method: Method, slots: int | None, engines: int
) -> AggregateShape:
    """The shape of a typical sample, with what the log knows exactly put in its place."""
    n, mean, maximum = len(sample), float(mean), float(maximum)
    shape = step_shape(np.random.default_rng(0).permutation(sample), slots=slots, engines=engines)
    C, tokens = capacity(n, slots, engines), mean * n
    steps, shortest, longest = maximum, maximum, maximum
    if slots is not None and n > C:
        shortest = max(maximum, tokens / C)
        steps = max(shape.decode_steps, shortest)
        longest = max(tokens / C + maximum * (1.0 - 1.0 / slots), steps)
    i_len = max(1.0 - tokens / (C * steps), 0.0)
    gini = min(shape.gini, i_len)  # as for any lengths
    return AggregateShape(
        n=n,
        capacity=C,
        engines=engines,
        slots=slots,
        decode_steps=steps,
        tokens=tokens,
        context=shape.context,
        i_len=i_len,
        gini=gini,
        i_ctx=shape.i_ctx,
        i_len_error=max(
            tokens / (C * shortest) - tokens / (C * steps), tokens / (C * steps) - tokens / (C * longest)
        ),
        gini_error=GINI_ERROR if steps > maximum else max(GINI_ERROR, abs(gini - COMMON_GINI)),
        method=method,
    )


@functools.lru_cache(maxsize=64)
def _half_way(mean_over_max: float, n: int) -> Floats:
    """A typical log-normal sample, ascending, whose Gini lies half-way to the common one."""
    from scipy.special import erfinv, ndtri

    own = step_shape(_typical(mean_over_max, n, None) * 1e6).gini
    sigma = 2.0 * float(erfinv((own + COMMON_GINI) / 2))  # the Gini of a log-normal is erf(sigma/2)
    sample = np.exp(sigma * np.asarray(ndtri(_positions(n)), dtype=np.float64))
    sample.flags.writeable = False
    return sample


def _positions(n: int) -> Floats:
    """Plotting positions: the probability below each of `n` ordered values, on average."""
    return (np.arange(1, n + 1, dtype=np.float64) - 0.375) / (n + 0.25)


@functools.lru_cache(maxsize=64)
def _typical(mean_over_top: float, n: int, cut: float | None) -> Floats:
    """A typical sample of `n` log-normal values, ascending, as fractions of the highest.

    `exp(sigma*min(z_i - z_top, 0))` at normal quantiles `z_i`, with `sigma` such that the mean is
    `mean_over_top`. The top is the largest value, or, with a `cut`, the quantile above which that share of
    the values lies (and is cut).
    """
    from scipy.special import ndtri

    z = ndtri(_positions(n))
    top = float(z[-1]) if cut is None else float(ndtri(np.clip(1.0 - cut, 0.5 / n, 1.0 - 0.5 / n)))
    below = np.minimum(z - top, 0.0)
    low, high = 0.0, _LARGEST_SIGMA
    for _ in range(_HALVINGS):
        sigma = (low + high) / 2
        if np.exp(sigma * below).mean() > mean_over_top:
            low = sigma
        else:
            high = sigma
    sample = np.exp(low * below)
    sample.flags.writeable = False  # it is shared by the cache
    return sample
