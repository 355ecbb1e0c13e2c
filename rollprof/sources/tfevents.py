"""TensorBoard's event files, read without TensorBoard: TFRecord framing around `Event` messages.

Checksums are not verified: a torn tail shows in the framing, and a CRC32C in Python would cost more than all
the rest. The commonest event, one scalar as a float, is matched as bytes; everything else is parsed.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO

from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import open_bytes
from rollprof.sources.records import MetricRecord, SniffedFile
from rollprof.sources.redaction import without_secrets
from rollprof.sources.sinks import MAX_KEYS, ScalarRun
from rollprof.sources.wire import DamagedMessage, fields, message, signed, text, varint

HEADER = 12
"""Bytes before a payload: its length (8) and the length's checksum (4). Its own checksum (4) follows it."""
MAX_PAYLOAD = 1 << 30
MAX_TEXT = 4 << 20
FIRST_EVENTS = 4000
"""Events of a file that are looked at to learn its keys."""

_VARINT = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_SCALAR = re.compile(
    rb"\x09(.{8})(?:\x10(" + _VARINT + rb"))?\x2a" + _VARINT + rb"\x0a" + _VARINT + rb"\x0a([\x01-\x7f])"
    rb"(.{1,127})\x15(.{4})",
    re.DOTALL,
)
"""wall_time, step, and a summary of one value: tag (below 128 bytes) and simple_value."""

_DOUBLE, _FLOAT, _LENGTH = struct.Struct("<d"), struct.Struct("<f"), struct.Struct("<Q")
_TENSOR: dict[int, tuple[int, str]] = {1: (5, "<f"), 2: (6, "<d")}
"""Type of a tensor -> field with its values, their format."""
_CONTENT: dict[int, str] = {1: "<f", 2: "<d", 3: "<i", 9: "<q"}
_INTEGERS: dict[int, int] = {3: 7, 9: 10, 10: 11}
_STRING = 7


def read_events(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """The scalars of one event file, and settings that were logged as JSON text under their tag."""
    run = ScalarRun("tfevents", _run_id(file), _name(file), digits="float32")
    tags: dict[bytes, str] = {}
    record, match = MetricRecord, _SCALAR.fullmatch
    unpack, short, append = _DOUBLE.unpack, _FLOAT.unpack, run.records.append
    with open_bytes(file.path, file.compression) as stream:
        for offset, payload in _payloads(stream, file, ledger):
            found = match(payload)
            if found is not None:
                time, step, size, tag, value = found.groups()
                if len(tag) == size[0]:
                    key = tags.get(tag) or tags.setdefault(tag, tag.decode("utf-8", "replace"))
                    number = 0 if step is None else step[0] if len(step) == 1 else varint(step, 0)[0]
                    append(record(number, key, short(value)[0], unpack(time)[0], offset))
                    continue
            try:
                _event(payload, offset, run)
            except (DamagedMessage, struct.error) as problem:
                ledger.skip(file.name, offset, f"damaged event: {problem}", lines=0)
    run.config = without_secrets(run.config)
    return [run]


def keys(file: SniffedFile) -> tuple[str, ...]:
    """Tags of the first events."""
    run = ScalarRun("tfevents", "", "")
    seen: dict[str, None] = {}
    with open_bytes(file.path, file.compression) as stream:
        for offset, payload in islice(_payloads(stream, file, Ledger()), FIRST_EVENTS):
            try:
                _event(payload, offset, run)
            except (DamagedMessage, struct.error):
                continue
            seen.update((r.key, None) for r in run.records)
            run.records.clear()
            if len(seen) >= MAX_KEYS:
                break
    return tuple(dict.fromkeys([*seen, *run.config]))


def _run_id(file: SniffedFile) -> str:
    """A run is a folder: a program that is started again adds a file to it. The id says no more than its
    name."""
    folder = PurePath(file.path).parent
    digest = blake2b(str(folder).encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    return f"tensorboard:{folder.name}-{digest}"


def _name(file: SniffedFile) -> str:
    return file.name.rpartition("/")[0] or PurePath(file.path).parent.name


def _payloads(stream: BinaryIO, file: SniffedFile, ledger: Ledger) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes) of each whole record. A killed run's last one may be cut: noted."""
    offset, read, size_of = 0, stream.read, _LENGTH.unpack_from
    count = 0
    while header := read(HEADER):
        size = size_of(header)[0] if len(header) == HEADER else MAX_PAYLOAD + 1
        if size > MAX_PAYLOAD:
            what = "cut inside the last event" if len(header) < HEADER else "damaged from here on, not read"
            ledger.skip(file.name, offset, what)
            break
        payload = read(size)
        if len(payload) < size or len(read(4)) < 4:
            ledger.skip(file.name, offset, "cut inside the last event")
            break
        yield offset, payload
        count += 1
        offset += size + HEADER + 4
    ledger.ok(count)


def _event(payload: bytes, offset: int, run: ScalarRun) -> None:
    """The scalars and the settings of any event."""
    time: float | None = None
    step, summaries = 0, []
    for number, value in fields(payload):
        if number == 1 and isinstance(value, bytes):
            time = _DOUBLE.unpack(value)[0]
        elif number == 2 and isinstance(value, int):
            step = signed(value)
        elif number == 5:
            summaries.append(message(value))
    for summary in summaries:
        for number, value in fields(summary):
            if number == 1:
                _value(message(value), step, time, offset, run)


def _value(data: bytes, step: int, time: float | None, offset: int, run: ScalarRun) -> None:
    tag, scalar, tensor = "", None, None
    for number, value in fields(data):
        if number == 1:
            tag = text(value)
        elif number == 2 and isinstance(value, bytes):
            scalar = _FLOAT.unpack(value)[0]
        elif number == 8:
            tensor = message(value)
    if tensor is not None and scalar is None:
        held = _tensor(tensor)
        if isinstance(held, str):
            _settings(tag, held, run)
        else:
            scalar = held
    if scalar is not None and tag:
        run.records.append(MetricRecord(step, tag, scalar, time, offset))


def _tensor(data: bytes) -> float | str | None:
    """The only value of a tensor of numbers, or its text."""
    kind, parts = 0, []
    for number, value in fields(data):
        if number == 1 and isinstance(value, int):
            kind = value
        else:
            parts.append((number, value))
    for number, value in parts:
        if kind == _STRING and number == 8:
            return text(value)[:MAX_TEXT]
        form = _CONTENT.get(kind) if number == 4 else None
        if kind in _TENSOR and number == _TENSOR[kind][0]:
            form = _TENSOR[kind][1]
        if form is not None and isinstance(value, bytes):
            return float(struct.unpack(form, value)[0]) if len(value) == struct.calcsize(form) else None
        if number == _INTEGERS.get(kind):
            whole = value if isinstance(value, int) else varint(value, 0)[0]
            return float(signed(whole))
    return None


def _settings(tag: str, held: str, run: ScalarRun) -> None:
    """Text that is a JSON object is a configuration; any other text is nobody's business here."""
    if not held.lstrip().startswith("{"):
        return
    try:
        found: Any = json.loads(held)
    except (ValueError, RecursionError):
        return
    if isinstance(found, dict):
        run.config[tag] = found
