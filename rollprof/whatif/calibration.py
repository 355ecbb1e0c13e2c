"""Which decode cost the replays run on: the best evidence that the run offers, and how good it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.idle.evidence import Evidence
from rollprof.errors import InputProblem
from rollprof.model.calibrate import StepsFit, drift
from rollprof.model.decode import PRIOR_RATIO_RANGE, UNIT_COST, DecodeCost
from rollprof.model.estimate import Estimate
from rollprof.model.shape import model_seconds
from rollprof.model.simulate import replay
from rollprof.whatif.results import Calibration, Source
from rollprof.whatif.samples import SamplesFit
from rollprof.whatif.timed import StepTimes, cost_of

REFUSED_ABOVE = 0.25
"""Held-out error beyond which the times of a run do not fit, and nothing is said without being forced."""
WIDE = 3.0
"""Factor between the ends of the interval of `b/a` above which a replay is only rough."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The cost, what is said about it, and the costs at the ends where only a range is known."""

    cost: DecodeCost
    said: Calibration
    ends: tuple[DecodeCost, ...] = ()
    notes: tuple[str, ...] = ()


def calibrate(
    found: Sequence[Evidence],
    times: Sequence[StepTimes],
    samples: SamplesFit | None,
    steps: StepsFit | None,
    prior: DecodeCost | None,
    seconds: NDArray[np.float64],
    *,
    force: bool,
) -> Calibrated:
    """In this order: times of rollouts, samples of engines, durations of steps, the prior, one decode step.

    `seconds` are the phases' generation times (nan where unknown), which scale the last two. InputProblem
    where the run's own times contradict the model, unless forced.
    """
    refused = ""
    if times:
        fitted = _from_rollouts(times)
        refused = _misfit(fitted.said, "completion times")
        if (not refused or force) and not fitted.said.rough:
            return fitted
    if samples is not None and samples.skill and not refused:
        return _from_samples(samples)
    if steps is not None and not refused:
        fitted = _from_steps(found, steps, seconds)
        refused = _misfit(fitted.said, "step times")
        if steps.skill and (not refused or force):
            return fitted
    if refused and not force:
        raise InputProblem(refused, hint="--force replays it anyway, roughly")
    why = refused or (steps.why if steps is not None else "") or "no times to fit the decode cost to"
    return _without_fit(found, prior, seconds, why)


def _misfit(said: Calibration, what: str) -> str:
    error = said.held_out_error
    if error is None or not error > REFUSED_ABOVE:
        return ""
    return (
        f"the {what} of this run do not fit a decode cost: off by {100 * error:.0f} % on what the fit had "
        f"not seen, {100 * REFUSED_ABOVE:.0f} % is allowed"
    )


def _from_rollouts(times: Sequence[StepTimes]) -> Calibrated:
    own = [t.fit for t in times]
    skilled = [f for f in own if f.skill]
    cost = cost_of(times)
    rough = ""
    if 2 * len(skilled) < len(own) or not cost.a > 0:
        rough = next((f.why for f in own if not f.skill), "no cost per decode step in the completion times")
    b_over_a = [f.cost.ratio for f in skilled if math.isfinite(f.cost.ratio)]
    ratio = Estimate.of(b_over_a) if b_over_a else None
    said = _said(
        cost,
        "fit-rollouts",
        len(own),
        held_out_error=_median([f.held_out_error for f in own]),
        constant_error=_median([f.constant_error for f in own]),
        ratio=None if ratio is None else (cost.ratio, ratio.low, ratio.high),
        rough=rough,
    )
    return Calibrated(cost, replace(said, drift=_cross_step(times, cost)))


