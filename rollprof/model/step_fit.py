"""The decode cost from nothing but how long each step's generation took.

Only the ratio of costs is fitted: a fixed cost fitted beside it swallows everything (on a real engine the
median error of slot_idle was .34 with it and .03 without). What the durations cannot tell apart widens the
interval, and durations that say less than the median step says have no skill at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rollprof.model.decode import PRIOR_RATIO, DecodeCost
from rollprof.model.estimate import Estimate
from rollprof.model.hidden import hidden_cost
from rollprof.model.ratio import Draws, Floats, Grid, Prior, Work, idle_draws, posterior, weigh
from rollprof.model.shape import StepShape

MIN_STEPS = 5
"""Steps with a duration and lengths below which no fit has skill: a test of four differences has no power."""

HIDDEN_SHARE = 0.3
"""Share of a duration that is allowed to be fixed cost where the log does not separate it."""

HIDDEN_SHARE_OF_ENGINE_CLOCK = 0.08
"""The same where k0 was logged, so that the duration is the engine's own (a public run: 0 to .08)."""

UNLOGGED_EXCESS = 0.5
"""Evidence for a larger fixed cost above which a fit has no skill: it must be doubted at least two to one.
Where every step reaches the cap nothing speaks against one, and public runs had shares from 0 to a half."""

LOGGED_EXCESS = 10.0
"""The same where k0 was logged: only strong evidence speaks against the log."""

STEEPEST = 1.3
"""Power of decode time with which durations may grow: more is a queue or preemptions not in the shapes."""

_FOLDS = 20
_NO_SKILL = "step times do not identify the decode cost here"


@dataclass(frozen=True, slots=True)
class StepsFit:
    """The decode cost as the durations of `n` steps tell it.

    `ratio` is `b/a`, `context_ratio` `c/a` per context token (0 where prompts are unknown); `cost` has their
    medians, in seconds, and the median of the given k0. `noise` is the standard deviation of log seconds
    between steps. Errors are means of `|log(predicted/measured)|` over steps that the prediction had not
    seen: `held_out_error` of this fit, `constant_error` of the median of the other steps; nan below 2 steps.

    `hidden_share` is how much of a typical duration may still be fixed cost; the low ends of intervals
    allow for it. `scaling` is the power of the fitted decode time with which the durations grow.
    `left_out` steps had no usable duration or no tokens. Without `skill`, `why` says so in a sentence, and
    estimates are not to be shown: the bracket of the shape is.

    Not for multi-turn runs with tools, whose durations are not decode time.
    """

    cost: DecodeCost
    ratio: Estimate
    context_ratio: Estimate
    noise: float
    scaling: Estimate
    hidden_share: float
    held_out_error: float
    constant_error: float
    skill: bool
    why: str
    n: int
    left_out: int
    draws: Draws
    hidden_draws: Draws

    def slot_idle(self, shape: StepShape, duration: float | None = None) -> Estimate:
        """Share of decode slots without work; nan for a step without tokens.

        With the `duration` of this step (seconds, as fitted), the time it took too much or too little was
        somewhere in it, and widens the interval.
        """
        return self.idle(shape, duration)[0]

    def effective_idle(
        self,
        shape: StepShape,
        duration: float | None = None,
        *,
        at_least: float = 0.0,
        at_most: float = 1.0,
    ) -> Estimate:
        """What the same tokens at the step's own full batch would have saved; about twice as uncertain.

        `at_least` and `at_most` are an engine_idle and slot_idle known better, if any (nan: not known).
        """
        return self.idle(shape, duration)[1].within(at_least, at_most)

    def idle(self, shape: StepShape, duration: float | None = None) -> tuple[Estimate, Estimate]:
        """slot_idle and effective_idle, which the same draws give."""
        if not shape.tokens > 0:
            return (Estimate(math.nan, math.nan, math.nan),) * 2
        plain, hidden = (self._idle(shape, duration, draws) for draws in (self.draws, self.hidden_draws))
        slot, lost, hidden_slot, hidden_lost = Estimate.of_rows([*plain, *hidden])
        return _down_to(slot, hidden_slot.low), _down_to(lost, hidden_lost.low)

    def _idle(self, shape: StepShape, duration: float | None, draws: Draws) -> tuple[Floats, Floats]:
        draws = replace(draws, fixed=draws.fixed + self.cost.k0)
        drift = draws.noise
        if self.n and duration is not None and 0 < duration < math.inf:
            drift = np.hypot(drift, np.log(duration / (draws.fixed + draws.seconds(shape))))
        return idle_draws(shape, draws, drift)


