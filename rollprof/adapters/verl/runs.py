"""Which run each logged step belongs to: restarts, resumes, and two runs in one file.

A step that is not larger than the one before means one of four things: more of the same step, a late
line of an earlier one, a resume from a checkpoint (what was logged beyond it no longer counts), or a new
run. Which one it is follows from the step number, from the process that wrote it and from whether the
same keys come again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from rollprof.schema.ledger import Ledger
from rollprof.sources.records import MetricRecord

EVAL_FAMILIES = frozenset({"val", "val-core", "val-aux", "test_score"})
SIDE_FAMILIES = EVAL_FAMILIES | {"fully_async", "rollouter", "dynamic_resource"}
"""Keys that verl may log in a line of their own, beside the training line of a step."""

LATE = 2
"""Steps by which a line of the rollout side may lag behind the trainer's."""


class Entry(NamedTuple):
    """One logged step. `writer` is the process (0 unknown), `launch` counts program starts in the file."""

    step: int | None
    pairs: tuple[tuple[str, float], ...]
    offset: int
    time: float | None = None
    writer: int = 0
    launch: int = 0


@dataclass(slots=True)
class Run:
    """One run: its records in file order, the launches that contributed, and the last step logged."""

    launches: list[int]
    writers: set[int]
    offset: int
    last: int | None = None
    metrics: list[MetricRecord] = field(default_factory=list)
    seen: dict[int, dict[str, float]] = field(default_factory=dict)


class RunSplitter:
    """Takes logged steps in file order and sorts them into runs, oldest first."""

    def __init__(self, name: str, ledger: Ledger) -> None:
        self.runs: list[Run] = []
        self._name = name
        self._ledger = ledger
        self._headless: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Take one logged step. An entry without a step number is placed by its position."""
        if entry.step is None:
            self._add_headless(entry)
            return
        self._place_headless(entry)
        run = self._run_for(entry, entry.step)
        self._put(run, entry, entry.step)

    def finish(self) -> list[Run]:
        """All runs, oldest first."""
        self._place_headless(None)
        return self.runs

    def _run_for(self, entry: Entry, step: int) -> Run:
        """The run an entry belongs to, made ready for it (what it overrides is dropped)."""
        run = next((r for r in reversed(self.runs) if entry.writer and entry.writer in r.writers), None)
        fresh = run is None
        if run is None:
            run = self.runs[-1] if self.runs else None
        if run is None:
            return self._new_run(entry)
        last = run.last
        if last is None or step > last:
            return run
        again = entry.launch not in run.launches or (fresh and entry.writer != 0)
        if self._same_step(run, entry, step, last, again):
            return run
        if step <= 1:
            self._note(entry, f"a new run begins at step {step} (the one before had reached step {last})")
            return self._new_run(entry)
        self._resume(run, entry, step)
        return run

    def _same_step(self, run: Run, entry: Entry, step: int, last: int, again: bool) -> bool:
        """True for more of a step that the run has logged: other keys, a late line, the same line twice.
        `again`: the program was started again since."""
        known = run.seen.get(step, {})
        repeats = _repeats(entry.pairs, known)
        if step == last and known and not repeats:
            return True
        if not again and _is_side(entry.pairs):
            return step == last or (last - step <= LATE and (step > 1 or not repeats))
        if step == last and known and _same(entry.pairs, known):
            self._note(entry, f"step {step} logged twice with the same values")
            return True
        return False

    def _new_run(self, entry: Entry) -> Run:
        run = Run([entry.launch], {entry.writer} - {0}, entry.offset)
        self.runs.append(run)
        return run

    def _resume(self, run: Run, entry: Entry, step: int) -> None:
        """The run went back to `step`. A line of evaluation alone leaves that step's training in place."""
        first = step + 1 if _is_eval(entry.pairs) else step
        dropped = sorted(s for s in run.seen if s >= first)
        run.metrics = [r for r in run.metrics if r.step is None or r.step < first]
        for s in dropped:
            del run.seen[s]
        if dropped:
            shown = f"steps {dropped[0]} to {dropped[-1]}" if len(dropped) > 1 else f"step {dropped[0]}"
            self._note(entry, f"resumed at step {step}: what was logged before for {shown} no longer counts")
        run.last = max(run.seen, default=None)

    def _put(self, run: Run, entry: Entry, step: int) -> None:
        if entry.writer:
            run.writers.add(entry.writer)
        if entry.launch not in run.launches:
            run.launches.append(entry.launch)
        run.last = step if run.last is None else max(run.last, step)
        run.seen.setdefault(step, {}).update(entry.pairs)
        run.metrics.extend(MetricRecord(step, k, v, entry.time, entry.offset) for k, v in entry.pairs)

    def _add_headless(self, entry: Entry) -> None:
        run = self.runs[-1] if self.runs else None
        if run is None or run.last is None:
            waiting = self._headless[-1] if self._headless else None
            if waiting is not None and not _repeats(entry.pairs, dict(waiting.pairs)):
                self._headless[-1] = waiting._replace(pairs=(*waiting.pairs, *entry.pairs))
            else:
                self._headless.append(entry)
            return
        if not _repeats(entry.pairs, run.seen.get(run.last, {})):
            self._note(entry, f"a line without a step number continues step {run.last}")
            self._put(run, entry, run.last)
            return
        self._note(entry, f"a line without a step number: taken for step {run.last + 1} by its position")
        self._put(run, entry, run.last + 1)

    def _place_headless(self, following: Entry | None) -> None:
        """Number the lines that came before any step number, backwards from the first one that has one."""
        waiting, self._headless = self._headless, []
        if not waiting:
            return
        after = following.step if following is not None and following.step is not None else len(waiting) + 1
        first = after - len(waiting) if after > len(waiting) else 1
        run = self._new_run(waiting[0])
        for i, entry in enumerate(waiting):
            self._note(entry, f"a line without a step number: taken for step {first + i} by its position")
            self._put(run, entry, first + i)

    def _note(self, entry: Entry, text: str) -> None:
        self._ledger.note(self._name, entry.offset, text)


def _repeats(pairs: Iterable[tuple[str, float]], known: dict[str, float]) -> bool:
    return any(key in known for key, _ in pairs)


def _same(pairs: Iterable[tuple[str, float]], known: dict[str, float]) -> bool:
    return all(known.get(k) == v or (math.isnan(v) and math.isnan(known.get(k, 0.0))) for k, v in pairs)


def _family(key: str) -> str:
    return key.partition("/")[0]


def _is_side(pairs: Iterable[tuple[str, float]]) -> bool:
    return all(_family(k) in SIDE_FAMILIES for k, _ in pairs)


def _is_eval(pairs: Iterable[tuple[str, float]]) -> bool:
    return all(_family(k) in EVAL_FAMILIES for k, _ in pairs)
