"""A survey of the input, and the analysis of its run where there is one -> a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.adapters import registry
from rollprof.analyzers.missing import SILENT
from rollprof.analyzers.results import Analysis
from rollprof.assemble.inputs import Input
from rollprof.assemble.joins import reasons
from rollprof.assemble.runs import Candidate
from rollprof.assemble.survey import Survey, interpret
from rollprof.doctor.remedies import remedies
from rollprof.doctor.results import (
    Absent,
    Available,
    Diagnosis,
    Join,
    KnownFact,
    Run,
    Source,
    Stranger,
)
from rollprof.doctor.snippets import snippet_for
from rollprof.doctor.traps import traps
from rollprof.sources.records import SniffedFile

KEYS_SHOWN = 12
NOT_COLUMNS = ("step", "split", "generations")


def diagnose(
    survey: Survey | None,
    run: Candidate | None,
    meta: Mapping[str, Any],
    analysis: Analysis | None,
    ledger: Mapping[str, Any],
    problem: str | None = None,
) -> Diagnosis:
    """What is known about the input.

    `survey` None for a dataset, which only remembers its sources. `meta` (of the dataset) and `analysis`
    are those of `run`; without them `problem` says why.
    """
    framework = str(meta.get("framework") or (_framework(survey) if survey is not None else "unknown"))
    version = meta.get("framework_version")
    inputs = survey.inputs if survey is not None else ()
    sources = _sources(survey) if survey is not None else [_remembered(s) for s in meta.get("sources") or ()]
    return Diagnosis(
        framework=framework,
        title=registry.load(framework).title if framework in registry.names() else framework,
        version=version,
        trainer=meta.get("trainer"),
        sources=sources,
        strangers=[_stranger(f) for f in (*survey.strangers, *survey.empty)] if survey is not None else [],
        runs=_runs(survey.runs, run) if survey is not None else [],
        run=None if analysis is None else str(meta.get("run") or ""),
        facts=[
            KnownFact(name, fact.get("value"), str(fact.get("origin")), str(fact.get("how")))
            for name, fact in sorted((meta.get("facts") or {}).items())
        ],
        figures=_available(analysis) if analysis is not None else [],
        missing=[Absent(m.figure, m.why, m.enable) for m in analysis.missing] if analysis is not None else [],
        remedies=remedies(analysis, version) if analysis is not None else [],
        traps=traps(meta, analysis.findings if analysis is not None else (), inputs),
        notes=[str(note) for note in meta.get("notes") or ()],
        snippet=snippet_for(
            framework, meta.get("trainer"), version, analysis.have if analysis is not None else ()
        ),
        ledger=ledger,
        problem=problem,
        usable=survey.usable if survey is not None else True,
    )


def _framework(survey: Survey) -> str:
    names = [i.claim.adapter for i in survey.inputs]
    return next((n for n in names if n != "generic"), names[0] if names else "unknown")


def _sources(survey: Survey) -> list[Source]:
    return [_source(item, survey) for item in survey.inputs]


def _source(item: Input, survey: Survey) -> Source:
    parts = [p for p in survey.parts if p.file.path == item.file.path]
    steps = {r.step for p in parts for r in p.metrics if r.step is not None}
    reading = interpret(parts, {}, {}) if parts else None
    columns = {c for row in reading.steps for c, v in row.items() if v is not None} if reading else set()
    numbered = item.claim.role == "rollouts" and item.file.stem.isdigit()
    at = int(item.file.stem) if numbered else None
    return Source(
        path=item.file.name,
        size=item.file.size,
        adapter=item.claim.adapter,
        role=item.claim.role,
        sink=item.file.metadata.get("sink", ""),
        why=item.claim.why,
        split=item.claim.split,
        precision=next((p.precision for p in parts if p.metrics), "unknown"),
        steps=len(steps) or int(numbered),
        first_step=min(steps, default=at),
        last_step=max(steps, default=at),
        columns=sorted(columns - set(NOT_COLUMNS)),
        facts=sorted(reading.facts) if reading else [],
        samples=sum(len(p.engines) + len(p.gpus) for p in parts),
        runs=[c.name for c in survey.runs if _holds(c, item)],
    )


def _holds(run: Candidate, item: Input) -> bool:
    files = [p.file.path for p in run.parts] + [i.file.path for s in run.series for i in s.inputs]
    return item.file.path in files


def _remembered(source: Mapping[str, Any]) -> Source:
    """A source of a dataset: its bytes are elsewhere."""
    return Source(
        path=str(source.get("path")),
        size=int(source.get("size") or 0),
        adapter=str(source.get("adapter")),
        role=str(source.get("role")),
        sink="",
        why=str(source.get("why")),
        split="train",
        precision="unknown",
        steps=0,
        first_step=None,
        last_step=None,
        columns=(),
        facts=(),
        samples=0,
        runs=(),
    )


def _stranger(file: SniffedFile) -> Stranger:
    keys = list(file.columns) or list(dict.fromkeys(k for o in file.objects for k in o))
    if file.kind == "empty":
        why = "empty"
    elif problem := file.metadata.get("problem"):
        why = problem
    elif file.kind == "binary":
        why = "no format that rollprof reads"
    elif keys:
        why = "none of its keys is known: --map COLUMN=KEY names them"
    else:
        why = "no line that a framework writes"
    return Stranger(file.name, file.size, file.kind, why, [str(k) for k in keys[:KEYS_SHOWN]])


def _runs(runs: Sequence[Candidate], chosen: Candidate | None) -> list[Run]:
    found = []
    for run in runs:
        joins = [Join(r.path, r.why) for r in reasons(run, len(runs))]
        files = {p.file.path for p in run.parts} | {i.file.path for s in run.series for i in s.inputs}
        found.append(Run(run.name, run.steps, len(files), joins, bool(run.older), run is chosen))
    return found


def _available(analysis: Analysis) -> list[Available]:
    return [
        Available(name, f.value, f.unit, f.basis, f.bound, f.interval, f.note)
        for name, f in analysis.figures.items()
        if name not in SILENT and (f.value is not None or f.interval is not None)
    ]
