"""A console log of OpenRLHF -> one part per run in it: metrics, arguments, engine samples, hints.

Takes the driver's log with Ray's prefixes as well as one without (a worker's own file, a tracker's copy).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from rollprof.adapters.base import Claim, MetricPart
from rollprof.adapters.openrlhf import args, stepline
from rollprof.adapters.openrlhf.bars import Bar, parse_bars
from rollprof.adapters.openrlhf.curves import EPISODE, GROUPS, REQUESTS
from rollprof.adapters.openrlhf.launches import Evaluation, Launch, Process, Step
from rollprof.adapters.openrlhf.loglines import Calendar, Remark, parse_log_line, parse_remark
from rollprof.adapters.openrlhf.parts import parts_of
from rollprof.schema.ledger import Ledger
from rollprof.sources.console import read_console, rejoin
from rollprof.sources.records import SniffedFile, TextLine
from rollprof.sources.searching import search_text

_DATE = re.compile(rb"(?<!\d)(20\d\d)-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)")
_DEDUPED = re.compile(rb"(?:Processed prompts|Generate samples)[^\n]*\[repeated \d+x across cluster\]")
_BARE_PREFIX = re.compile(r"\((\w{1,40})\) ")
_REFORMATTED = "the metrics do not follow as the {...} that OpenRLHF prints: somebody reformatted this step"
_ACTORS = frozenset(
    {
        "PPOTrainer",
        "PPOTrainerAsync",
        "TrainingActor",
        "GenerateSamplesActor",
        "PolicyModelActor",
        "ActorModelRayActor",
        "LLMRayActor",
        "LLMRayActorAsync",
        "RolloutRayActor",
        "RemoteRewardModel",
    }
)
SHOWN = 60


def read(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """The runs in a console log, oldest first. Without a step, one part with the arguments."""
    reader = ConsoleReader(file.name, ledger, calendar(file))
    reader.read(read_console(file, ledger, redraws=True))
    if search_text(file, _DEDUPED) is not None:
        for launch in reader.launches:
            launch.mark("bars_deduplicated")
    return parts_of(file, claim, reader.launches, ledger)


def calendar(file: SniffedFile) -> Calendar:
    """The year of the logger's stamps: a full date in the log, else when the file was last written."""
    found = search_text(file, _DATE)
    if found is not None:
        year, month, day, hour, minute, second = map(int, found.groups())
        try:
            when = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
            return Calendar(when.timestamp(), latest=False)
        except ValueError:
            pass
    return Calendar(Path(file.path).stat().st_mtime, latest=True)


