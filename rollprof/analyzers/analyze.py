"""All figures of a run: the analyzers called in order, and their results put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rollprof.analyzers.catalog.idle import IDLE_FIGURES
from rollprof.analyzers.columns import column_figures, throughput
from rollprof.analyzers.combine import absent
from rollprof.analyzers.engine_samples import EngineSamples, engine_samples
from rollprof.analyzers.findings.context import Context
from rollprof.analyzers.findings.rules import findings
from rollprof.analyzers.generations import generations
from rollprof.analyzers.gpu_samples import gpu_samples, sample_curves
from rollprof.analyzers.idle.run import analyze_idle
from rollprof.analyzers.in_flight import in_flight
from rollprof.analyzers.lengths import analyze_lengths
from rollprof.analyzers.missing import missing_figures, present
from rollprof.analyzers.phases import analyze_phases
from rollprof.analyzers.prompt_results import PromptResults, prompt_results
from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import (
    Analysis,
    EngineResult,
    Figure,
    Missing,
    RunInfo,
    StepFigure,
    StepResult,
)
from rollprof.analyzers.run_data import RunData, load_run
from rollprof.analyzers.stragglers import stragglers
from rollprof.analyzers.tables import Settings, Tables
from rollprof.analyzers.waits import Wait, wait_figures, waits

if TYPE_CHECKING:
    import polars as pl

NOT_OF_EVAL = frozenset(f.name for f in IDLE_FIGURES)
"""Evaluation is a phase of its own, never generation: its steps carry no idle figures."""


def analyze(tables: Tables, settings: Settings) -> Analysis:
    """Every figure of the registry that this run allows, each with its basis.

    Figures are those of `settings.split`; `steps` and `eval_steps` are always those of training and of
    evaluation. Training and evaluation rollouts never mix.
    """
    run = load_run(tables, settings, settings.split)
    # Sorting and joining millions of rollouts leaves the interpreter free for the steps meanwhile.
    with ThreadPoolExecutor(1) as aside:
        prompts = aside.submit(
            prompt_results,
            tables,
            settings,
            run.facts.response_cap,
            len(run.rollouts),
            "modelled" if run.rollouts.token_basis == "scaled" else "measured",
        )
        main = _analyze_split(run, tables, prompts.result)
    other_split = load_run(tables, settings, "train" if settings.split == "eval" else "eval")
    other = _light_steps(other_split)
    train, evaluation = (main.steps, other) if settings.split == "train" else (other, main.steps)
    return replace(main, steps=train, eval_steps=_without_idle(evaluation))


def _analyze_split(run: RunData, tables: Tables, prompt_part: Callable[[], PromptResults]) -> Analysis:
    phases = generations(run)
    lengths = analyze_lengths(run)
    waiting = waits(run, phases)
    engines = engine_samples(tables) if run.settings.split == "train" else EngineSamples()
    idle = analyze_idle(run, phases, engines)
    gpus = gpu_samples(run, tables, engines)
    shares = analyze_phases(run)
    tokens_per_gpu_s, pace = throughput(run)
    prompts = prompt_part()
    reason = next(iter(idle.reasons), "no lengths and no times of rollouts")
    figures: dict[str, Figure] = {
        **column_figures(run),
        **lengths.figures,
        **wait_figures(waiting, reason),
        **idle.figures,
        **gpus.figures,
        **shares.figures,
        **prompts.figures,
        "tokens_per_gpu_s": tokens_per_gpu_s,
    }
    if run.settings.split == "eval":
        figures.update(
            {n: absent(n, "evaluation is a phase of its own, not generation") for n in NOT_OF_EVAL}
        )
    own = {i: {**idle.steps.get(i, {}), **gpus.steps.get(i, {})} for i in (*idle.steps, *gpus.steps)}
    parts = _StepParts(lengths.steps, waiting, own, shares.steps, prompts.steps, pace, engines.inferred)
    last = stragglers(run, tables.rollouts, waiting)
    empty = {i: f["slot_idle"].value for i, f in idle.steps.items() if "slot_idle" in f}
    have = _present(run, tables)
    missing = missing_figures(figures, run.meta, have)
    context = Context(run, figures, lengths.steps, idle, shares, last, missing)
    return Analysis(
        run=_run_info(run, tables),
        figures=_with_absent(figures, missing),
        steps=_step_results(run, parts),
        eval_steps=(),
        headline=idle.headline,
        lengths=lengths.lengths,
        phases=shares.shares,
        stragglers=last,
        in_flight=in_flight(run, waiting, {i: v for i, v in empty.items() if v is not None}),
        findings=findings(context),
        missing=missing,
        ledger=dict(run.meta.get("ledger") or {}),
        difficulty=prompts.difficulty,
        sampling=prompts.sampling,
        staleness=prompts.staleness,
        samples=sample_curves(engines, gpus),
        engines=_engines(engines.engines, figures),
        have=have,
        brings=dict(run.meta.get("brings") or {}),
    )


def _engines(found: Sequence[EngineResult], figures: Mapping[str, Figure]) -> Sequence[EngineResult]:
    """Each engine's figures; those of a single one are the run's."""
    if len(found) != 1:
        return found
    own = {n: figures[n] for n in (*found[0].figures, "preemptions") if n in figures}
    return [replace(found[0], figures={n: f for n, f in own.items() if f.value is not None})]


def _with_absent(figures: Mapping[str, Figure], missing: Sequence[Missing]) -> dict[str, Figure]:
    """The figures that the log gives, and those it does not with the reason; in the registry's order."""
    why = {m.figure: absent(m.figure, m.why) for m in missing}
    known = {n: f for n, f in figures.items() if f.value is not None or f.interval is not None}
    return {n: known.get(n) or why[n] for n in REGISTRY if n in known or n in why}


