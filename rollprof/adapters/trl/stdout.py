"""A trainer's console log -> metric parts, one per run, oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rollprof.adapters.base import Claim, MetricPart
from rollprof.adapters.trl.derived import EVALUATED, derived_settings
from rollprof.adapters.trl.events import Event, Logged, continues, events, starts_open
from rollprof.adapters.trl.logdict import generates
from rollprof.adapters.trl.numbering import Entry, Numbered, number_entries
from rollprof.adapters.trl.progress import ELAPSED, Bar, spoken_seconds
from rollprof.adapters.trl.settings import SettingsReader
from rollprof.adapters.trl.stretches import Stretch, kind_of, stretches
from rollprof.schema.ledger import Ledger
from rollprof.sources.console import read_console, rejoin
from rollprof.sources.records import MetricRecord, SniffedFile, TextLine


@dataclass(slots=True)
class _Run:
    """Stretches of one run; `entries` without those that a resume made void."""

    entries: list[Entry] = field(default_factory=list)
    bars: dict[int, Bar] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    counted: bool = False
    finished: bool = False

    @property
    def steps(self) -> list[int]:
        return [e.step for e in self.entries if e.kind == "train"]


def read_stdout(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """The runs of a console log. A log without a usable metric dict gives none; the ledger says why."""
    told: list[dict[str, Any]] = []
    found = list(_listening(file, ledger, told))
    runs: list[_Run] = []
    section = 0
    for stretch in stretches(found):
        _add(runs, stretch, number_entries(stretch), file, ledger)
        runs[-1].settings.update(told[section])
        section += stretch.finished
    for settings in told[section:] if runs else []:
        runs[-1].settings = {**settings, **runs[-1].settings}
    runs = [r for r in runs if any(generates(e.logged.values) for e in r.entries)]
    labels = [str(i + 1) for i in range(len(runs))] if len(runs) != 1 else [""]
    return [_part(file, claim, run, label) for run, label in zip(runs, labels, strict=True)]


def _listening(file: SniffedFile, ledger: Ledger, told: list[dict[str, Any]]) -> Iterator[Event]:
    """Events of the log. `told` gets the settings that its lines say, cut where the summary of a run
    stands: what follows belongs to the next run, where there is one."""
    reader = SettingsReader()
    told.append(reader.settings)

    def lines() -> Iterator[TextLine]:
        for line in read_console(file, ledger, redraws=True):
            reader.feed(line.text)
            yield line

    whole = rejoin(lines(), starts_open, continues, ledger=ledger, name=file.name)
    for event in events(whole, ledger, file.name):
        yield event
        if isinstance(event, Logged) and kind_of(event.values) == "end":
            reader = SettingsReader()
            told.append(reader.settings)


def _add(runs: list[_Run], stretch: Stretch, numbered: Numbered, file: SniffedFile, ledger: Ledger) -> None:
    """Add a stretch: to the run that it resumes, or as a new run."""
    entries = numbered.entries
    train = [e.step for e in entries if e.kind == "train"]
    before = runs[-1].steps if runs else []
    if not runs or (train and before and _starts_over(numbered, runs[-1])):
        if runs:
            at = entries[0].logged.offset
            ledger.note(
                file.name, at, f"a new run begins at step {train[0]} (the last had reached {max(before)})"
            )
        runs.append(_Run())
    run = runs[-1]
    train = [e.step for e in entries if e.kind == "train"]  # a resume that was counted is numbered by now
    if train and before:
        void = [e for e in run.entries if e.step >= train[0]]
        if void:
            ledger.note(
                file.name,
                entries[0].logged.offset,
                f"resumed at step {train[0]}: what was logged before from there on no longer counts",
            )
        run.entries = [e for e in run.entries if e.step < train[0]]
        run.bars = {step: bar for step, bar in run.bars.items() if step < train[0]}
    run.entries += entries
    run.counted = run.counted or numbered.counted
    run.finished = stretch.finished
    if not numbered.counted:
        for event in stretch.events:
            if isinstance(event, Bar):
                run.bars.setdefault(event.done, event)


def _starts_over(numbered: Numbered, run: _Run) -> bool:
    """Whether a stretch begins where its predecessor began, rather than at a checkpoint.

    Where steps were only counted, the epoch tells; a resumed stretch is then numbered from it.
    """
    train = [e for e in numbered.entries if e.kind == "train"]
    if not numbered.counted:
        return train[0].step <= run.steps[0]
    first = train[0].epoch
    known = [(e.epoch, e.step) for e in run.entries if e.kind == "train" and e.epoch is not None]
    if first is None or not known or first <= known[0][0]:
        return True
    start = next((step for epoch, step in known if epoch >= first), run.steps[-1] + 1)
    shift = start - train[0].step
    for entry in numbered.entries:
        entry.step += shift
    return False


def _part(file: SniffedFile, claim: Claim, run: _Run, label: str) -> MetricPart:
    metrics: list[MetricRecord] = []
    for entry in run.entries:
        logged = entry.logged
        for key, value in logged.values.items():
            if isinstance(value, float):
                metrics.append(MetricRecord(entry.step, key, value, logged.time, logged.offset))
        spoken = logged.values.get("elapsed_time")
        if isinstance(spoken, str) and (elapsed := spoken_seconds(spoken)) is not None:
            metrics.append(MetricRecord(entry.step, ELAPSED, elapsed, logged.time, logged.offset))
    for step, bar in sorted(run.bars.items()):
        metrics.append(MetricRecord(step, ELAPSED, float(bar.elapsed), None, bar.offset))
    hints: dict[str, str] = {}
    if run.counted:
        hints["steps"] = "counted"
    if any(
        "train_speed(iter/s)" in e.logged.values or "train_speed(s/it)" in e.logged.values
        for e in run.entries
    ):
        hints["mark.swift"] = "1"
    derived = derived_settings(metrics, finished=run.finished and not run.counted)
    if run.counted:  # steps that were only counted say nothing about the files of a dump
        derived = {k: v for k, v in derived.items() if not k.startswith(EVALUATED)}
    config = {**run.settings, **derived}
    if any(e.logged.quoted for e in run.entries):
        hints["mark.transformers5"] = "1"
    elif run.entries:
        hints["mark.transformers4"] = "1"
    return MetricPart(file, claim, metrics, config=config, hints=hints, label=label)