class ConsoleReader:
    """Takes the lines of a console log in order."""

    def __init__(self, name: str, ledger: Ledger, dates: Calendar) -> None:
        self.launches = [Launch()]
        self._name = name
        self._ledger = ledger
        self._calendar = dates
        self._position = 0

    @property
    def _launch(self) -> Launch:
        return self.launches[-1]

    def read(self, lines: Iterable[TextLine]) -> None:
        """Read all lines of the log."""
        whole = rejoin(lines, _opens, _continues, ledger=self._ledger, name=self._name)
        for position, line in enumerate(self._attributed(whole)):
            self._position = position
            self._take(line)

    def _attributed(self, lines: Iterable[TextLine]) -> Iterator[TextLine]:
        """The same lines; one without a prefix that follows a bare prefix gets that one's actor: web pages
        break lines behind Ray's prefix."""
        bare: Process = ("", 0)
        for line in lines:
            if line.actor:
                bare = ("", 0) if line.text.strip() else (line.actor, line.pid)
            elif bare[0]:
                line = line._replace(actor=bare[0], pid=bare[1])
            yield line

    def _take(self, line: TextLine) -> None:
        text = line.text
        actor = line.actor or _bare_actor(text)
        if actor in _ACTORS:
            self._launch.mark(f"actor.{actor}")
        if args.begins(text):
            self._arguments(text)
            return
        bars = list(parse_bars(text))
        for bar in bars:
            self._bar(bar, line)
        if not bars:
            self._message(line)

    def _arguments(self, text: str) -> None:
        found = args.parse_args(text)
        if self._launch.begun:
            self.launches.append(Launch())
        self._launch.config.update(found.settings)
        self._launch.mark("args_nested" if found.nested else "args_flat")
        for name in found.names & {"prompt_max_len", "max_new_tokens"}:
            self._launch.mark(f"args.{name}")

    def _bar(self, bar: Bar, line: TextLine) -> None:
        if bar.what == EPISODE:
            self._episode(bar, line)
        elif bar.what in (GROUPS, REQUESTS):
            self._launch.mark("bar.groups" if bar.what == GROUPS else "bar.requests")
            self._launch.bars.add(bar, line.actor, line.pid, self._position)

    def _episode(self, bar: Bar, line: TextLine) -> None:
        fresh = self._launch.episodes.add(bar, line.actor, self._position, line.offset)
        if fresh is not None:
            fresh.said = self._launch.take_said((line.actor, line.pid))

    def _message(self, line: TextLine) -> None:
        logged = parse_log_line(line.text)
        time = line.time
        if logged is not None and logged.stamp is not None:
            time = self._calendar.epoch(logged.stamp)
        step = stepline.parse_step_line(line.text)
        if step is not None:
            self._step(step, line, time)
            return
        if logged is None:
            return
        remark = parse_remark(logged.text)
        if remark is not None:
            self._remark(remark, line, time)

    def _step(self, found: stepline.StepLine, line: TextLine, time: float | None) -> None:
        status = found.status
        if status is None or not (status.pairs or status.absent):
            self._demote(line, f"step {found.step}: {_REFORMATTED}")
            return
        if self._repeats(found.step, status):
            self._ledger.note(self._name, line.offset, f"step {found.step} logged twice with the same values")
            return
        self._complain(status, line, f"step {found.step}")
        process = (line.actor, line.pid)
        self._start_again_for(found.step, process)
        launch = self._launch
        launch.trainer = process
        launch.mark("sparkles" if found.sparkles else "no_sparkles")
        launch.close_window(process, self._position)
        launch.steps.append(
            Step(found.step, self._position, line.offset, time, status.pairs, launch.take_said(process))
        )

    def _repeats(self, number: int, status: stepline.Status) -> bool:
        """The last step's line once more (two streams collected into one log). By text: nan equals nan."""
        last = self._launch.steps[-1] if self._launch.steps else None
        return last is not None and last.number == number and repr(last.pairs) == repr(status.pairs)

    def _start_again_for(self, number: int, process: Process) -> None:
        """A step that does not follow, or one by another process, belongs to another start."""
        launch = self._launch
        if not launch.steps:
            return
        moved = bool(process[1]) and launch.trainer is not None and process != launch.trainer
        if number > launch.steps[-1].number and not moved:
            return
        fresh = Launch(config=dict(launch.config), hints=dict(launch.hints))
        fresh.between = launch.between
        fresh.mark("restarted")
        self.launches.append(fresh)

    def _remark(self, remark: Remark, line: TextLine, time: float | None) -> None:
        launch, process = self._launch, (line.actor, line.pid)
        if remark.kind == "eval_start":
            launch.open_window(process, self._position)
        elif remark.kind == "eval_end":
            launch.close_window(process, self._position)
        elif remark.kind in ("sample", "queue_full", "retry", "resumed"):
            count = int(launch.hints.get(f"count.{remark.kind}", "0")) + 1
            launch.hints[f"count.{remark.kind}"] = str(count)
            launch.mark(remark.kind)
        elif remark.kind == "queue":
            launch.hints["queue_size"] = str(remark.count)
        else:
            launch.said(process).add(remark, time)
            launch.mark(remark.kind)
        if remark.body is not None and remark.step is not None:
            status = stepline.parse_status(remark.body)
            self._complain(status, line, f"evaluation at step {remark.step}")
            launch.evaluations.append(
                Evaluation(remark.step, line.offset, time, status.pairs, remark.seconds)
            )

    def _complain(self, status: stepline.Status, line: TextLine, where: str) -> None:
        if status.dropped:
            shown = ", ".join(repr(key[:SHOWN]) for key in status.dropped[:3])
            more = f" and {len(status.dropped) - 3} more" if len(status.dropped) > 3 else ""
            self._ledger.note(self._name, line.offset, f"{where}: no number for {shown}{more}")
        if not status.closed:
            self._ledger.note(self._name, line.offset, f"{where}: the line is cut before its end")

    def _demote(self, line: TextLine, reason: str) -> None:
        """Count the line as skipped instead of read."""
        if line.lines and not line.repaired:
            self._ledger.read -= line.lines
            self._ledger.skip(self._name, line.offset, reason, lines=line.lines)
        else:
            self._ledger.note(self._name, line.offset, reason)


def _bare_actor(text: str) -> str:
    """The actor of a prefix that lost its pid: `(PPOTrainer) …`."""
    found = _BARE_PREFIX.match(text) if text.startswith("(") else None
    return found[1] if found is not None else ""


def _opens(text: str) -> bool:
    return stepline.opens(text) or args.unclosed(text)


def _continues(text: str) -> bool:
    return stepline.continues(text) or ("=" in text and args.continues(text))
