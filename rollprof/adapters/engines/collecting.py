"""Samples of several engines in one log, told apart and put in order of time.

A log may hold two servers, a clock that was set back, an engine that was started again, and lines that Ray
left out. What cannot be told apart is said, never added up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from rollprof.adapters.base import Claim, MetricPart
from rollprof.schema.ledger import Ledger
from rollprof.sources.log_lines import LogLine
from rollprof.sources.records import EngineSample, MetricRecord, SniffedFile

SAMPLES = "samples"
"""Hint of a claim: the file's samples belong to whatever run they were taken of."""
LOCAL = "engine.local_clock"
"""Hint of a part: its clock names no zone."""
SILENT = "engine.silent_when_idle"
"""Hint of a part: these engines write nothing while they have nothing to do."""
REPEATED = "engine.deduplicated"
SHARED = "engine.names_shared"
SET_BACK = 2.0
"""Seconds by which lines of one process may be out of order."""
TWICE = 0.2
"""Share of samples with the same stamp as the one before, above which two servers share a name."""
ANY = "any"
"""Name of the engine where lines of several cannot be told apart."""


class Process(NamedTuple):
    """Which process wrote a sample, and which of its engines it speaks of."""

    actor: str
    pid: int
    host: str
    engine: str


class Sampled(NamedTuple):
    """An engine's state, the engine not yet named."""

    time: float
    running: float | None
    waiting: float | None
    prompt_tokens_s: float | None
    generation_tokens_s: float | None
    kv_usage: float | None
    offset: int


class Collector:
    """Takes the samples of one file in the order of its lines."""

    def __init__(self, file: SniffedFile, claim: Claim, ledger: Ledger, brand: str) -> None:
        self._file, self._claim, self._ledger, self._brand = file, claim, ledger, brand
        self._series: dict[Process, list[Sampled]] = defaultdict(list)
        self._metrics: list[tuple[Process | None, MetricRecord]] = []
        self._left_out = 0
        self._zoned: set[bool] = set()
        self.hints: dict[str, str] = {}
        self.config: dict[str, object] = {}

    def add(self, line: LogLine, engine: str, sample: Sampled, *, zoned: bool) -> None:
        """Take one sample of `engine` of the process that wrote the line."""
        self._left_out += line.repeats
        self._zoned.add(zoned)
        self._series[Process(line.actor, line.pid, line.host, engine)].append(sample)

    def metric(
        self, key: str, value: float, time: float | None, line: LogLine, engine: str | None = None
    ) -> None:
        """Take a value that has no column; of `engine` of the process that wrote the line, where given."""
        who = None if engine is None else Process(line.actor, line.pid, line.host, engine)
        self._metrics.append((who, MetricRecord(None, key, value, time, line.offset)))

    def lost(self, offset: int, reason: str) -> None:
        """A line of the engine that could not be understood. It was counted as read."""
        self._ledger.read -= 1
        self._ledger.skip(self._file.name, offset, reason)

    @property
    def engines(self) -> int:
        return len(self._series)

    def part(self, *, silent: bool = False) -> MetricPart:
        """All of it as the part of a run."""
        named = self._named()
        hints = {**dict(self._claim.hints), **self.hints}
        if False in self._zoned:
            hints[LOCAL] = "1"
        if silent:
            hints[SILENT] = "1"
        engines: list[EngineSample] = []
        for name, samples in named.items():
            kept = self._in_order(name, samples)
            if self._doubled(kept):
                hints[SHARED] = name
            engines += [EngineSample(s.time, name, *s[1:6]) for s in kept]
        return MetricPart(
            self._file,
            self._claim,
            metrics=self._with_engines(),
            config=dict(self.config),
            hints=hints,
            engines=sorted(engines, key=lambda s: s.time),
            precision="printed",
        )

    def _with_engines(self) -> list[MetricRecord]:
        """The values without a column; where the log is of several engines, `KEY@ENGINE`."""
        if len(self._series) < 2 or self._left_out:
            return [record for _, record in self._metrics]
        names = self._names()
        return [
            record if who not in names else record._replace(key=f"{record.key}@{names[who]}")
            for who, record in self._metrics
        ]

    def _named(self) -> dict[str, list[Sampled]]:
        """Samples by the shortest names that tell the engines apart."""
        if self._left_out:
            self.hints[REPEATED] = str(self._left_out)
            self._ledger.note(
                self._file.name,
                0,
                f"Ray left out {self._left_out} lines of engines as repetitions: the rest are samples of one "
                "engine or another, and figures per engine are withheld (RAY_DEDUP_LOGS=0 keeps all lines)",
            )
            every = [s for samples in self._series.values() for s in samples]
            return {ANY: sorted(every, key=lambda s: s.time)}
        names = self._names()
        return {names[p]: samples for p, samples in self._series.items()}

    def _names(self) -> dict[Process, str]:
        """The shortest names that tell the engines apart."""
        if len({(p.pid, p.host) for p in self._series}) == 1:
            return {p: p.engine for p in self._series}
        hosts = {p: f"@{p.host}" if p.host else "" for p in self._series}
        return {p: f"{p.actor or self._brand}:{p.pid}{at}/{p.engine}" for p, at in hosts.items()}

    def _in_order(self, name: str, samples: Sequence[Sampled]) -> list[Sampled]:
        """Stretches between settings of the clock, by time; where two overlap the earlier one counts."""
        stretches: list[list[Sampled]] = [[]]
        latest = float("-inf")
        for s in samples:
            if s.time < latest - SET_BACK:
                stretches.append([])
                latest = float("-inf")
            latest = max(latest, s.time)
            stretches[-1].append(s)
        if len(stretches) == 1:
            return sorted(samples, key=lambda s: s.time)
        kept: list[Sampled] = []
        dropped = 0
        for stretch in sorted(stretches, key=lambda run: run[0].time):
            end = kept[-1].time if kept else float("-inf")
            usable = sorted((s for s in stretch if s.time > end), key=lambda s: s.time)
            dropped += len(stretch) - len(usable)
            kept += usable
        first = next(s for run in stretches[1:] for s in run)
        lost = f"; {dropped} samples of a time that had been before are left out" if dropped else ""
        self._ledger.note(self._file.name, first.offset, f"the clock of engine {name} was set back{lost}")
        return kept

    def _doubled(self, samples: Sequence[Sampled]) -> bool:
        """Two servers that write under one name: their samples cannot be told apart."""
        gaps = [b.time - a.time for a, b in pairwise(samples)]
        steady = [g for g in gaps if g > 0]
        if len(gaps) < 8 or not steady or median(steady) <= SET_BACK:
            return False
        if sum(g == 0 for g in gaps) > TWICE * len(gaps):
            return True
        pairs = [a + b for a, b in pairwise(gaps)]
        usual = median(pairs)
        regular = sum(abs(p - usual) <= 1 for p in pairs) > 0.8 * len(pairs)
        uneven = sum(abs(b - a) > 0.2 * usual for a, b in pairwise(gaps)) > 0.8 * len(pairs)
        return regular and uneven


__all__ = ["ANY", "LOCAL", "REPEATED", "SAMPLES", "SHARED", "SILENT", "Collector", "Sampled"]