def _cross_step(times: Sequence[StepTimes], cost: DecodeCost) -> dict[str, float]:
    """How a cost fitted to the other steps does on each: duration and slot_idle; and the drift."""
    slow = np.array([np.log(t.duration / _replayed(t, cost)[0]) for t in times])
    half = len(slow) // 2
    found = {}
    if half >= 1:
        found["factor"] = float(np.exp(slow[-half:].mean() - slow[:half].mean()))
    if len(times) < 2:
        return found
    fold = np.arange(len(times)) % min(len(times), 20)
    time_errors, idle_errors = [], []
    for f in range(int(fold.max()) + 1):
        others = cost_of([t for t, g in zip(times, fold, strict=True) if g != f])
        for t in (t for t, g in zip(times, fold, strict=True) if g == f):
            took, idle = _replayed(t, others)
            time_errors.append(abs(took / t.duration - 1.0))
            idle_errors.append(abs(idle - t.slot_idle))
    found["time_error"] = float(np.mean(time_errors))
    found["idle_error"] = float(np.nanmean(idle_errors))
    return found


def _replayed(t: StepTimes, cost: DecodeCost) -> tuple[float, float]:
    again = replay(
        t.lengths, cost, prompts=t.prompts, slots=t.slots, engines=t.engines, assignment=t.assignment
    )
    return max(again.duration, 1e-12), again.slot_idle


def _from_samples(fit: SamplesFit) -> Calibrated:
    said = _said(
        fit.cost,
        "engine-samples",
        fit.n,
        held_out_error=fit.held_out_error,
        constant_error=fit.constant_error,
        rough="" if fit.cost.a > 0 else "samples of the engines show no cost per decode step",
    )
    return Calibrated(fit.cost, said)


def _from_steps(found: Sequence[Evidence], fit: StepsFit, seconds: NDArray[np.float64]) -> Calibrated:
    r = fit.ratio
    rough = ""
    if not fit.skill:
        rough = fit.why
    elif not r.high <= WIDE * r.low:
        rough = f"b/a is known within a factor of {r.high / r.low:.1f} only"
    cost = fit.cost
    ends = tuple(replace(cost, b=cost.a * end) for end in (r.low, r.high)) if rough else ()
    shapes = [e.shape for e in found]
    pairs = [(s, t) for s, t in zip(shapes, seconds.tolist(), strict=True) if s is not None]
    factor = drift([t for _, t in pairs], [s for s, _ in pairs], cost, cost.k0)
    said = _said(
        cost,
        "fit-steps",
        fit.n,
        held_out_error=fit.held_out_error,
        constant_error=fit.constant_error,
        ratio=(r.value, r.low, r.high),
        rough=rough,
    )
    return Calibrated(cost, replace(said, drift={} if math.isnan(factor) else {"factor": factor}), ends)


def _without_fit(
    found: Sequence[Evidence], prior: DecodeCost | None, seconds: NDArray[np.float64], why: str
) -> Calibrated:
    cost = prior or UNIT_COST
    ends = tuple(replace(cost, b=cost.a * end) for end in PRIOR_RATIO_RANGE)
    pairs = [
        t / model_seconds(e.shape, cost)
        for e, t in zip(found, seconds.tolist(), strict=True)
        if e.shape is not None and e.shape.tokens > 0 and t > 0
    ]
    scale = float(np.median(pairs)) if pairs else 1.0
    cost, ends = cost.scaled(scale), tuple(e.scaled(scale) for e in ends)
    source: Source = "prior" if prior is not None else "unit"
    said = _said(cost, source, len(pairs), rough=why)
    notes = ("the decode cost is scaled to the run's own generation times",) if pairs else ()
    return Calibrated(
        cost, replace(said, relative=prior is None and not pairs), ends if prior is None else (), notes
    )


def _said(
    cost: DecodeCost,
    source: Source,
    steps: int,
    *,
    held_out_error: float | None = None,
    constant_error: float | None = None,
    ratio: tuple[float, float, float] | None = None,
    rough: str = "",
) -> Calibration:
    return Calibration(
        k0=cost.k0,
        a=cost.a,
        b=cost.b,
        c=cost.c,
        source=source,
        steps=steps,
        held_out_error=_known(held_out_error),
        constant_error=_known(constant_error),
        ratio=ratio,
        rough=rough,
    )


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _median(values: Sequence[float]) -> float | None:
    good = [v for v in values if math.isfinite(v)]
    return float(np.median(good)) if good else None
