"""A run to compare with, as a small file: its figures step by step, and what makes runs comparable."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import BASES, Analysis, Basis
from rollprof.compare.series import FigureSeries, RunSeries, series_of
from rollprof.errors import InputProblem

FORMAT = 1
"""1: first public form."""
KIND = "rollprof baseline"

FINGERPRINT = ("framework", "model", "gpus", "batch", "group_size", "response_cap")
"""Runs that differ in one of these are different jobs: comparing them says nothing about a regression."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """`fingerprint` by the names of FINGERPRINT, None where the log did not tell."""

    fingerprint: Mapping[str, str | float | None]
    series: RunSeries


def baseline_of(analysis: Analysis, *, skip: int = 0) -> Baseline:
    """What is kept of a run."""
    return Baseline(fingerprint(analysis), series_of(analysis, skip=skip))


def fingerprint(analysis: Analysis) -> dict[str, str | float | None]:
    """What must be the same for two runs to be runs of one job.

    A model is known by the last part of its path, since the same weights lie in other folders elsewhere;
    the batch is the responses per step.
    """
    run = analysis.run
    model = _fact(run.facts, "model")
    name = str(model).rstrip("/").rpartition("/")[2] if model is not None else None
    found: dict[str, str | float | None] = {
        "framework": run.framework,
        "model": name,
        "gpus": _number(run.gpus),
        "batch": _batch(analysis),
        "group_size": _number(_fact(run.facts, "group_size")),
        "response_cap": _number(run.response_cap),
    }
    return found


def _fact(facts: Mapping[str, Mapping[str, Any]], name: str) -> Any:
    entry = facts.get(name)
    return entry.get("value") if isinstance(entry, Mapping) else None


def _number(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


def _batch(analysis: Analysis) -> float | None:
    stated = _number(_fact(analysis.run.facts, "responses_per_step"))
    if stated is not None:
        return stated
    logged = [s.columns["rollouts"] for s in analysis.steps if s.columns.get("rollouts") is not None]
    if logged:
        return float(np.median(logged))
    run = analysis.run
    whole = run.rollouts / run.steps if run.steps and run.rollouts else math.nan
    return whole if whole.is_integer() else None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One entry of two fingerprints that differs. `known` is False where one of the logs does not tell."""

    name: str
    old: str | float | None
    new: str | float | None

    @property
    def known(self) -> bool:
        """Both logs tell, and they differ."""
        return self.old is not None and self.new is not None


def mismatches(
    old: Mapping[str, str | float | None], new: Mapping[str, str | float | None]
) -> list[Mismatch]:
    """Where two fingerprints differ."""
    return [Mismatch(n, old.get(n), new.get(n)) for n in FINGERPRINT if not _alike(old.get(n), new.get(n))]


def _alike(a: str | float | None, b: str | float | None) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6)
    return a == b


def dumps(baseline: Baseline, version: str) -> str:
    """The file: JSON, sorted; numbers in full, so that a run compared with itself is the same."""
    series = baseline.series
    document = {
        "kind": KIND,
        "format": FORMAT,
        "rollprof": version,
        "fingerprint": dict(baseline.fingerprint),
        "of_steps": series.of_steps,
        "rollouts_per_step": series.rollouts_per_step,
        "steps": list(series.steps),
        "figures": {name: _plain(figure) for name, figure in series.figures.items()},
    }
    return _lines(document, ("figures", "fingerprint")) + "\n"


def _lines(document: Mapping[str, Any], open_up: tuple[str, ...]) -> str:
    """One entry a line, so that a difference of two files can be read."""

    def text(value: Any) -> str:
        return json.dumps(value, sort_keys=True, allow_nan=False)

    entries = []
    for key, value in sorted(document.items()):
        if key in open_up:
            inner = ",\n".join(f"  {text(k)}: {text(v)}" for k, v in sorted(value.items()))
            entries.append(f" {text(key)}: {{\n{inner}\n }}")
        else:
            entries.append(f" {text(key)}: {text(value)}")
    return "{\n" + ",\n".join(entries) + "\n}"


def _plain(figure: FigureSeries) -> dict[str, Any]:
    return {
        "value": figure.value,
        "unit": figure.unit,
        "basis": figure.basis,
        "interval": figure.interval,
        "values": _packed(figure.values),
    }


def _packed(values: tuple[float | None, ...]) -> Any:
    """A figure that is the same in every step is one number."""
    if len(values) > 1 and values[0] is not None and all(v == values[0] for v in values):
        return values[0]
    return list(values)


def loads(text: str, name: str) -> Baseline:
    """Read the file called `name`. Raises InputProblem where it is something else, or of a newer format."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InputProblem(f"{name}: not a baseline ({problem})", hint=_HINT) from problem
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise InputProblem(f"{name}: not a baseline", hint=_HINT)
    if document.get("format") != FORMAT:
        raise InputProblem(
            f"{name}: baseline of format {document.get('format')}, this release reads {FORMAT}", hint=_HINT
        )
    try:
        return _read(document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise InputProblem(f"{name}: a damaged baseline ({problem!r})", hint=_HINT) from problem


_HINT = "rollprof check RUN --write-baseline FILE writes one"


def is_baseline(text: str) -> bool:
    """Whether a file holds a baseline, so that it may be replaced by a newer one."""
    return f'"kind": "{KIND}"' in text


def _read(document: Mapping[str, Any]) -> Baseline:
    steps = tuple(int(s) for s in document["steps"])
    figures = {
        str(name): _figure(entry, len(steps))
        for name, entry in document["figures"].items()
        if name in REGISTRY  # a figure that another release had
    }
    kept = _finite(document["rollouts_per_step"])
    series = RunSeries(steps, int(document["of_steps"]), kept, figures)
    entries = document["fingerprint"]
    prints = {n: e if isinstance(e, str) else _finite(e) for n, e in entries.items() if n in FINGERPRINT}
    return Baseline(prints, series)


def _figure(entry: Mapping[str, Any], n: int) -> FigureSeries:
    packed, interval, basis = entry["values"], entry["interval"], entry["basis"]
    values = tuple(_finite(v) for v in (packed if isinstance(packed, list) else [packed] * n))
    if len(values) not in (0, n):
        raise ValueError(f"{len(values)} values for {n} steps")
    if basis is not None and basis not in BASES:
        raise ValueError(f"no basis is called {basis}")
    ends = None if interval is None else (_sure(interval[0]), _sure(interval[1]))
    return FigureSeries(
        _finite(entry["value"]), str(entry["unit"]), cast("Basis | None", basis), ends, values
    )


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    return _sure(value)


def _sure(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"not a number: {value!r}")
    return float(value)
