"""All that one generation phase tells by itself: its clock, its shape, and a decode cost where that fits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.completions import Completions, timed
from rollprof.analyzers.engine_samples import SampledStep
from rollprof.analyzers.generations import Generation
from rollprof.analyzers.idle.clocked import engine_labels, engines_of, slots_of
from rollprof.analyzers.idle.from_samples import engine_with_samples, with_samples
from rollprof.analyzers.idle.shapes import (
    bracket_without_count,
    decoded_lengths,
    prompts_of,
    run_ratio,
    shape_of,
)
from rollprof.analyzers.results import StepFigure
from rollprof.analyzers.run_data import RunData
from rollprof.model.calibrate import RolloutFit, fit_rollouts
from rollprof.model.shape import StepShape

MOST_FITS = 1000
"""Phases whose decode cost is fitted by itself. In a longer run every k-th is, and the next use its cost."""
UNEVEN = "rollouts dealt unevenly over engines"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One generation phase of `n` rollouts and `capacity` slots.

    `slot` and `engine` are slot_idle and engine_idle as a clock or the log gives them, `duration` T on the
    same basis, `logged` slot_idle from logged aggregates where `slot` is better, `seconds` the best known
    length of the phase. `fit` has skill or is None; `no_fit` says why. `bound` is a bracket of slot_idle for
    a phase without a shape.
    """

    generation: Generation
    n: float
    capacity: float
    duration: float | None
    seconds: float | None
    slot: StepFigure | None
    engine: StepFigure | None
    shape: StepShape | None
    fit: RolloutFit | None
    no_fit: str
    logged: StepFigure | None
    queue_share: float | None
    recoverable: float | None
    note: str = ""
    bound: tuple[float, float] | None = None
    sampled: SampledStep | None = None

    @property
    def weight(self) -> float:
        """GPU-seconds, `C*T`; 0 where no time is known."""
        return self.capacity * (self.duration or self.seconds or 0.0)

    @property
    def token_weight(self) -> float:
        """Slot-steps, `C*M`: the weight where no time is known."""
        return self.capacity * self.shape.decode_steps if self.shape is not None else max(self.n, 1.0)


def gather(
    run: RunData, phases: Sequence[Generation], sampled: Mapping[int, SampledStep] | None = None
) -> list[Evidence]:
    """The evidence of every phase that has a barrier; `sampled` steps by index, from samples of engines."""
    usable = [g for g in phases if not g.reason]
    every = max(1, math.ceil(len(usable) / MOST_FITS))
    fits = not tools_in_the_way(run)
    ratio = run_ratio(run)
    found: list[Evidence] = []
    cost: tuple[RolloutFit | None, str] = (None, "")
    for k, g in enumerate(usable):
        c = timed(run, g)
        if k % every == 0:
            cost = _fit(run, c) if fits else (None, TOOLS)
        found.append(_evidence(run, g, c, cost, ratio, (sampled or {}).get(g.index)))
    return found


TOOLS = "times of multi-turn rollouts with tools are not decode time: no decode cost is fitted"


def tools_in_the_way(run: RunData) -> bool:
    """Multi-turn runs with tools, whose times are not decode time."""
    tool = run.rollouts.tool
    used = tool is not None and bool((np.nan_to_num(tool) > 0).any())
    return bool(run.facts.multi_turn) or used or bool((np.nan_to_num(run.column("tool_s_max")) > 0).any())


def _evidence(
    run: RunData,
    g: Generation,
    c: Completions | None,
    cost: tuple[RolloutFit | None, str],
    ratio: float | None,
    sampled: SampledStep | None,
) -> Evidence:
    n = _rollouts(run, g)
    capacity = float(run.facts.capacity(int(n))) if n >= 1 else 1.0
    clocked = slots_of(run, g, c, n, capacity)
    if sampled is not None:
        clocked = with_samples(clocked, sampled)
        capacity = capacity if n >= 1 else sampled.capacity
    shape = shape_of(run, g, c, ratio)
    engine = engines_of(run, g, c, clocked.slot) if clocked.slot is not None or shape is not None else None
    if sampled is not None:
        engine = engine_with_samples(engine, sampled, clocked.slot)
    notes = [c.note] if c is not None and c.note else []
    if engine is not None and engine.bound == "lower":
        notes.append(UNEVEN)
    slowest = math.nan if g.pooled else float(run.column("rollout_s_max")[g.index])
    known = (s for s in (clocked.duration, g.generate_s, slowest) if s is not None and s > 0)
    shape = shape_of(run, g, c, ratio)
    return Evidence(
        generation=g,
        n=n,
        capacity=capacity,
        duration=clocked.duration,
        seconds=next(known, None),
        slot=clocked.slot,
        engine=engine,
        shape=shape,
        fit=cost[0],
        no_fit=cost[1],
        logged=clocked.logged,
        queue_share=clocked.queue_share,
        recoverable=_recoverable(run, c, cost[0]),
        note="; ".join(notes),
        bound=bracket_without_count(run, g, ratio) if shape is None else None,
        sampled=sampled,
    )


def _rollouts(run: RunData, g: Generation) -> float:
    if g.span is not None:
        return float(g.span.stop - g.span.start)
    logged = float(np.nansum(run.column("rollouts")[list(g.members)]))
    return logged or (run.facts.responses_per_step or 0.0) * len(g.members)


def _fit(run: RunData, c: Completions | None) -> tuple[RolloutFit | None, str]:
    """The decode cost of one step from its own completion times; without skill, why not."""
    if c is None:
        return None, ""
    L = decoded_lengths(run)[c.at]
    if np.isnan(L).any() or not L.max() > 0:
        return None, "lengths are unknown"
    labels = engine_labels(run, c)
    engines: int | NDArray[np.int32] = run.facts.engines if labels is None else labels
    fit = fit_rollouts(c.finish, L, prompts_of(run, c.at), c.start, run.facts.slots, engines)
    return (fit, "") if fit.skill else (None, fit.why)


def _recoverable(run: RunData, c: Completions | None, fit: RolloutFit | None) -> float | None:
    """`1 - T_ideal/T` of the modelled times: what even work over the engines would win, barrier kept."""
    labels = engine_labels(run, c)
    if c is None or fit is None or labels is None:
        return None
    L, cost = decoded_lengths(run)[c.at], fit.cost
    names, which = np.unique(labels, return_inverse=True)
    engines = max(run.facts.engines, len(names))
    slots = run.facts.slots or len(L)
    prompts = prompts_of(run, c.at)
    held = L * ((L - 1) / 2 + (0.0 if prompts is None else prompts))
    tokens = np.bincount(which, L, minlength=engines)
    work = cost.b * tokens + cost.c * np.bincount(which, held, minlength=engines)
    steps = tokens / slots
    np.maximum.at(steps, which, L)
    took = float((cost.k0 + cost.a * steps + work).max())
    fewest = max(float(L.max()), float(tokens.sum()) / (engines * slots))
    ideal = cost.k0 + cost.a * fewest + float(work.mean())
    return max(0.0, 1 - ideal / took) if took > 0 else None
