"""Logs of which only some lines matter: those are found among the bytes, all others are counted and passed
by.

Made for logs of gigabytes: a line without the mark is never decoded. A line that is a JSON record (a
logger's, or a container runtime's) gives its message and its own time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import damage_of, open_bytes
from rollprof.sources.prefixes import clock, spoken, without_transport
from rollprof.sources.records import SniffedFile
from rollprof.sources.sifting import Sieve
from rollprof.sources.splitting import TOO_LONG
from rollprof.sources.terminal_text import strip_escapes

MESSAGE_KEYS = ("message", "msg", "log", "text", "event", "MESSAGE")
TIME_KEYS = ("timestamp", "time", "ts", "asctime", "@timestamp", "created", "date")

LATEST = 1e10
"""Larger numbers are no seconds since the epoch but milliseconds, or smaller units still."""

_REPEATED = re.compile(r"\[repeated (\d+)x across cluster\]")
_HOST = re.compile(r"\bpid=\d+,\s?ip=([\da-fA-F.:]+)\)")
_ZONED = re.compile(r"[\d/-]{8,10}[T ][\d:]{8}(?:[.,]\d+)?\s?(?:Z|[+-]\d\d:?\d\d)")
_decode = msgspec.json.Decoder().decode


class LogLine(NamedTuple):
    """A line that carries the mark, and who wrote it.

    `actor`, `pid` and `host` come from a prefix in front of it (`(EngineCore pid=7, ip=10.0.0.2)`).
    `repeats`: Ray printed this one and left out so many like it, from whatever process. `time` is a clock in
    front of the message (epoch seconds; as UTC unless `zoned`), `complete` false where the file ends inside
    the line.
    """

    text: str
    actor: str
    pid: int
    host: str
    repeats: int
    time: float | None
    zoned: bool
    offset: int
    complete: bool


def marked_lines(file: SniffedFile, ledger: Ledger, marks: Sequence[bytes]) -> Iterator[LogLine]:
    """The lines in which any of `marks` is found, in order. Every physical line is counted in the ledger."""
    words, passed = [mark.decode() for mark in marks], 0
    with open_bytes(file.path, file.compression) as stream:
        sieve = Sieve(stream, marks)
        for offset, raw, complete in sieve.lines():
            ledger.read += sieve.passed - passed
            passed = sieve.passed
            if raw is None:
                ledger.skip(file.name, offset, TOO_LONG)
                continue
            try:
                text = raw.replace(b"\0", b"").decode()
                ledger.read += 1
            except UnicodeDecodeError:
                text = raw.replace(b"\0", b"").decode("utf-8", "replace")
                ledger.repair(file.name, offset, "invalid UTF-8 replaced")
            yield from _lines(text, offset, complete, words)
        ledger.read += sieve.passed - passed
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, sieve.offset, damage)


def _lines(text: str, offset: int, complete: bool, words: Sequence[str]) -> Iterator[LogLine]:
    message, sent, zoned = _unwrapped(text)
    if "\x1b" in message or "^[[" in message or "\x9b" in message:
        message = strip_escapes(message)
    if message[:1].isdigit():
        message, stamped = without_transport(message)
        if stamped is not None:
            sent, zoned = stamped, True
    repeats = _REPEATED.search(message) if "[repeated " in message else None
    host = _HOST.search(message) if "ip=" in message else None
    for part in spoken(message):
        if not any(word in part.text for word in words):
            continue
        yield LogLine(
            part.text.replace("\r", "\n"),
            part.actor,
            part.pid,
            host[1] if host else "",
            int(repeats[1]) if repeats else 0,
            sent,
            zoned,
            offset,
            complete,
        )


def may_hold_lines(file: SniffedFile) -> bool:
    """Whether lines of a log can be in it: text, or JSON lines most of which have a message."""
    if file.kind != "json_lines":
        return file.kind == "text"
    spoken = sum(any(isinstance(r.get(k), str) for k in MESSAGE_KEYS) for r in file.objects)
    return 2 * spoken >= len(file.objects)


def _unwrapped(text: str) -> tuple[str, float | None, bool]:
    """The message of a JSON record with its time and whether that names a zone; other text as it is."""
    if not text.lstrip().startswith("{"):
        return text, None, False
    try:
        record = _decode(text)
    except (ValueError, RecursionError):
        return text, None, False
    if not isinstance(record, dict):
        return text, None, False
    message = next((record[k] for k in MESSAGE_KEYS if isinstance(record.get(k), str)), None)
    if message is None:
        return text, None, False
    time, zoned = _time_of(record)
    return message, time, zoned


def _time_of(record: Mapping[str, Any]) -> tuple[float | None, bool]:
    for key in TIME_KEYS:
        value = record.get(key)
        if isinstance(value, bool):
            continue
        if isinstance(value, int | float) and value > 1e8:
            for unit in (1.0, 1e3, 1e6, 1e9):
                if value / unit < LATEST:
                    return float(value) / unit, True
        if isinstance(value, str) and (found := clock(value)) is not None:
            return found, _ZONED.match(value) is not None
    return None, False


__all__ = ["LogLine", "marked_lines"]
