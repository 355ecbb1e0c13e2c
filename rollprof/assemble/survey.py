"""What is in the input before anything heavy is read: files, parts, and the runs that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rollprof.adapters import registry
from rollprof.adapters.base import Interpretation, MetricPart, RolloutSummary
from rollprof.adapters.engines.collecting import SAMPLES
from rollprof.assemble import merge
from rollprof.assemble.inputs import Input, Recognised, look, nothing, recognise
from rollprof.assemble.resumes import without_voided
from rollprof.assemble.runs import Candidate, candidates
from rollprof.assemble.series import Series, group_series, peek
from rollprof.errors import InputProblem
from rollprof.parallel.tasks import ConvertOptions
from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import last_line_end, up_to
from rollprof.sources.records import SniffedFile


@dataclass(frozen=True, slots=True)
class Survey:
    """Files with their claims, the parts read from them, and the candidates for a run."""

    arguments: tuple[str, ...]
    inputs: tuple[Input, ...]
    strangers: tuple[SniffedFile, ...]
    empty: tuple[SniffedFile, ...]
    parts: tuple[MetricPart, ...]
    series: tuple[Series, ...]
    runs: tuple[Candidate, ...]
    ledger: Ledger

    @property
    def usable(self) -> bool:
        """Whether any of the runs has a metric, a dump or a sample of an engine: a configuration is no
        run."""
        return any(c.series or any(_tells(p) for p in c.parts) for c in self.runs)


def _whole_lines(found: Recognised) -> dict[str, int]:
    """Where the last whole line of each growing text ends. Settings are written at once."""
    growing = [
        item.file
        for item in found.inputs
        if item.file.kind in ("text", "json_lines")
        and item.file.compression == "none"
        and item.claim.role != "config"
    ]
    return {file.path: last_line_end(file.path, 0, Path(file.path).stat().st_size) for file in growing}


def _tells(part: MetricPart) -> bool:
    return bool(part.engines) if part.claim.hints.get(SAMPLES) else bool(part.metrics)


def survey(
    arguments: Sequence[str],
    framework: str | None,
    columns: Mapping[str, str],
    *,
    lenient: bool = False,
    follow: bool = False,
) -> Survey:
    """Recognise the inputs, read metrics and configurations, and find the runs.

    Raises InputProblem where no file is recognised; with `lenient` only where there is no file.
    `follow`: files are being written, and a last line without its end waits.
    """
    ledger = Ledger()
    found = (look if lenient else recognise)(arguments, framework, columns, ledger)
    with up_to(_whole_lines(found) if follow else {}):
        parts = _read_parts(found, ledger)
    convert = ConvertOptions(columns=columns)
    series = group_series(found.inputs)
    runs = candidates(
        parts,
        series,
        rows=lambda part: interpret([part], {}, {}).steps,
        peek=lambda series, steps, own: peek(series, steps, convert, merge.merge(own).config),
    )
    for run in runs:
        run.parts = without_voided(run.parts, ledger)
    return Survey(
        arguments=tuple(arguments),
        inputs=found.inputs,
        strangers=found.strangers,
        empty=found.empty,
        parts=tuple(parts),
        series=tuple(series),
        runs=tuple(runs),
        ledger=ledger,
    )


def _read_parts(found: Recognised, ledger: Ledger) -> list[MetricPart]:
    parts: list[MetricPart] = []
    for item in found.inputs:
        if item.claim.role != "rollouts":
            parts += registry.load(item.claim.adapter).read(item.file, item.claim, ledger)
        for claim in item.also:
            again = Ledger()  # its lines are counted already
            parts += registry.load(claim.adapter).read(item.file, claim, again)
            ledger.extend(again.problems)
            ledger.notes += again.notes
    return parts


def interpret(
    parts: Sequence[MetricPart],
    overrides: Mapping[str, Any],
    rollouts: Mapping[tuple[int, str], RolloutSummary],
) -> Interpretation:
    """The run in the schema's words. Without any part, an empty reading (rollouts alone)."""
    names = list(dict.fromkeys(p.claim.adapter for p in merge.by_exactness(parts)))
    samplers = {p.claim.adapter for p in parts if p.claim.hints.get(SAMPLES)}
    readings = []
    for name in sorted(names, key=lambda n: (n in samplers, n == "generic")):
        mine = merge.merge([p for p in parts if p.claim.adapter == name])
        readings.append(registry.load(name).interpret(merge.evidence(mine, overrides, rollouts)))
    return merge.combine(readings) if readings else Interpretation(steps=[], facts={})


def no_step(shown: str, found: Survey) -> InputProblem:
    """Nothing in these files can be analysed."""
    if not found.inputs:
        return nothing(found.arguments, (*found.strangers, *found.empty), None)
    first = found.inputs[0]
    return InputProblem(
        f"{shown}: {first.claim.why}, but no training step, rollout or engine sample in it",
        hint=first_problem(found.ledger)
        or "the run may have died before its first step, or logged its metrics elsewhere",
    )


def first_problem(ledger: Ledger) -> str | None:
    """The first line that was lost, for a hint."""
    for problem in ledger.problems:
        if problem.kind == "skipped":
            return f"first problem: {problem.file}, byte {problem.offset}: {problem.reason}"
    return None