def _down_to(estimate: Estimate, low: float) -> Estimate:
    return estimate._replace(low=min(estimate.low, low))


def fit_steps(
    durations: ArrayLike,
    shapes: Sequence[StepShape],
    k0: ArrayLike | None = None,
    *,
    prior_center: float = PRIOR_RATIO,
    prior_factor: float = 3.0,
) -> StepsFit:
    """Fit `b/a` (and `c/a` where every shape knows its prompts) to the seconds that steps took to generate.

    `durations` (n,) and `shapes` (n,) in the order of the steps; `k0`, one number or one per step, is what
    the log itself says to be fixed (verl: `timing_s/gen - timing_s/generate_sequences`) and is taken off;
    None means that the log does not say. Durations that are not finite or not above k0, and steps without
    tokens, are left out and counted. `prior_factor` is one standard deviation: read as the 90 % range, 3
    of 9 measured steps come within .05 instead of 5. ValueError if the lengths of the inputs differ.
    """
    seconds = np.asarray(durations, dtype=np.float64)
    if seconds.shape != (len(shapes),):
        raise ValueError(f"{seconds.size} durations but {len(shapes)} shapes")
    fixed = np.broadcast_to(np.asarray(0.0 if k0 is None else k0, dtype=np.float64), seconds.shape)
    tokens = np.array([s.tokens for s in shapes], dtype=np.float64)
    usable = np.isfinite(seconds) & np.isfinite(fixed) & (fixed >= 0) & (seconds > fixed) & (tokens > 0)
    kept = [s for s, good in zip(shapes, usable, strict=True) if good]
    log_seconds = np.log(seconds[usable] - fixed[usable])
    prior = Prior(prior_center, prior_factor, bool(kept) and all(s.prompts_known for s in kept))
    work = Work.of(kept)
    draws = posterior(log_seconds, work, prior)
    allowed = HIDDEN_SHARE if k0 is None else HIDDEN_SHARE_OF_ENGINE_CLOCK
    hidden = hidden_cost(log_seconds, work, prior, allowed)
    scaling = _scaling(log_seconds, np.array([np.log(draws.seconds(s)).mean() for s in kept]))
    fit_error, constant_error = _held_out(log_seconds, work, prior)
    most = LOGGED_EXCESS if k0 is not None else UNLOGGED_EXCESS
    why = _why_not(fit_error, constant_error, scaling)
    if not why and hidden.excess > most:
        why = f"{_NO_SKILL}: more than {100 * allowed:.0f} % of them may not depend on the lengths"
    ratio, context_ratio = Estimate.of(draws.ratio), Estimate.of(draws.context_ratio)
    a = float(np.median(draws.scale))
    return StepsFit(
        cost=DecodeCost(
            float(np.median(fixed[usable])) if kept else 0.0, a, a * ratio.value, a * context_ratio.value
        ),
        ratio=ratio,
        context_ratio=context_ratio,
        noise=float(np.median(draws.noise)),
        scaling=scaling,
        hidden_share=hidden.share,
        held_out_error=_mean(fit_error),
        constant_error=_mean(constant_error),
        skill=not why,
        why=why,
        n=len(kept),
        left_out=len(shapes) - len(kept),
        draws=draws,
        hidden_draws=hidden.draws,
    )


