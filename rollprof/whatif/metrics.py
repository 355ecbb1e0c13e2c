"""From the rounds of a replay and of its baseline to figures, with intervals by whole steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rollprof.model.schedule import Floats, Ints
from rollprof.stats.distance import ks_distance
from rollprof.whatif.outcome import COLUMNS, Outcome
from rollprof.whatif.results import Interval
from rollprof.whatif.setting import Trainer
from rollprof.whatif.sides import Sides, sides_of
from rollprof.whatif.workload import Workload

RESAMPLES = 400
LEVEL = 0.95
BLOCK = 5
"""Steps per block for policies that carry work over: neighbours share rollouts."""
_AT = {name: i for i, name in enumerate(COLUMNS)}


@dataclass(frozen=True, slots=True)
class Sums:
    """Columns of rounds by logged step, arrays (S, COLUMNS + 1); the last column counts rounds. `sides`:
    who generates and who trains."""

    policy: Floats
    base: Floats
    carries: bool
    sides: Sides


def sums(outcome: Outcome, base: Outcome, steps: int, useful: Floats | None, trainer: Trainer) -> Sums:
    """Rounds added up by the logged step they stand for. `useful` (S,) replaces the baseline's trained
    tokens where only some of them count."""
    by_step = _by_step(base, steps)
    if useful is not None:
        by_step[:, _AT["trained"]] = useful
    return Sums(_by_step(outcome, steps), by_step, outcome.carries, sides_of(outcome, trainer))


def _by_step(outcome: Outcome, steps: int) -> Floats:
    rows = outcome.table[outcome.table[:, 0] >= 0]
    table = np.column_stack([rows, np.ones(len(rows))])
    times = len(rows) // steps
    return np.asarray(table[: times * steps].reshape(times, steps, -1).sum(axis=0))


def figures(policy: Floats, base: Floats, like: Sums) -> dict[str, Floats]:
    """Figures of sums (..., COLUMNS + 1) of the policy and the baseline of `like`: ratios of sums, never
    means of ratios.

    `speedup` is per step, or per trained token where work is carried over; `step_s` then is the time for a
    baseline step's worth of trained tokens.
    """

    def p(name: str) -> Floats:
        return policy[..., _AT[name]]

    def q(name: str) -> Floats:
        return base[..., _AT[name]]

    with np.errstate(divide="ignore", invalid="ignore"):
        work = p("trained") / q("trained") if like.carries else policy[..., -1] / base[..., -1]
        speedup = q("step_s") / p("step_s") * work
        effective = 1.0 - (p("engine_s") - p("excess_s")) / p("engine_room_s")
        return {
            "speedup": speedup,
            "generation_speedup": q("generate_s") / p("generate_s") * work,
            "useful_gain": (p("trained") / p("step_s")) / (q("trained") / q("step_s")),
            "useful_tokens_per_s": p("trained") / p("step_s"),
            "step_s": q("step_s") / base[..., -1] / speedup,
            "slot_idle": 1.0 - p("slot_s") / p("slot_room_s"),
            "engine_idle": 1.0 - p("engine_s") / p("engine_room_s"),
            "effective_idle": effective,
            **like.sides.idle(effective, p("generate_s"), p("step_s"), p("trained"), policy[..., -1]),
        }


def totals(found: Sums) -> dict[str, float]:
    """Every figure over all steps."""
    total = figures(found.policy.sum(axis=0), found.base.sum(axis=0), found)
    return {name: float(value) for name, value in total.items()}


def bootstrap(found: Sums, seed: int = 0) -> dict[str, Interval]:
    """95 % intervals of all figures when blocks of whole steps are drawn anew (circular blocks).

    The same steps are drawn for the policy and its baseline. Needs two steps.
    """
    S = len(found.base)
    if S < 2:
        return {}
    length = min(BLOCK, max(1, S // 4)) if found.carries else 1
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, S, size=(RESAMPLES, -(-S // length)))
    drawn = ((starts[:, :, None] + np.arange(length)) % S).reshape(RESAMPLES, -1)[:, :S]
    flat = (np.arange(RESAMPLES)[:, None] * S + drawn).ravel()
    weight = np.bincount(flat, minlength=RESAMPLES * S).reshape(RESAMPLES, S).astype(np.float64)
    return quantiles(figures(weight @ found.policy, weight @ found.base, found))


def quantiles(draws: dict[str, Floats]) -> dict[str, Interval]:
    """The middle 95 % of each figure's draws; figures that are not finite have none."""
    found = {}
    for name, values in draws.items():
        good = values[np.isfinite(values)]
        if len(good):
            low, high = np.quantile(good, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
            found[name] = (low, high)
    return found


MOST_COUNTED = 4_000_001
"""Whole numbers below this are counted, which is faster than sorting them."""


def kolmogorov_smirnov(kept: Ints, all_: Ints) -> float:
    """The largest distance between the two distribution functions of whole numbers; 0 without either."""
    if not len(kept) or not len(all_):
        return 0.0
    top = int(max(kept.max(), all_.max())) + 1
    if top > MOST_COUNTED:
        return ks_distance(np.sort(kept), np.sort(all_))
    one, two = (np.cumsum(np.bincount(x, minlength=top)) / len(x) for x in (kept, all_))
    return float(np.abs(one - two).max())


def useful_of_baseline(workload: Workload) -> Floats:
    """Tokens of groups whose rewards differ, by step (S,)."""
    mixed = workload.mixed()
    tokens = np.add.reduceat(workload.lengths, workload.first[:-1]).astype(np.float64)
    if mixed is not None:
        tokens = np.where(mixed, tokens, 0.0)
    return np.add.reduceat(tokens, workload.steps[:-1])
