"""The decode cost from when each rollout of one step completed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rollprof.model.decode import CONTEXT_RATIO_RANGE, PRIOR_RATIO, DecodeCost
from rollprof.model.estimate import Estimate
from rollprof.model.ratio import Draws, Floats, Prior, Work, idle_draws, posterior
from rollprof.model.schedule import Ints, make_schedule, make_timeline, whole_prompts, whole_tokens
from rollprof.model.shape import StepShape, effective_idle

MIN_ROLLOUTS = 20
"""Completions below which a fit has no skill: four of them are held out."""

_EVERY = 5
_PARTS = 5
CONTEXT_PER_A = (0.0, *np.geomspace(*CONTEXT_RATIO_RANGE, 5).tolist())


@dataclass(frozen=True, slots=True)
class RolloutFit:
    """The decode cost of one step, from `n` completion times.

    `r2` is the share of the variance of completion times that the fit explains. Errors are mean absolute
    errors over the mean completion time, on every fifth completion, of a fit (`held_out_error`) and of the
    median (`constant_error`) of the others. Without `skill` (the fit is not better than the median, or
    there are too few rollouts) `why` says so.
    """

    cost: DecodeCost
    r2: float
    held_out_error: float
    constant_error: float
    skill: bool
    why: str
    n: int
    draws: Draws

    def effective_idle(self, shape: StepShape, *, at_least: float = 0.0, at_most: float = 1.0) -> Estimate:
        """`w_a*i_len` with an interval: the speed of the engine drifts within a step.

        The step is cut into five parts of equal time; how differently they would have it decode gives the
        interval (which held 87 to 100 % of simulated truths), the completion times as a whole the value.
        `at_least` and `at_most` are the engine_idle and slot_idle that the clock saw, which bound it (nan:
        not known).
        """
        value = effective_idle(shape, self.cost)
        if not math.isfinite(value):
            return Estimate(math.nan, math.nan, math.nan)
        draws = replace(self.draws, fixed=self.draws.fixed + self.cost.k0)
        _, low, high = Estimate.of(idle_draws(shape, draws, draws.noise)[1])
        return Estimate(value, min(low, value), max(high, value)).within(at_least, at_most)


def fit_rollouts(
    finish: ArrayLike,
    lengths: ArrayLike,
    prompts: ArrayLike | None = None,
    start: ArrayLike | None = None,
    slots: int | None = None,
    engines: int | ArrayLike = 1,
) -> RolloutFit:
    """Non-negative least squares of `f = k0 + a*m + b*W(m)` over the rollouts of one step.

    `m` is the decode step in which a rollout finishes and `W(m)` the tokens its engine has produced until
    then. `finish`, `start` (N,) in seconds on one clock: time counts from the first start, from 0 without,
    and rollouts queue in the order of `start`. `engines` is their number (round robin) or each rollout's
    label. A rollout without a finite finish decodes, but is not fitted. With `prompts` the context enters
    as `a*(m + k*Q(m))`, `k = c/a` the best of none and the range that models have: left free, `c` would
    take `a` over on curvature alone.

    ValueError for arrays of different lengths. Without a completion to fit, all costs are 0.
    """
    L = whole_tokens(lengths)
    n = len(L)
    end = np.asarray(finish, dtype=np.float64)
    begin = np.zeros(n) if start is None else np.asarray(start, dtype=np.float64)
    if end.shape != (n,) or begin.shape != (n,):
        raise ValueError(f"{n} lengths, but {end.size} finish and {begin.size} start times")
    first = float(np.min(begin, where=np.isfinite(begin), initial=math.inf))
    queue = np.argsort(begin, kind="stable")  # a rollout without a start (nan) queues last
    seconds = (end - first)[queue]
    progress = progress_of(L[queue], whole_prompts(prompts, n)[queue], slots, engines, queue)
    usable = np.flatnonzero(np.isfinite(seconds) & (seconds >= 0))
    order = usable[np.argsort(seconds[usable], kind="stable")]
    return _fit(seconds[order], progress.at(order), with_context=prompts is not None)


@dataclass(frozen=True, slots=True)
class Progress:
    """What each rollout's engine had done when the rollout finished: arrays (N,)."""

    steps: Floats
    tokens: Floats
    context: Floats
    engine: Ints

    def at(self, rows: Ints) -> Progress:
        return Progress(self.steps[rows], self.tokens[rows], self.context[rows], self.engine[rows])

    def columns(self, context_per_a: float) -> Floats:
        """The columns of the least squares: k0, a, b."""
        steps = self.steps + context_per_a * self.context
        return np.column_stack([np.ones(len(steps)), steps, self.tokens])


