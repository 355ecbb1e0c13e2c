"""Launches -> runs: which starts of the program belong together, and the metric records of each.

A start whose first step is 1 (or not beyond where the one before began) is a new run; any other one is a
resume, and what was logged before for the steps that come again no longer counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollprof.adapters.base import Claim, MetricPart
from rollprof.adapters.openrlhf.episodes import EpisodeStep
from rollprof.adapters.openrlhf.generation import generation_records
from rollprof.adapters.openrlhf.launches import Launch, Step, number_walls
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import MetricRecord, SniffedFile


def parts_of(file: SniffedFile, claim: Claim, launches: Sequence[Launch], ledger: Ledger) -> list[MetricPart]:
    """One part per run, oldest first, numbered where there are several. Launches without a step give their
    arguments to the run that follows, or to a part of their own when none does."""
    runs: list[list[Launch]] = []
    waiting: list[Launch] = []
    for launch in launches:
        _adopt_episodes(launch)
        if not launch.steps:
            waiting.append(launch)
            continue
        if runs and _resumes(launch, runs[-1]):
            runs[-1] += [*waiting, launch]
        else:
            runs.append([*waiting, launch])
        waiting = []
    if runs:
        runs[-1] += [w for w in waiting if not w.config]
    found = runs or ([waiting] if waiting else [])
    many = len(runs) > 1
    return [_part(file, claim, group, str(i + 1) if many else "", ledger) for i, group in enumerate(found)]


def _adopt_episodes(launch: Launch) -> None:
    """Where there is no step line (until 0.8.0), the ticks of the episode bar are the steps."""
    if launch.steps:
        return
    before: EpisodeStep | None = None
    for tick in launch.episodes.steps:
        step = Step(tick.number, tick.position, tick.offset, None, tuple(tick.pairs.items()), tick.said)
        if tick.done == 1:
            step.wall_s = float(tick.elapsed)
        elif before is not None and (before.episode, before.done) == (tick.episode, tick.done - 1):
            step.wall_s = float(tick.elapsed - before.elapsed)
        before = tick
        launch.steps.append(step)
    if launch.steps:
        launch.mark("episode_bar")


def _resumes(launch: Launch, run: Sequence[Launch]) -> bool:
    first = launch.steps[0].number
    begun = next(s.number for known in run for s in known.steps)
    return first > 1 and first > begun


def _part(file: SniffedFile, claim: Claim, run: Sequence[Launch], label: str, ledger: Ledger) -> MetricPart:
    part = MetricPart(file, claim, hints=dict(claim.hints), label=label, precision="exact")
    for launch in run:
        if launch.steps:
            _forget_from(part, launch.steps[0], file.name, ledger)
        if "mark.episode_bar" not in launch.hints:
            number_walls(launch.steps)
        part.config.update(launch.config)
        part.hints.update(launch.hints)
        records, engines, hints = generation_records(launch)
        part.metrics += sorted([*_records(launch), *records], key=lambda r: r.offset)
        part.engines += engines
        part.hints.update(hints)
    return part


def _forget_from(part: MetricPart, step: Step, name: str, ledger: Ledger) -> None:
    """The run went back to `step`."""
    again = sorted({r.step for r in part.metrics if r.step is not None and r.step >= step.number})
    if not again:
        return
    part.metrics = [r for r in part.metrics if r.step is None or r.step < step.number]
    part.engines = [e for e in part.engines if step.time is None or e.time < step.time]
    shown = f"steps {again[0]} to {again[-1]}" if len(again) > 1 else f"step {again[0]}"
    note = f"resumed at step {step.number}: what was logged before for {shown} no longer counts"
    ledger.note(name, step.offset, note)


def _records(launch: Launch) -> Iterator[MetricRecord]:
    for step in launch.steps:
        said = step.said
        pairs = [
            *step.pairs,
            ("log/since_previous_step_s", step.wall_s),
            ("log/samples", said.samples),
            ("log/make_experience_s", said.made_s),
            ("log/sampling_rounds", said.rounds + 1 if said.sampled is not None else None),
            ("log/kept_samples", said.kept),
            ("log/sampled_samples", said.sampled),
            ("log/rejected_groups", said.rejected or None),
        ]
        for key, value in pairs:
            if value is not None:
                yield MetricRecord(step.number, key, float(value), step.time, step.offset)
    for evaluation in launch.evaluations:
        at = (evaluation.step, evaluation.time, evaluation.offset)
        for key, value in evaluation.pairs:
            yield MetricRecord(at[0], _eval_key(key), value, at[1], at[2])
        if evaluation.seconds is not None:
            yield MetricRecord(at[0], "log/eval_s", evaluation.seconds, at[1], at[2])


def _eval_key(key: str) -> str:
    """Until 0.9.0 the keys get a second prefix where a tracker is on."""
    return key.removeprefix("eval/") if key.startswith("eval/eval_") else key
