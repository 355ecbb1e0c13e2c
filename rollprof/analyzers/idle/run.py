"""Idle figures of the run: evidence gathered, calibrated, put together per phase and per step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rollprof.analyzers.engine_samples import EngineSamples, of_steps
from rollprof.analyzers.generations import Generation
from rollprof.analyzers.idle.evidence import gather, tools_in_the_way
from rollprof.analyzers.idle.phase import PhaseIdle, calibrate, idle_of
from rollprof.analyzers.idle.step import StepIdle, step_idle_of
from rollprof.analyzers.idle.totals import phase_totals, step_totals
from rollprof.analyzers.results import Figure, StepFigure
from rollprof.analyzers.run_data import RunData
from rollprof.analyzers.tables import Settings
from rollprof.model.calibrate import StepsFit

MAY_BE_MODELLED = ("slot_idle", "generation_idle", "step_idle")


@dataclass(frozen=True, slots=True)
class IdleResult:
    """`figures` of the run; `steps[i]` those of `run.steps[i]`; `headline` the name of the headline figure.

    `fit` is the decode cost from the steps' durations (its `why` says if it has no skill), `contradicting`
    the steps whose generation is longer than the step, `reasons` why steps have no figures, and how many.
    """

    figures: Mapping[str, Figure]
    steps: Mapping[int, Mapping[str, StepFigure]]
    headline: str
    phases: Sequence[PhaseIdle]
    fit: StepsFit | None
    contradicting: tuple[int, ...]
    reasons: Mapping[str, int]


def analyze_idle(
    run: RunData, generations: Sequence[Generation], samples: EngineSamples | None = None
) -> IdleResult:
    """Every idle figure that the log, and samples of the engines, allow: per step and over the run."""
    samples = samples or EngineSamples()
    found = gather(run, generations, of_steps(samples, run.steps.tolist()))
    fit = None if tools_in_the_way(run) else calibrate(run, found)
    phases = {e.generation.index: idle_of(run, e, fit) for e in found}
    steps = {g.index: _step(run, g, phases.get(g.index)) for g in generations}
    phases = {i: replace(p, figures=_asked(run.settings, p.figures)) for i, p in phases.items()}
    steps = {i: replace(s, figures=_asked(run.settings, s.figures)) for i, s in steps.items()}
    reasons = _reasons(generations)
    for why in samples.refused.values():
        reasons[why] = reasons.get(why, 0) + 1
    figures = phase_totals(run, list(phases.values()), fit, reasons, samples)
    figures.update(step_totals(run, list(steps.values()), phases, reasons, samples))
    return IdleResult(
        figures=figures,
        steps={i: {**(phases[i].figures if i in phases else {}), **s.figures} for i, s in steps.items()},
        headline=headline(run, figures),
        phases=list(phases.values()),
        fit=fit,
        contradicting=tuple(int(run.steps[s.index]) for s in steps.values() if s.contradicts),
        reasons=reasons,
    )


def _step(run: RunData, g: Generation, phase: PhaseIdle | None) -> StepIdle:
    if phase is None:
        return step_idle_of(run, g, None, None)
    return step_idle_of(run, g, phase.figures.get("generation_idle"), phase.evidence.seconds)


def _reasons(generations: Sequence[Generation]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for g in generations:
        if g.reason:
            found[g.reason] += len(g.members)
    return dict(found)


def _asked(settings: Settings, figures: Mapping[str, StepFigure]) -> Mapping[str, StepFigure]:
    """The upper end of the bracket as value, for the figure that the user asked it for."""
    name = settings.idle_figure
    figure = figures.get(name) if name in MAY_BE_MODELLED and settings.allow_modelled else None
    if name is None or figure is None or figure.value is not None or figure.interval is None:
        return figures
    return {**figures, name: replace(figure, value=figure.interval[1], bound="upper")}


def headline(run: RunData, figures: Mapping[str, Figure]) -> str:
    """The figure that is the GPU-idle headline: the one asked for, else step_idle where step times allow.

    An asynchronous run, or one on separate GPUs, without the split of its GPUs has trainer_idle.
    """
    asked = run.settings.idle_figure
    if asked is not None and asked in figures:
        return asked

    def known(name: str) -> bool:
        return figures[name].value is not None or figures[name].interval is not None

    if known("step_idle"):
        return "step_idle"
    if (run.facts.mode == "async" or run.facts.separate) and known("trainer_idle"):
        return "trainer_idle"
    if run.facts.mode == "async":
        return "step_idle"
    return "generation_idle"
