"""The shape of one generation phase: from the lengths of its rollouts, or from logged aggregates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.completions import MISSING, Completions
from rollprof.analyzers.generations import Generation
from rollprof.analyzers.run_data import RunData
from rollprof.model.aggregates import shape_from_aggregates
from rollprof.model.shape import StepShape, bracket, step_shape

Floats = NDArray[np.float64]


def decoded_lengths(run: RunData) -> Floats:
    """Tokens that the policy itself produced, where the log tells them apart: what decoding costs."""
    return run.rollouts.length if run.rollouts.decoded is None else run.rollouts.decoded


def run_ratio(run: RunData) -> float | None:
    """The run's median of max/mean response length: one step's own maximum is mostly chance."""
    ratio = run.column("response_tokens_max") / run.column("response_tokens_mean")
    known = ratio[np.isfinite(ratio)]
    return float(np.median(known)) if len(known) else None


def shape_of(run: RunData, g: Generation, c: Completions | None, ratio: float | None) -> StepShape | None:
    """The shape of a phase, its rollouts in order of submission; None without lengths of any kind.

    `ratio` is `run_ratio(run)`.
    """
    if g.span is not None:
        L = decoded_lengths(run)[g.span]
        known = ~np.isnan(L)
        if known.any() and known.mean() >= 1 - MISSING:
            order = np.flatnonzero(known)
            if c is not None and run.facts.queues(len(L)):
                begun = np.full(len(L), np.inf)
                begun[c.at - g.span.start] = c.start
                order = order[np.argsort(begun[order], kind="stable")]
            prompts = prompts_of(run, order + g.span.start)
            return step_shape(L[order], prompts, slots=run.facts.slots, engines=run.facts.engines)
    return _from_columns(run, g, ratio)


def prompts_of(run: RunData, at: NDArray[np.intp]) -> Floats | None:
    """Prompt tokens of the rollouts at these positions; their mean for the few that lack them."""
    if run.rollouts.prompt is None or run.rollouts.unit != "tokens":
        return None
    p = run.rollouts.prompt[at]
    lacking = np.isnan(p)
    if lacking.mean() > MISSING:
        return None
    return np.where(lacking, p[~lacking].mean(), p) if lacking.any() else p


MANY = 256
"""Rollouts assumed for the upper end of a bracket where the log does not say how many there were."""


def bracket_without_count(run: RunData, g: Generation, ratio: float | None) -> tuple[float, float] | None:
    """The bracket of slot_idle from the mean and longest response of a step of unknown size.

    `1 - mean/max` needs no count; the Gini coefficient does, so the lower end is 0.
    """
    shape = _aggregated(run, g, ratio, MANY)
    if shape is None or not shape.tokens > 0:
        return None
    return 0.0, bracket(shape)[1]


def _from_columns(run: RunData, g: Generation, ratio: float | None) -> StepShape | None:
    n = float(run.column("rollouts")[g.index])
    if not n >= 1:
        n = run.facts.responses_per_step or 0.0
    return _aggregated(run, g, ratio, n) if n >= 1 else None


def _aggregated(run: RunData, g: Generation, ratio: float | None, n: float) -> StepShape | None:
    names = ("response_tokens_mean", "response_tokens_max", "truncated_share")
    mean, top, share = (float(run.column(name)[g.index]) for name in names)
    if math.isnan(top) and share > 0 and run.facts.response_cap is not None:
        top = run.facts.response_cap  # some were cut there, so none is longer
    if g.pooled or not 0 < mean <= top <= mean * n * 1.001:
        return None
    return shape_from_aggregates(
        mean,
        top,
        int(n),
        cap_share=share if 0 <= share <= 1 else None,
        cap=run.facts.response_cap,
        run_ratio=ratio,
        slots=run.facts.slots,
        engines=run.facts.engines,
    )


def duration_clock(run: RunData, g: Generation) -> tuple[float, float]:
    """(duration of the generation call, the part of it that is no decoding), NaN where unknown.

    The engines' own clock, or the slowest rollout's, is better than the call's, which contains waking up
    and weight loading: what the call took longer is the fixed cost.
    """
    if g.pooled:
        return g.generate_s, math.nan
    own = (float(run.column(c)[g.index]) for c in ("engine_s_max", "rollout_s_max", "engine_s_mean"))
    clock = next((s for s in own if s > 0), math.nan)
    whole = max(g.generate_s, clock) if g.generate_s > 0 and clock > 0 else g.generate_s
    if math.isnan(whole):
        whole = clock
    return whole, whole - clock
