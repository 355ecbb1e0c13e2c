"""SGLang's own log: a line every 40 decode iterations of each scheduler, and one for each batch of prefills.

Read from its source and from logs of 2024 to 2026. Nothing is written while a scheduler has nothing to do;
the throughput of the first line after that counts the pause, so that it collapses. A line's throughput times
the seconds since the line before are the tokens in between, `40 * running * accepted length`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from rollprof.adapters.base import (
    Brings,
    Claim,
    Evidence,
    Interpretation,
    MapperContext,
    MetricPart,
    RowMapper,
)
from rollprof.adapters.engines import request_lines
from rollprof.adapters.engines.collecting import SAMPLES, Collector, Sampled
from rollprof.adapters.engines.interpreting import interpret_engine
from rollprof.adapters.engines.requests import RequestMapper, claim_requests
from rollprof.adapters.engines.stamps import Stamps
from rollprof.schema.ledger import Ledger
from rollprof.sources.log_lines import LogLine, marked_lines, may_hold_lines
from rollprof.sources.prefixes import clock
from rollprof.sources.records import SniffedFile
from rollprof.sources.tree import search_text

NAME = "sglang"

MARKS = (
    b"Decode batch",
    b"Prefill batch",
    b"server_args=",
    b"max_running_requests=",
    *request_lines.MARKS,
)
_SAMPLE = re.compile(rb"(?:Decode|Prefill) batch[^\n]{0,200}?#running-req: \d")
_SAMPLE_MARKS = (b"#running-req: ",)

_STAMP = re.compile(r"\[(?P<date>\d{4}-\d\d-\d\d )?(?P<time>\d\d:\d\d:\d\d)(?P<ranks>(?: [A-Z]+\d+)*)\]")
_BATCH = re.compile(r"(?P<kind>Decode|Prefill) batch(?: \[\d+\])?[.,]")
_RUNNING = re.compile(r"#running-req: (\d+)")
_QUEUE = re.compile(r"#queue-req: (\d+)")
_GENERATION = re.compile(r"gen throughput \(token/s\): ([\d.]+)")
_PROMPT = re.compile(r"input throughput \(token/s\): ([\d.]+)")
_USAGE = re.compile(r"(?<!swa )(?<!mamba )token usage: ([\d.]+)")
_RETRACTED = re.compile(r"#retracted-req: (\d+)")
_ACCEPTED = re.compile(r"accept len: ([\d.]+)")
_SLOTS = re.compile(r"max_running_requests=(\d+)")
_TENSOR = re.compile(r"\btp_size=(\d+)")
_VERSION = re.compile(r"sglang[ =v]+(\d+\.\d+[\w.]*)", re.IGNORECASE)
_REPLICA = re.compile(r"DP\d+")
_DECODE = ("#running-req", "#queue-req")


class SglangAdapter:
    """SGLang: https://github.com/sgl-project/sglang"""

    name = NAME
    title = "SGLang's logs"
    brings: Mapping[str, Brings] = {}

    def claim(self, file: SniffedFile) -> Claim | None:
        requests = claim_requests(file, NAME)
        if requests is not None:
            return requests
        if not may_hold_lines(file) or file.metadata.get("sink"):
            return None
        if search_text(file, _SAMPLE, _SAMPLE_MARKS) is None:
            return None
        return Claim(NAME, "console", 0.45, "log of SGLang (its batches)", hints={SAMPLES: "1"})

    def mapper(self, context: MapperContext) -> RowMapper:
        return RequestMapper(context)

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        reader = _Reader(file, claim, ledger)
        for line in marked_lines(file, ledger, MARKS):
            reader.take(line)
        return [reader.collector.part(silent=True)]

    def interpret(self, evidence: Evidence) -> Interpretation:
        return interpret_engine(evidence, NAME)


class _Reader:
    def __init__(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> None:
        self.collector = Collector(file, claim, ledger, NAME)
        self._stamps = Stamps.of(file)

    def take(self, line: LogLine) -> None:
        begin = request_lines.begins(line.text)
        if begin >= 0:
            self._request(line, begin)
            return
        batch = _BATCH.search(line.text)
        if batch is None:
            if "batch" in line.text and "running-req" in line.text:
                self.collector.lost(line.offset, "a damaged line of a batch")
            self._settings(line.text)
            return
        text = line.text[batch.end() :]
        running, queue = _RUNNING.search(text), _QUEUE.search(text)
        generation, prompt, usage = _GENERATION.search(text), _PROMPT.search(text), _USAGE.search(text)
        at = self._time(line, line.text[: batch.start()])
        decode = batch["kind"] == "Decode"
        if running is None or queue is None or at is None or (decode and generation is None):
            self.collector.lost(line.offset, "a damaged line of a batch")
            return
        time, zoned, replica = at
        sample = Sampled(
            time,
            # a prefill's own requests are not yet counted as running
            float(running[1]) + (0.0 if decode else _count(re.search(r"#new-seq: (\d+)", text))),
            float(queue[1]),
            None if prompt is None else float(prompt[1]),
            None if generation is None else float(generation[1]),
            None if usage is None else float(usage[1]),
            line.offset,
        )
        self.collector.add(line, replica, sample, zoned=zoned)
        for name, found in (
            ("retracted", _RETRACTED.search(text)),
            ("accept_length", _ACCEPTED.search(text)),
        ):
            if found is not None and float(found[1]):
                self.collector.metric(f"sglang/{name}", float(found[1]), time, line, replica)

    def _request(self, line: LogLine, begin: int) -> None:
        """One request, as values without a column: its engine is not named."""
        found = request_lines.values(line.text[begin:])
        if not found:
            self.collector.lost(line.offset, "a line of a request without tokens and times")
            return
        at = self._time(line, line.text[:begin])
        for name, value in found.items():
            self.collector.metric(f"sglang/{name}", value, None if at is None else at[0], line)

    def _time(self, line: LogLine, head: str) -> tuple[float, bool, str] | None:
        """Epoch seconds, whether a zone was named, and the data-parallel replica."""
        stamps = list(_STAMP.finditer(head))
        found = stamps[-1] if stamps else None
        replica = "0"
        if found is not None:
            named = _REPLICA.search(found["ranks"])
            replica = named.group() if named else "0"
        if line.time is not None and line.zoned:
            return line.time, True, replica
        if found is None:
            return None if line.time is None else (line.time, line.zoned, replica)
        if found["date"]:
            time = _clock(found["date"] + found["time"])
            if time is not None:
                self._stamps.saw(time)
        else:
            hour, minute, second = (int(x) for x in found["time"].split(":"))
            time = self._stamps.of_time(hour, minute, second)
        return None if time is None else (time, False, replica)

    def _settings(self, text: str) -> None:
        for key, pattern in (("max_num_seqs", _SLOTS), ("tensor_parallel_size", _TENSOR)):
            found = pattern.search(text)
            if found is not None and int(found[1]) > 0:
                self.collector.config[key] = int(found[1])
        version = _VERSION.search(text)
        if version is not None:
            self.collector.hints["engine.version"] = version[1]


@lru_cache(maxsize=64)
def _clock(stamp: str) -> float | None:
    """Of many lines of one second the stamp is read once."""
    return clock(stamp)


def _count(found: re.Match[str] | None) -> float:
    return float(found[1]) if found else 0.0


ADAPTER = SglangAdapter()
