"""Whether the files of one run tell the same story, each to the digits that it keeps."""

from __future__ import annotations

import math
from pathlib import Path

from rollprof.adapters.base import MetricPart
from rollprof.assemble.merge import values_by_step
from rollprof.assemble.runs import Candidate, choose
from rollprof.assemble.survey import survey
from rollprof.sources.sinks import sink_of

FLOAT32 = 1e-6
FOUR_DIGITS = 5.1e-4
MEASURED = ("log/", "bar/", "progress/")
"""By the clock of who read it, not by the one who wrote."""


def one_run(*paths: Path) -> Candidate:
    """The run that these paths hold."""
    found = survey([str(p) for p in paths], None, {})
    return choose(found.runs, None, str(paths[0]))


def sinks(run: Candidate) -> dict[str, list[MetricPart]]:
    """Parts with steps by where they stand."""
    found: dict[str, list[MetricPart]] = {}
    for part in run.parts:
        if any(r.step is not None for r in part.metrics):
            name = "console" if part.claim.role == "console" else sink_of(part.file) or "file"
            found.setdefault(name, []).append(part)
    return found


def tolerance(a: MetricPart, b: MetricPart) -> float:
    """What the less exact of two keeps: Trainers print four digits, TensorBoard keeps float32."""
    consoles = [p for p in (a, b) if p.claim.role == "console"]
    if any(p.claim.adapter == "trl" for p in consoles):
        return FOUR_DIGITS
    return FLOAT32 if "float32" in (a.precision, b.precision) else 0.0


def assert_agree(run: Candidate, least: int) -> None:
    """Every two parts have the same value wherever both have one; each has `least` in common with another."""
    parts = [p for found in sinks(run).values() for p in found]
    for i, a in enumerate(parts):
        most = 0
        for b in parts[:i] + parts[i + 1 :]:
            one, other = values_by_step(a), values_by_step(b)
            shared = [
                (step, key)
                for step in one.keys() & other.keys()
                for key in one[step].keys() & other[step].keys()
                if not key.startswith(MEASURED) and key != "epoch"  # transformers 4 prints two decimals of it
            ]
            most = max(most, len(shared))
            for step, key in shared:
                x, y = one[step][key], other[step][key]
                same = (math.isnan(x) and math.isnan(y)) or math.isclose(
                    x, y, rel_tol=tolerance(a, b), abs_tol=0
                )
                assert same, f"{key} at step {step}: {x} in {a.file.name}, {y} in {b.file.name}"
        assert most >= least, a.file.name
