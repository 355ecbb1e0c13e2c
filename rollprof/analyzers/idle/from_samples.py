"""Samples of engines beside what rollouts and the log say: the stronger basis counts, the other stays beside
it."""

from __future__ import annotations

from dataclasses import replace

from rollprof.analyzers.engine_samples import SampledStep
from rollprof.analyzers.idle.clocked import Clocked
from rollprof.analyzers.results import BASES, StepFigure

FROM_SAMPLES_ONLY = ("throughput_idle", "kv_usage_max", "preemptions")
"""Figures that nothing but samples of engines gives."""


def with_samples(clocked: Clocked, sampled: SampledStep) -> Clocked:
    """The clock of a phase with that of the engines, which counts unless each rollout had one of its own."""
    slot = sampled.figures.get("slot_idle")
    own = clocked.slot
    if slot is None or (own is not None and own.basis == "measured"):
        return clocked
    queue = sampled.figures.get("queue_share")
    return Clocked(
        slot,
        sampled.seconds,
        clocked.queue_share if queue is None else queue.value,
        own if own is not None and own.basis == "logged" else clocked.logged,
    )


def engine_with_samples(
    engine: StepFigure | None, sampled: SampledStep, slot: StepFigure | None
) -> StepFigure | None:
    """engine_idle, from samples unless it is known as well without; never more than slot_idle."""
    own = sampled.figures.get("engine_idle")
    if own is None or own.value is None:
        return engine
    if engine is not None and engine.basis is not None and BASES.index(engine.basis) == 0:
        return engine
    if slot is not None and slot.value is not None and own.value > slot.value:
        return replace(own, value=slot.value, bound="lower")
    return own


def only_from_samples(sampled: SampledStep | None) -> dict[str, StepFigure]:
    """Figures of a phase that nothing else gives."""
    if sampled is None:
        return {}
    return {name: sampled.figures[name] for name in FROM_SAMPLES_ONLY if name in sampled.figures}
