"""The analysis as JSON: stable, sorted, versioned; described by `json_schema.SCHEMA`.

Figures carry the same names here as in Python, the terminal and `check`. NaN and infinities become
null: JSON has no word for them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rollprof import __version__
from rollprof.analyzers.results import (
    Analysis,
    EngineResult,
    Figure,
    Finding,
    Histogram,
    Lengths,
    Missing,
    RunInfo,
    SampleCurves,
    StepResult,
    Straggler,
)
from rollprof.render import whatif_json
from rollprof.schema.tables import STEPS
from rollprof.whatif.results import WhatIf

FORMAT = 1
"""1: first public form."""

_WHOLE = frozenset(c.name for c in STEPS if c.type.startswith("int"))


def dumps(analysis: Analysis, whatif: WhatIf | None = None) -> str:
    """The document as text: sorted keys, two blanks of indentation, ASCII only, a final newline."""
    return json.dumps(document(analysis, whatif), sort_keys=True, indent=2, allow_nan=False) + "\n"


def document(analysis: Analysis, whatif: WhatIf | None = None) -> dict[str, Any]:
    """The document as plain Python values, valid against `json_schema.SCHEMA`."""
    found: dict[str, Any] = plain(
        {
            "format": FORMAT,
            "rollprof": __version__,
            "run": _run(analysis.run, analysis.headline),
            "figures": {name: _figure(figure) for name, figure in analysis.figures.items()},
            "steps": _steps(analysis.steps, analysis.stragglers),
            "eval_steps": _steps(analysis.eval_steps, ()),
            "engines": [_engine(engine) for engine in analysis.engines],
            "samples": _samples(analysis.samples) if analysis.samples is not None else None,
            "lengths": _lengths(analysis.lengths),
            "difficulty": list(analysis.difficulty),
            "phases": {name: _figure(figure) for name, figure in analysis.phases.items()},
            "findings": [_finding(finding) for finding in analysis.findings],
            "missing": [_missing(item) for item in analysis.missing],
            "whatif": whatif_json.document(whatif) if whatif is not None else None,
            "ledger": dict(analysis.ledger),
        }
    )
    return found


def _run(run: RunInfo, headline: str) -> dict[str, Any]:
    return {
        "framework": run.framework,
        "framework_version": run.framework_version,
        "trainer": run.trainer,
        "steps": run.steps,
        "rollouts": run.rollouts,
        "prompts": run.prompts,
        "gpus": run.gpus,
        "engines": run.engines,
        "response_cap": run.response_cap,
        "headline": headline,
        "facts": run.facts,
        "sources": run.sources,
        "versions": run.versions,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "value": figure.value,
        "unit": figure.unit,
        "basis": figure.basis,
        "bound": figure.bound,
        "n": figure.n,
        "interval": figure.interval,
        "others": figure.others,
        "note": figure.note,
    }


def _steps(steps: Sequence[StepResult], stragglers: Sequence[Straggler]) -> list[dict[str, Any]]:
    last = {straggler.step: straggler for straggler in stragglers}
    return [_step(step, last.get(step.step)) for step in steps]


def _step(step: StepResult, straggler: Straggler | None) -> dict[str, Any]:
    """One object a step: its columns, then its figures by name (which win where both have one)."""
    known = {n: f for n, f in step.figures.items() if f.value is not None or f.interval is not None}
    row: dict[str, Any] = {name: _column(name, value) for name, value in step.columns.items()}
    row |= {name: figure.value for name, figure in known.items()}
    row["step"] = step.step
    row["basis"] = {name: figure.basis for name, figure in known.items()}
    intervals = {name: figure.interval for name, figure in known.items() if figure.interval is not None}
    bounds = {name: figure.bound for name, figure in known.items() if figure.bound is not None}
    if intervals:
        row["interval"] = intervals
    if bounds:
        row["bound"] = bounds
    if straggler is not None:
        row["straggler"] = _straggler(straggler)
    return row


def _column(name: str, value: Any) -> Any:
    if name == "inferred":
        return bool(value)
    whole = name in _WHOLE and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def _straggler(straggler: Straggler) -> dict[str, Any]:
    return {
        # 64-bit ids do not survive readers that keep numbers as doubles.
        "prompt_id": None if straggler.prompt_id is None else str(straggler.prompt_id),
        "length": straggler.length,
        "reward": straggler.reward,
        "finish_reason": straggler.finish_reason,
        "wait_s": straggler.wait_s,
        "why": straggler.why,
    }


def _engine(engine: EngineResult) -> dict[str, Any]:
    return {"engine": engine.engine, "figures": {n: _figure(f) for n, f in engine.figures.items()}}


def _samples(samples: SampleCurves) -> dict[str, Any]:
    """How samples of engines and GPUs belong to the steps; the samples themselves are in the dataset."""
    join = samples.join
    return {
        "engines": [curve.engine for curve in samples.engines],
        "gpus": len(samples.gpus),
        "join": join.how or None,
        "why": join.why,
        "inferred": samples.inferred,
        "tick_s": join.tick,
        "zone_s": join.zone_s,
        "skew_s": join.skew_s,
        "corrected_s": join.corrected_s,
        "windows": [{"start": a, "end": b, "step": step} for a, b, step in samples.windows],
        "refused": [{"step": step, "why": why} for step, why in join.refused.items()],
    }


def _lengths(lengths: Lengths) -> dict[str, Any]:
    return {
        "unit": lengths.unit,
        "token_basis": lengths.token_basis,
        "cap": lengths.cap,
        "bins": lengths.linear.edges if lengths.linear else [],
        "counts": lengths.linear.counts if lengths.linear else [],
        "log": _histogram(lengths.log) if lengths.log else None,
        "quantiles": lengths.ecdf,
    }


def _histogram(histogram: Histogram) -> dict[str, Any]:
    return {"bins": histogram.edges, "counts": histogram.counts}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "text": finding.text,
        "evidence": finding.evidence,
        "next": finding.next,
    }


def _missing(item: Missing) -> dict[str, Any]:
    return {"figure": item.figure, "why": item.why, "enable": item.enable}


def plain(value: Any) -> Any:
    """Only what JSON has: NaN and infinities are null, keys are text, anything odd is its text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [plain(item) for item in items]
    return str(value)