@dataclass(frozen=True, slots=True)
class _StepParts:
    """Per-step figures of each analyzer."""

    lengths: Sequence[Mapping[str, StepFigure]]
    waits: Sequence[Wait]
    idle: Mapping[int, Mapping[str, StepFigure]]
    phases: Sequence[Mapping[str, StepFigure]]
    prompts: Mapping[int, Mapping[str, StepFigure]]
    pace: Mapping[int, StepFigure]
    inferred: bool
    """The steps are generation windows that only the engines' samples show."""


def _step_results(run: RunData, parts: _StepParts) -> list[StepResult]:
    waiting = {w.generation.index: w.figures for w in parts.waits}
    found = []
    for i in range(len(run)):
        step = int(run.steps[i])
        figures: dict[str, StepFigure] = {
            **parts.lengths[i],
            **waiting.get(i, {}),
            **parts.idle.get(i, {}),
            **parts.phases[i],
            **parts.prompts.get(step, {}),
        }
        if i in parts.pace:
            figures["tokens_per_gpu_s"] = parts.pace[i]
        columns = {**run.row(i), "inferred": 1.0} if parts.inferred else run.row(i)
        found.append(StepResult(step, columns, figures))
    return found


def _light_steps(run: RunData) -> list[StepResult]:
    """Steps of the split that is not analysed: columns, lengths and waiting."""
    lengths = analyze_lengths(run).steps
    waiting = waits(run, generations(run)) if len(run) else []
    parts = _StepParts(lengths, waiting, {}, [{}] * len(run), {}, {}, inferred=False)
    return _step_results(run, parts)


def _without_idle(steps: Sequence[StepResult]) -> list[StepResult]:
    return [replace(s, figures={n: f for n, f in s.figures.items() if n not in NOT_OF_EVAL}) for s in steps]


def _run_info(run: RunData, tables: Tables) -> RunInfo:
    meta, facts = run.meta, run.facts
    counts = run.counts()
    rollouts = len(run.rollouts) or int(np.nansum(counts))
    gpus = facts.gpus
    if gpus is None and run.has("gpus"):
        logged = run.column("gpus")
        gpus = float(np.median(logged[~np.isnan(logged)]))
    return RunInfo(
        framework=str(meta.get("framework") or "unknown"),
        framework_version=_text(meta.get("framework_version")),
        trainer=_text(meta.get("trainer")),
        steps=len(run),
        rollouts=rollouts,
        prompts=_prompts(run, tables),
        gpus=gpus,
        engines=float(facts.engines) if facts.engines_known else None,
        response_cap=facts.response_cap,
        facts=dict(meta.get("facts") or {}),
        sources=list(meta.get("sources") or ()),
        versions=dict(meta.get("versions") or {}),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _prompts(run: RunData, tables: Tables) -> int:
    """Distinct prompts of the split; without rollouts, the groups that the steps log."""
    import polars as pl

    if len(run.rollouts) and "prompt_id" in tables.rollouts.collect_schema().names():
        chosen = tables.rollouts.select(pl.col("prompt_id").gather(run.rollouts.row).drop_nulls().n_unique())
        return int(chosen.collect().item())
    return int(np.nansum(run.column("prompts")))


def _present(run: RunData, tables: Tables) -> frozenset[str]:
    """Columns with any value, and facts, as `needs` names them."""
    frames = {"rollouts": tables.rollouts, "gpus": tables.gpus}
    if tables.meta.get("samples"):  # else a framework's own counts of what is in work, not an engine's
        frames["engines"] = tables.engines
    columns = [f"steps.{c}" for c in run.columns]
    for table, frame in frames.items():
        columns += [f"{table}.{c}" for c in _filled(frame)]
    return present(columns, run.meta.get("facts") or {})


def _filled(frame: pl.LazyFrame) -> list[str]:
    import polars as pl

    names = [n for n, t in frame.collect_schema().items() if not t.is_nested()]
    if not names:
        return []
    counts = frame.select(pl.col(names).is_not_null().any()).collect()
    return [n for n in names if counts.height and counts[n][0]]