def drift(
    durations: ArrayLike, shapes: Sequence[StepShape], cost: DecodeCost, k0: ArrayLike | None = None
) -> float:
    """How many times slower the second half of the steps decodes than the first, at the same work.

    The ratio of the geometric means of measured over modelled decode seconds; 1 on a steady host, nan with
    less than two usable steps in a half.
    """
    seconds = np.asarray(durations, dtype=np.float64) - np.asarray(0.0 if k0 is None else k0)
    work = Work.of(shapes)
    model = cost.a * work.steps + cost.b * work.tokens + cost.c * work.context
    usable = np.isfinite(seconds) & (seconds > 0) & (model > 0)
    slowness = np.log(seconds[usable] / model[usable])
    half = len(slowness) // 2
    if half < 2:
        return math.nan
    return float(np.exp(slowness[-half:].mean() - slowness[:half].mean()))


def _held_out(log_seconds: Floats, work: Work, prior: Prior) -> tuple[Floats, Floats]:
    """`|log(predicted/measured)|` of each step by the fit, and by the median, of the other folds; (n,) each.

    Up to 20 steps are left out one by one, more in 20 interleaved folds.
    """
    n = len(log_seconds)
    grid = Grid.of(prior)
    log_work = grid.log_work(work)
    fit_error, constant_error = np.full(n, math.nan), np.full(n, math.nan)
    fold = np.arange(n) % min(n, _FOLDS) if n else np.zeros(0, np.int64)
    for f in range(min(n, _FOLDS) if n > 1 else 0):
        out = fold == f
        weight, scale = weigh(grid.log_prior, log_seconds[~out], log_work[~out])
        predicted = (log_work[out] + scale) @ weight.sum(axis=1)
        fit_error[out] = np.abs(log_seconds[out] - predicted)
        constant_error[out] = np.abs(log_seconds[out] - np.median(log_seconds[~out]))
    return fit_error, constant_error


def _scaling(log_seconds: Floats, log_work: Floats) -> Estimate:
    """Slope of log seconds on log decode work, with its 90 % interval; unbounded where work does not vary."""
    v = log_work - log_work.mean() if len(log_work) else log_work
    spread = float(v @ v)
    if len(v) < 3 or spread < 1e-9:
        return Estimate(math.nan, -math.inf, math.inf)
    from scipy.special import stdtrit

    slope = float(v @ log_seconds) / spread
    residual = log_seconds - log_seconds.mean() - slope * v
    freedom = len(v) - 2
    half = float(stdtrit(freedom, 0.95)) * math.sqrt(float(residual @ residual) / freedom / spread)
    return Estimate(slope, slope - half, slope + half)


def _why_not(fit_error: Floats, constant_error: Floats, scaling: Estimate) -> str:
    """Why the fit has no skill, as a sentence; empty if it has.

    Skill is a held-out error at least a tenth below the median step's, and by more than chance (one-sided
    paired t-test at 5 %): on durations that do not depend on lengths, merely being below happens to one run
    in three.
    """
    n = len(fit_error)
    if n < MIN_STEPS:
        return f"{_NO_SKILL}: {n} of the steps have a duration and lengths, at least {MIN_STEPS} are needed"
    if scaling.low > STEEPEST:
        return f"{_NO_SKILL}: they grow with decode work to the power {scaling.value:.2f}, not 1"
    gain = constant_error - fit_error
    if fit_error.mean() < 0.9 * constant_error.mean() and _beyond_chance(gain):
        return ""
    return (
        f"{_NO_SKILL}: on steps it has not seen the fit is off by {100 * fit_error.mean():.1f} %, "
        f"the median step by {100 * constant_error.mean():.1f} %"
    )


def _beyond_chance(gain: Floats) -> bool:
    """Whether the mean of paired differences is above 0, one-sided at 5 %."""
    from scipy.special import stdtrit

    error = float(gain.std(ddof=1)) / math.sqrt(len(gain))
    return float(gain.mean()) > error * float(stdtrit(len(gain) - 1, 0.95))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan
