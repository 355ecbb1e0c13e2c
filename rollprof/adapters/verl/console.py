"""A console log of verl -> one part per run in it: metrics, configuration, hints."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rollprof.adapters.base import Claim, MetricPart
from rollprof.adapters.verl import config as configuration
from rollprof.adapters.verl import stepline
from rollprof.adapters.verl.runs import Entry, Run, RunSplitter
from rollprof.adapters.verl.status import StatusReader
from rollprof.adapters.verl.wrapping import WrapSense
from rollprof.schema.ledger import Ledger
from rollprof.sources.console import read_console, rejoin
from rollprof.sources.records import SniffedFile, TextLine

SHOWN = 60
"""Characters of a dropped piece that a note quotes."""


def read(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """The runs in a console log, oldest first. Without a step line, one part with the configuration."""
    reader = ConsoleReader(file.name, ledger)
    reader.read(read_console(file, ledger))
    return reader.parts(file, claim)


@dataclass(slots=True)
class Launch:
    """One start of the program: what it was told and what it said."""

    status: StatusReader = field(default_factory=StatusReader)
    commands: configuration.CommandReader = field(default_factory=configuration.CommandReader)
    dump: dict[str, object] = field(default_factory=dict)
    stepped: bool = False
    formats: set[str] = field(default_factory=set)

    def config(self) -> dict[str, object]:
        """What the program printed of its configuration, gaps filled from the command line."""
        return {**self.commands.settings, **self.dump}

    def hints(self) -> dict[str, str]:
        form = "repr" if "repr" in self.formats else "fixed3" if self.formats else None
        return {**self.status.hints, **({f"mark.{form}": "1"} if form else {})}


class ConsoleReader:
    """Takes the lines of a console log in order."""

    def __init__(self, name: str, ledger: Ledger) -> None:
        self._name = name
        self._ledger = ledger
        self._launches = [Launch()]
        self._splitter = RunSplitter(name, ledger)
        self._sense = WrapSense()
        self._begun: deque[tuple[int, str, int]] = deque()
        self._doubted: set[int] = set()
        self._dump: tuple[tuple[str, int], configuration.DumpReader, int] | None = None

    def read(self, lines: Iterable[TextLine]) -> None:
        """Read all lines of the log."""
        joined = rejoin(
            self._observed(self._sense.watch(lines)),
            self._sense.starts,
            self._sense.continues,
            ledger=self._ledger,
            name=self._name,
        )
        for line in joined:
            if self._begun and self._is_begun(line):
                self._take(line, self._begun.popleft()[2])
        self._close_dump()

    def parts(self, file: SniffedFile, claim: Claim) -> list[MetricPart]:
        """One part per run, oldest first, numbered where there are several."""
        runs = self._splitter.finish()
        if not runs:
            every = list(range(len(self._launches)))
            return [self._part(file, claim, every, None, "")]
        many = len(runs) > 1
        return [
            self._part(file, claim, sorted(run.launches), run, str(i + 1) if many else "")
            for i, run in enumerate(runs)
        ]

    def _part(
        self, file: SniffedFile, claim: Claim, numbers: list[int], run: Run | None, label: str
    ) -> MetricPart:
        launches = [self._launches[n] for n in numbers]
        hints = dict(claim.hints)
        for launch in launches:
            hints.update(launch.hints())
        ids = [launch.status.run_id for launch in launches if launch.status.run_id]
        return MetricPart(
            file,
            claim,
            metrics=run.metrics if run is not None else [],
            config=configuration.merged(launch.config() for launch in launches),
            hints=hints,
            engines=sorted((s for launch in launches for s in launch.status.in_work), key=lambda s: s.time),
            run_id=f"wandb:{ids[-1]}" if ids else None,
            name=ids[-1] if ids else "",
            precision="exact" if hints.get("mark.repr") else "printed",
            label=label,
        )

    def _observed(self, lines: Iterable[TextLine]) -> Iterator[TextLine]:
        """The same lines; each is noticed before it may wait for its rest."""
        for line in lines:
            self._notice(line)
            yield line

    def _is_begun(self, line: TextLine) -> bool:
        offset, text, _ = self._begun[0]
        return line.offset == offset and line.text.startswith(text)

    def _notice(self, line: TextLine) -> None:
        if self._sense.start:
            launch = len(self._launches) - 1
            self._launches[launch].stepped = True
            self._begun.append((line.offset, line.text[:SHOWN], launch))
            return
        if self._sense.rest:
            return
        if self._sense.doubt and self._begun:
            self._doubted.add(self._begun[-1][0])
        if self._dump is not None and self._dump[0] == (line.actor, line.pid):
            self._dump[1].feed(line.text)
            if self._dump[1].done:
                self._close_dump()
            return
        if configuration.begins(line.text):
            self._close_dump()
            self._dump = ((line.actor, line.pid), configuration.DumpReader(line.text), line.offset)
            self._start_again()
        elif not line.actor and "python" in line.text and configuration.ENTRY.search(line.text):
            self._start_again()
        launch_now = self._launches[-1]
        launch_now.status.feed(line)
        if not launch_now.stepped and (not line.actor or "overrides: [" in line.text):
            launch_now.commands.feed(line.text)

    def _start_again(self) -> None:
        if self._launches[-1].stepped:
            self._launches.append(Launch())

    def _close_dump(self) -> None:
        if self._dump is None:
            return
        _, reader, offset = self._dump
        self._dump = None
        settings, whole = reader.result()
        if not whole:
            self._ledger.note(
                self._name,
                offset,
                f"damaged configuration dump: {len(settings)} settings read by their place",
            )
        launch = self._launches[-1]
        launch.dump.update(settings)
        if whole:
            launch.status.mark("config_whole")

    def _take(self, line: TextLine, launch: int) -> None:
        complete = line.complete and line.offset not in self._doubted
        for parsed in stepline.parse_step_lines(line.text, complete=complete):
            for piece in parsed.dropped[:1]:
                more = f" (and {len(parsed.dropped) - 1} more)" if len(parsed.dropped) > 1 else ""
                where = f"step {parsed.step}" if parsed.step is not None else "a step line"
                shown = piece if len(piece) <= SHOWN else f"{piece[:SHOWN]}…"
                self._ledger.note(
                    self._name, line.offset, f"{where}: {shown!r}{more} is no key and value, dropped"
                )
            if parsed.format is not None:
                self._launches[launch].formats.add(parsed.format)
            if parsed.pairs:
                self._splitter.add(Entry(parsed.step, parsed.pairs, line.offset, line.time, line.pid, launch))
