"""vLLM's own log: the line of statistics that it writes every ten seconds, and the line per iteration.

Read from its source and from logs of V0 0.2 to V1 0.32. A stamp is `MM-DD HH:MM:SS` in local time. The line
is written once more when nothing happens any longer (`0.0 tokens/s` twice, nothing running), then no more:
silence after such a line is idleness, silence after any other is a hole in the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rollprof.adapters.base import (
    Brings,
    Claim,
    Evidence,
    Interpretation,
    MapperContext,
    MetricPart,
    RowMapper,
)
from rollprof.adapters.engines.collecting import SAMPLES, Collector, Sampled
from rollprof.adapters.engines.interpreting import interpret_engine
from rollprof.adapters.engines.stamps import Stamps
from rollprof.schema.ledger import Ledger
from rollprof.sources.log_lines import LogLine, marked_lines, may_hold_lines
from rollprof.sources.records import SniffedFile
from rollprof.sources.tree import search_text

NAME = "vllm"

MARKS = (b"Avg prompt throughput:", b" Iteration(", b"LLM engine (v", b"non-default args:")
_SAMPLE = re.compile(rb"Avg prompt throughput: [\d.]+ tokens/s|Engine \d+: Iteration\(\d+\): ")
"""What makes a file worth reading for vLLM's sake."""
_SAMPLE_MARKS = (b"Avg prompt throughput: ", b"Iteration(")

_STAMP = re.compile(r"(?:INFO|DEBUG|WARNING) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))? ")
_STATS = re.compile(
    r"Avg prompt throughput: (?P<prompt>[\d.]+) tokens/s, "
    r"Avg generation throughput: (?P<generation>[\d.]+) tokens/s, "
    r"Running: (?P<running>\d+) reqs, (?:Swapped: (?P<swapped>\d+) reqs, )?"
    r"(?:Waiting|Pending): (?P<waiting>\d+) reqs"
    r"(?:, Deferred: (?P<deferred>\d+) reqs)?(?:, KV fetch: [^,]+)*"
    r"(?:, Preemptions: (?P<preemptions>\d+))?"
    r"(?:, (?:[\w-]+ )?KV cache usage: (?P<kv>[\d.]+)%)?"
    r"(?:, CPU KV cache usage: [\d.]+%)?\.?(?:, Prefix cache hit rate: (?P<hits>[\d.]+)%)?"
)
_ENGINE = re.compile(r"(?:Engine (?P<engine>\d+)|(?P<all>\d+) Engines Aggregated): $")
"""What stands before the statistics, near enough to be found in the last `_NEAR` characters."""
_NEAR = 40
_ITERATION = re.compile(
    r"(?:Engine (?P<engine>\d+): )?Iteration\(\d+\): (?P<context>\d+) context requests?, "
    r"(?P<prompt>\d+) context tokens?, (?P<running>\d+) generation requests?, "
    r"(?P<generation>\d+) generation tokens?, iteration elapsed time: (?P<ms>[\d.]+) ms"
    r"(?:, (?:[\w-]+ )?KV cache usage: (?P<kv>[\d.]+)%)?"
)
_VERSION = re.compile(r"LLM engine \(v([\w.+-]+)\)")
_SLOTS = re.compile(r"'?max_num_seqs'?[=:] ?(\d+)")
_TENSOR = re.compile(r"'?tensor_parallel_size'?[=:] ?(\d+)")
_PIPELINE = re.compile(r"'?pipeline_parallel_size'?[=:] ?(\d+)")


class VllmAdapter:
    """vLLM: https://github.com/vllm-project/vllm"""

    name = NAME
    title = "vLLM's log"
    brings: Mapping[str, Brings] = {}

    def claim(self, file: SniffedFile) -> Claim | None:
        if not may_hold_lines(file) or file.metadata.get("sink"):
            return None
        if search_text(file, _SAMPLE, _SAMPLE_MARKS) is None:
            return None
        return Claim(NAME, "console", 0.45, "log of vLLM (its statistics)", hints={SAMPLES: "1"})

    def mapper(self, context: MapperContext) -> RowMapper:
        raise NotImplementedError(f"{context.name}: a log of vLLM holds no rollouts")

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        reader = _Reader(file, claim, ledger)
        for line in marked_lines(file, ledger, MARKS):
            reader.take(line)
        return [reader.part()]

    def interpret(self, evidence: Evidence) -> Interpretation:
        return interpret_engine(evidence, NAME)


