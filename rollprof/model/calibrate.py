"""Calibration: the decode cost of a run from the run's own times.

Three kinds of evidence, best first: completion times of rollouts (`fit_rollouts`), durations of steps
(`fit_steps`), nothing (`decode.UNIT_COST`, ratios only). Each fit says whether it has skill.
"""

from __future__ import annotations

from rollprof.model.estimate import Estimate
from rollprof.model.rollout_fit import MIN_ROLLOUTS, RolloutFit, fit_rollouts
from rollprof.model.step_fit import MIN_STEPS, StepsFit, drift, fit_steps

__all__ = [
    "MIN_ROLLOUTS",
    "MIN_STEPS",
    "Estimate",
    "RolloutFit",
    "StepsFit",
    "drift",
    "fit_rollouts",
    "fit_steps",
]
