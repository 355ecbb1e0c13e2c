"""The crossing of trackers and frameworks: whose run a tracker's file holds, and its scalars under the
framework's own keys and steps.

A framework says three things about itself (`Vocabulary`); what the tracker's container looks like is known in
`sources.sinks` alone. Interpretation then does not care where a value came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rollprof.adapters.base import Claim, MetricPart, Precision
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sinks import TITLES, ScalarRun, read_sink, sink_of

SCORE = 0.95
SETTINGS = "settings"
"""Hint of a claim on a file of settings."""
LARGEST_STEP = 1 << 53
"""Beyond it, a step is damage."""
CONSOLE = ("wandb", "swanlab")
"""Trackers that keep the console beside the scalars."""


NAMELESS = ("tfevents", "history")
"""Trackers whose runs are called by their files."""


@dataclass(frozen=True, slots=True)
class Row:
    """Scalars that were logged together. `step` is the tracker's own count where `own_step`."""

    step: int
    own_step: bool
    time: float | None
    values: Mapping[str, float]
    offset: int


Rows = Sequence[Row]
ConsoleReader = Callable[[SniffedFile, Claim, Ledger], list[MetricPart]]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How a framework's scalars look in a tracker.

    `telling(keys)`: these are its keys. `fill(part, rows, config)` gives a part the scalars under their own
    names and training steps, and the settings under the names that the framework's other files have;
    `settings(config)` gives the latter alone.
    """

    adapter: str
    title: str
    telling: Callable[[Collection[str]], bool]
    fill: Callable[[MetricPart, Rows, Mapping[str, Any]], None]
    settings: Callable[[Mapping[str, Any]], dict[str, Any]]
    marks: tuple[str, ...] = ()
    """Settings that all stand at the start of a line of a file that holds the framework's settings alone."""


def claim_sink(file: SniffedFile, vocabulary: Vocabulary) -> Claim | None:
    """A claim on a tracker's file whose keys are the framework's."""
    sink = sink_of(file)
    if sink is None or not vocabulary.telling(file.columns):
        return None
    why = f"{TITLES[sink]} with metrics of {vocabulary.title}"
    return Claim(vocabulary.adapter, "metrics", SCORE, why, hints={"sink": sink})


def claim_settings(file: SniffedFile, vocabulary: Vocabulary) -> Claim | None:
    """A claim on a file that holds nothing but the framework's settings, as YAML or JSON."""
    if not vocabulary.marks:
        return None
    if file.kind in ("json_document", "json_lines"):
        if len(file.objects) != 1 or not all(mark in file.objects[0] for mark in vocabulary.marks):
            return None
    elif file.kind != "text" or not all(_at_line_start(mark, file.head) for mark in vocabulary.marks):
        return None
    return Claim(vocabulary.adapter, "config", 0.9, f"settings of {vocabulary.title}", hints={SETTINGS: "1"})


def _at_line_start(mark: str, head: bytes) -> bool:
    return re.search(rf"^{re.escape(mark)}:".encode(), head, re.MULTILINE) is not None


def read_settings_alone(
    file: SniffedFile, claim: Claim, ledger: Ledger, vocabulary: Vocabulary
) -> list[MetricPart]:
    """One part with the settings of such a file."""
    from rollprof.sources.settings import read_settings

    return [MetricPart(file, claim, config=vocabulary.settings(read_settings(file, ledger)))]


def read_tracked(
    file: SniffedFile,
    claim: Claim,
    ledger: Ledger,
    vocabulary: Vocabulary,
    console: ConsoleReader | None = None,
) -> list[MetricPart]:
    """The framework's runs in a tracker's file: one part of scalars each, and what the console kept beside
    them says. Runs of somebody else are noted and left out."""
    parts: list[MetricPart] = []
    for run in read_sink(file, ledger):
        keys = dict.fromkeys(r.key for r in run.records)
        if not vocabulary.telling(keys):
            if keys:
                ledger.note(file.name, 0, f"run {run.name}: not {vocabulary.title}'s, left out")
            continue
        parts.append(_part(file, claim, run, vocabulary))
    if console is not None and sink_of(file) in CONSOLE and len(parts) == 1:
        parts += _console(file, claim, parts[0], console)
    return parts


def _part(file: SniffedFile, claim: Claim, run: ScalarRun, vocabulary: Vocabulary) -> MetricPart:
    precision: Precision = "exact" if run.digits == "float64" else "float32"
    hints = {k: v for k, v in claim.hints.items() if k != "sink"}
    part = MetricPart(
        file,
        claim,
        hints=hints,
        gpus=run.gpus,
        run_id=run.run_id,
        name="" if run.sink in NAMELESS else run.name,
        precision=precision,
    )
    vocabulary.fill(part, rows_of(run), run.config)
    return part


def _console(
    file: SniffedFile, claim: Claim, scalars: MetricPart, console: ConsoleReader
) -> list[MetricPart]:
    """What the console kept in a tracker's log says; of several runs in it, the last is the tracker's."""
    said = console(file, replace(claim, role="console", hints={}), Ledger())
    telling = [part for part in said[-1:] if part.metrics or part.config or part.engines]
    for part in telling:
        part.run_id, part.name, part.label = scalars.run_id, scalars.name, ""
    return telling


def rows_of(run: ScalarRun) -> list[Row]:
    """Scalars logged together, in the order logged."""
    rows: list[Row] = []
    values: dict[str, float] = {}
    last: tuple[int, int | None] | None = None
    for record in run.records:
        if record.step is None or abs(record.step) > LARGEST_STEP:
            continue
        if (record.offset, record.step) != last:
            last = (record.offset, record.step)
            values = {}
            rows.append(Row(record.step, run.own_steps, record.time, values, record.offset))
        values[record.key] = record.value
    return rows


def stepped(rows: Rows, *axes: str) -> list[tuple[int, Row]]:
    """(training step, row). Where the tracker counts rows itself, the step is the first of `axes` that a row
    has; a row without any is left out, unless there are no axes."""
    found: list[tuple[int, Row]] = []
    for row in rows:
        said = next((row.values[axis] for axis in axes if axis in row.values), None)
        if said is not None and abs(said) <= LARGEST_STEP:
            found.append((int(said), row))
        elif not row.own_step or not axes:
            found.append((row.step, row))
    return found


def since_before(times: Sequence[tuple[int, float | None]]) -> list[tuple[int, float]]:
    """(step, seconds since the step logged before it) of steps in the order logged, by the tracker's clock.

    A file has one writer, so that no restart lies between two of its rows.
    """
    found: list[tuple[int, float]] = []
    last: tuple[int, float] | None = None
    for step, time in times:
        if time is None:
            continue
        if last is not None and step > last[0] and time >= last[1]:
            found.append((step, time - last[1]))
        if last is None or step > last[0]:
            last = (step, time)
    return found