class _Reader:
    def __init__(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> None:
        self._collector = Collector(file, claim, ledger, NAME)
        self._stamps = Stamps.of(file)
        self._iterations: dict[tuple[Any, ...], _Second] = {}
        self._aggregated: list[tuple[LogLine, str, Sampled, bool]] = []

    def take(self, line: LogLine) -> None:
        text = line.text
        if "Avg prompt throughput" in text:
            self._stats(line)
        elif "Iteration(" in text:
            self._iteration(line)
        else:
            self._settings(text)

    def part(self) -> MetricPart:
        for second in self._iterations.values():
            self._collector.add(second.line, second.engine, second.sample(), zoned=second.zoned)
        if not self._collector.engines:
            for line, count, sample, zoned in self._aggregated:
                self._collector.config["engines"] = int(count)
                self._collector.add(line, f"all {count}", sample, zoned=zoned)
        return self._collector.part()

    def _stats(self, line: LogLine) -> None:
        begin = line.text.rfind("Avg prompt throughput")
        found = _STATS.match(line.text, begin)
        named = _ENGINE.search(line.text, max(0, begin - _NEAR), begin)
        at = self._time(line)
        if found is None or at is None or (not line.complete and found["kv"] is None):
            self._collector.lost(line.offset, "a damaged line of statistics")
            return
        time, zoned = at
        kv = found["kv"]
        sample = Sampled(
            time,
            float(found["running"]),
            float(found["waiting"]) + float(found["swapped"] or 0) + float(found["deferred"] or 0),
            _number(found["prompt"]),
            _number(found["generation"]),
            None if kv is None else _number(kv, 0.01),
            line.offset,
        )
        if named is not None and named["all"]:
            self._aggregated.append((line, named["all"], sample, zoned))
            return
        engine = named["engine"] if named is not None else "000"
        self._collector.add(line, engine, sample, zoned=zoned)
        for key in ("preemptions", "swapped", "deferred"):
            if found[key] and float(found[key]):
                self._collector.metric(f"vllm/{key}", float(found[key]), time, line, engine)
        if found["hits"]:
            self._collector.metric(
                "vllm/prefix_cache_hit_rate", _number(found["hits"], 0.01) or 0.0, time, line, engine
            )

    def _iteration(self, line: LogLine) -> None:
        found = _ITERATION.search(line.text)
        at = self._time(line)
        if found is None or at is None:
            self._collector.lost(line.offset, "a damaged line of an iteration")
            return
        time, zoned = at
        engine = found["engine"] or "000"
        key = (line.actor, line.pid, line.host, engine, int(time))
        second = self._iterations.setdefault(key, _Second(line, engine, float(int(time)), zoned))
        second.add(found)

    def _time(self, line: LogLine) -> tuple[float, bool] | None:
        """Epoch seconds and whether a zone was named: a clock with one in front of the line, else its own."""
        if line.time is not None and line.zoned:
            self._stamps.saw(line.time)
            return line.time, True
        found = _STAMP.search(line.text)
        if found is None:
            return None if line.time is None else (line.time, line.zoned)
        month, day, hour, minute, second = (int(found[i]) for i in range(1, 6))
        time = self._stamps.of_day(month, day, hour, minute, second)
        if time is None:
            return None
        return time + (int(found[6]) / 10 ** len(found[6]) if found[6] else 0.0), False

    def _settings(self, text: str) -> None:
        version = _VERSION.search(text)
        if version is not None:
            self._collector.hints["engine.version"] = version[1]
        for key, pattern in (
            ("max_num_seqs", _SLOTS),
            ("tensor_parallel_size", _TENSOR),
            ("pipeline_parallel_size", _PIPELINE),
        ):
            found = pattern.search(text)
            if found is not None and int(found[1]) > 0:
                self._collector.config[key] = int(found[1])


class _Second:
    """The iterations of one engine that ended in one second, as one sample.

    Requests are weighted by the time of their iterations; what is left of the second nothing ran.
    """

    def __init__(self, line: LogLine, engine: str, time: float, zoned: bool) -> None:
        self.line, self.engine, self.zoned = line, engine, zoned
        self._time = time
        self._busy = self._held = self._prompt = self._generation = 0.0
        self._kv: float | None = None

    def add(self, found: re.Match[str]) -> None:
        seconds = (_number(found["ms"]) or 0.0) / 1000
        self._busy += seconds
        self._held += seconds * (float(found["running"]) + float(found["context"]))
        self._prompt += float(found["prompt"])
        self._generation += float(found["generation"])
        if found["kv"] is not None:
            self._kv = max(self._kv or 0.0, _number(found["kv"], 0.01) or 0.0)

    def sample(self) -> Sampled:
        span = max(1.0, self._busy)
        return Sampled(
            self._time,
            self._held / span,
            None,
            self._prompt / span,
            self._generation / span,
            self._kv,
            self.line.offset,
        )


def _number(text: str, unit: float = 1.0) -> float | None:
    try:
        return float(text) * unit
    except ValueError:
        return None


ADAPTER = VllmAdapter()
