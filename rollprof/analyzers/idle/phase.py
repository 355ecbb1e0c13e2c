"""Idle figures of one generation phase: the best basis for each, in the order that always holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rollprof.analyzers.idle.evidence import Evidence
from rollprof.analyzers.idle.from_samples import only_from_samples
from rollprof.analyzers.idle.shapes import duration_clock
from rollprof.analyzers.results import StepFigure
from rollprof.analyzers.run_data import RunData
from rollprof.model.calibrate import StepsFit, fit_steps
from rollprof.model.estimate import Estimate
from rollprof.model.shape import bracket

Other = float | tuple[float, float]


@dataclass(frozen=True, slots=True)
class PhaseIdle:
    """`figures` by name; `slot_others` slot_idle on its other bases; `held` where the order moved a fit."""

    evidence: Evidence
    figures: Mapping[str, StepFigure]
    slot_others: Mapping[str, Other] = field(default_factory=dict)
    held: bool = False


def calibrate(run: RunData, found: Sequence[Evidence]) -> StepsFit | None:
    """A decode cost from the durations of the phases; None where there are none to fit.

    The engines' own clock is fitted where at least half of the phases have one (what the generation call
    took longer is its fixed cost), otherwise the call itself.
    """
    clocks = [_seconds(run, e) for e in found]
    if not any(e.shape is not None and whole > 0 for e, (whole, _) in zip(found, clocks, strict=True)):
        return None
    shapes = [e.shape for e in found]
    have = [i for i, s in enumerate(shapes) if s is not None]
    whole = np.array([clocks[i][0] for i in have])
    fixed = np.array([clocks[i][1] for i in have])
    own_clock = np.isfinite(fixed).mean() >= 0.5
    kept = [s for s in shapes if s is not None]
    return fit_steps(whole, kept, k0=fixed if own_clock else None)


def _seconds(run: RunData, e: Evidence) -> tuple[float, float]:
    """Duration of a phase and its fixed part: the rollouts' own T where they have a clock."""
    whole, fixed = duration_clock(run, e.generation)
    if e.duration is None or (e.slot is not None and e.slot.basis == "logged" and not math.isnan(fixed)):
        return whole, fixed
    longest = max(e.duration, e.generation.generate_s) if e.generation.generate_s > 0 else e.duration
    return longest, longest - e.duration


def idle_of(run: RunData, e: Evidence, steps: StepsFit | None) -> PhaseIdle:
    """All figures of one phase. `steps` is the fit to durations; it counts only with skill."""
    skilled = steps if steps is not None and steps.skill else None
    whole = _seconds(run, e)[0] if skilled is not None else math.nan
    known = None if math.isnan(whole) else whole
    low_high = _bracket(e)
    by_steps = lost_by_steps = None
    if skilled is not None and e.shape is not None and e.shape.tokens > 0:
        by_steps, lost_by_steps = skilled.idle(e.shape, known)
    slot = _slot(e, by_steps, low_high)
    effective, held = _effective(e, lost_by_steps, slot)
    figures: dict[str, StepFigure | None] = {
        "slot_idle": slot,
        "engine_idle": e.engine,
        "effective_idle": effective,
        "generation_idle": _generation(e, effective, slot),
        "recoverable": _exact(e.recoverable, "calibrated"),
        "queue_share": _exact(e.queue_share, "measured"),
        "engine_imbalance": _imbalance(e),
        **only_from_samples(e.sampled),
    }
    others: dict[str, Other] = {}
    if e.logged is not None and e.logged.value is not None:
        others["logged"] = e.logged.value
    if by_steps is not None:
        others["calibrated"] = by_steps.value
    if low_high is not None:
        others["modelled"] = low_high
    if slot is not None and slot.basis is not None:
        others.pop(slot.basis, None)
        if e.slot is not None and e.slot.basis is not None and e.slot.basis != slot.basis:
            others[e.slot.basis] = e.slot.interval or (0.0, 1.0)  # a bound that a calibration narrows
    return PhaseIdle(e, {n: f for n, f in figures.items() if f is not None}, others, held)


def _exact(value: float | None, basis: object) -> StepFigure | None:
    if value is None:
        return None
    return StepFigure(value, "measured" if basis == "measured" else "calibrated", (value, value))


def _bracket(e: Evidence) -> tuple[float, float] | None:
    if e.shape is None or not e.shape.tokens > 0:
        return e.bound
    low, high = bracket(e.shape)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _slot(e: Evidence, by_steps: Estimate | None, low_high: tuple[float, float] | None) -> StepFigure | None:
    """slot_idle: measured, logged, calibrated, a logged bound, or the bracket from lengths."""
    floor = e.engine.value if e.engine is not None and e.engine.value is not None else 0.0
    if e.slot is not None and e.slot.bound is None:
        return e.slot
    if by_steps is not None and math.isfinite(by_steps.value):
        value, low, high = (max(x, floor) for x in by_steps)
        return StepFigure(value, "calibrated", (low, high))
    if e.slot is not None and e.slot.value is not None and e.slot.interval is not None and low_high:
        # a bound by the clock, and the bracket from lengths: the true value lies in both
        low, high = e.slot.interval
        return replace(e.slot, interval=(low, max(low, min(high, low_high[1]))))
    if e.slot is not None:
        return e.slot
    if low_high is not None:
        return StepFigure(None, "modelled", (max(low_high[0], floor), max(low_high[1], floor)))
    return None


def _effective(
    e: Evidence, by_steps: Estimate | None, slot: StepFigure | None
) -> tuple[StepFigure | None, bool]:
    """effective_idle from a fit, held between engine_idle and slot_idle; whether that moved it."""
    if e.shape is None or not e.shape.tokens > 0:
        return None, False
    estimate = by_steps if e.fit is None else e.fit.effective_idle(e.shape)
    if estimate is None or not math.isfinite(estimate.value):
        return None, False
    floor = e.engine.value if e.engine is not None and e.engine.value is not None else 0.0
    top, most = 1.0, 1.0
    if slot is not None and slot.value is not None:
        top = slot.value
        most = slot.interval[1] if slot.interval is not None else top
    value = min(max(estimate.value, floor), max(top, floor))
    low = min(max(estimate.low, floor), value)
    high = max(min(estimate.high, max(most, floor)), value)
    return StepFigure(value, "calibrated", (low, high)), abs(value - estimate.value) > 1e-9


def _generation(e: Evidence, effective: StepFigure | None, slot: StepFigure | None) -> StepFigure | None:
    """generation_idle: effective_idle, else slot_idle as an upper bound, else the bracket."""
    if effective is not None:
        return effective
    if slot is None or slot.value is None:
        return slot
    floor = e.engine.value if e.engine is not None and e.engine.value is not None else 0.0
    top = slot.interval[1] if slot.interval is not None else slot.value
    if slot.basis == "measured" and slot.bound is None:  # sampled: near the value, not at its interval's end
        return StepFigure(slot.value, slot.basis, (min(floor, slot.value), top), "upper")
    return StepFigure(top, slot.basis, (min(floor, top), top), "upper")


def _imbalance(e: Evidence) -> StepFigure | None:
    """max T_e / mean T_e. A held engine_idle keeps its true value as the end of its interval."""
    engine = e.engine
    if e.sampled is not None and engine is not None and engine.basis == "measured":
        own = e.sampled.figures.get("engine_imbalance")
        if own is not None:
            return own
    if engine is None or engine.interval is None or not engine.interval[1] < 1:
        return None
    value = 1 / (1 - engine.interval[1])
    return StepFigure(value, engine.basis, (value, value))