def progress_of(L: Ints, p: Ints, slots: int | None, engines: int | ArrayLike, queue: Ints) -> Progress:
    """What the engines had done when each rollout finished; `queue` is the order of submission."""
    if isinstance(engines, int | np.integer):
        schedule = make_schedule(L, slots=slots, engines=int(engines))
    else:
        labels = np.asarray(engines)
        if labels.shape != L.shape:
            raise ValueError(f"{len(L)} lengths but {labels.size} engine labels")
        names, assignment = np.unique(labels[queue], return_inverse=True)
        schedule = make_schedule(L, slots=slots, engines=max(len(names), 1), assignment=assignment.ravel())
    timeline = make_timeline(schedule, p)
    width = timeline.width.astype(np.float64)
    _, tokens = timeline.elapsed(width * timeline.running)
    _, context = timeline.elapsed(
        DecodeCost(0.0, 0.0, 0.0, 1.0).seconds(timeline.width, timeline.running, timeline.context)
    )
    return Progress(schedule.finished.astype(np.float64), tokens, context, schedule.engine)


def _fit(f: Floats, progress: Progress, *, with_context: bool) -> RolloutFit:
    """Fit completion times `f` in ascending order."""
    n = len(f)
    held = np.arange(n) % _EVERY == _EVERY - 1
    per_a = CONTEXT_PER_A if with_context else (0.0,)
    designs = [progress.columns(k) for k in per_a]
    solutions = [solve(X[~held], f[~held]) for X in designs]
    best = int(
        np.argmin([((X[~held] @ s - f[~held]) ** 2).sum() for X, s in zip(designs, solutions, strict=True)])
    )
    X, solution = designs[best], solutions[best]
    k0, a, b = solve(X, f).tolist()
    cost = DecodeCost(k0, a, b, per_a[best] * a)
    variance = float(((f - f.mean()) ** 2).sum()) if n else 0.0
    r2 = 1.0 - float(((X @ [k0, a, b] - f) ** 2).sum()) / variance if variance else math.nan
    mean = float(f[held].mean()) if held.any() else 0.0
    errors = (math.nan, math.nan)
    if mean > 0:
        constant = float(np.median(f[~held]))
        errors = (
            float(np.abs(X[held] @ solution - f[held]).mean()) / mean,
            float(np.abs(constant - f[held]).mean()) / mean,
        )
    why = _why_not(n, *errors)
    draws = _part_draws(f, progress, k0, with_context=with_context)
    return RolloutFit(cost, r2, *errors, skill=not why, why=why, n=n, draws=draws)


def solve(X: Floats, f: Floats) -> Floats:
    """Non-negative least squares on columns scaled to 1, which differ by six orders of magnitude."""
    from scipy.optimize import nnls

    if not len(f):
        return np.zeros(X.shape[1])
    scale = X.max(axis=0)
    scale[scale == 0] = 1.0
    solution: Floats = nnls(X / scale, f)[0] / scale
    return solution


def _why_not(n: int, fit_error: float, constant_error: float) -> str:
    if n < MIN_ROLLOUTS:
        return f"{n} completion times, at least {MIN_ROLLOUTS} are needed to fit the decode cost"
    if fit_error < constant_error:
        return ""
    return (
        "completion times do not identify the decode cost here: on rollouts it has not seen the fit is off "
        f"by {100 * fit_error:.1f} %, the median by {100 * constant_error:.1f} %"
    )


def _part_draws(f: Floats, progress: Progress, k0: float, *, with_context: bool) -> Draws:
    """The posterior of the ratio from the parts of the step, each engine's cut into five of equal time."""
    rows: list[Floats] = []
    for e in np.unique(progress.engine):
        mine = np.flatnonzero(progress.engine == e)
        done = f[mine]
        edges = np.unique(np.searchsorted(done, np.linspace(k0, done[-1], _PARTS + 1)[1:]))
        at = mine[edges[edges < len(mine)]]
        table = np.column_stack([f[at], progress.steps[at], progress.tokens[at], progress.context[at]])
        rows.append(np.diff(table, axis=0, prepend=np.array([[k0, 0.0, 0.0, 0.0]])))
    parts = np.concatenate(rows) if rows else np.empty((0, 4))
    parts = parts[(parts[:, 0] > 0) & (parts[:, 1] > 0)]
    work = Work(parts[:, 1], parts[:, 2], parts[:, 3])
    return posterior(np.log(parts[:, 0]), work, Prior(PRIOR_RATIO, 3.0, with_context))
