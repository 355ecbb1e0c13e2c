"""JSON lines -> records: a fast parser for what is whole, a forgiving one for what a killed run left.

Every physical line is counted once in the ledger: read, repaired (and understood), or skipped with its
byte offset and a reason. Strings may hold lone surrogates: encode them with "surrogatepass".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rollprof.schema.ledger import Ledger
from rollprof.sources.documents import read_json_document
from rollprof.sources.mending import mend
from rollprof.sources.opening import damage_of, open_bytes
from rollprof.sources.records import JsonRecord, SniffedFile
from rollprof.sources.splitting import TOO_LONG, physical_lines

BATCH_LINES = 512
BATCH_BYTES = 128 << 10
"""A batch of lines is closed at so many, or so many bytes: its objects stay in the processor's cache."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def read_json(file: SniffedFile, ledger: Ledger) -> Iterator[JsonRecord]:
    """The JSON objects of a file, by its kind: one per line, or a document."""
    if file.kind == "json_document":
        return read_json_document(file, ledger)
    return read_json_lines(file, ledger)


@dataclass(frozen=True, slots=True)
class JsonBatch:
    """Objects with their byte offsets. `whole`: each is a line of its own, read as it stood."""

    objects: list[dict[str, Any]]
    offsets: list[int]
    whole: bool


def read_json_batches(
    file: SniffedFile, ledger: Ledger, lo: int = 0, hi: int | None = None
) -> Iterator[JsonBatch]:
    """What `read_json_lines` gives, many whole lines at a time; each object of another line alone."""
    lines: list[bytes] = []
    offsets: list[int] = []
    offset, line, size = lo, None, 0
    with open_bytes(file.path, file.compression) as stream:
        for offset, line, complete in physical_lines(stream, lo, hi):
            if line is not None and complete:
                lines.append(line)
                offsets.append(offset)
                size += len(line)
                if len(lines) < BATCH_LINES and size < BATCH_BYTES:
                    continue
            yield from _decoded(file.name, ledger, lines, offsets)
            lines, offsets, size = [], [], 0
            if line is None:
                ledger.skip(file.name, offset, TOO_LONG)
            elif not complete:
                yield from _one_by_one(file.name, ledger, offset, line, complete)
        yield from _decoded(file.name, ledger, lines, offsets)
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, offset + len(line or b""), damage)


def _decoded(name: str, ledger: Ledger, lines: Sequence[bytes], offsets: list[int]) -> Iterator[JsonBatch]:
    try:
        objects = list(map(_decode, lines))
    except (ValueError, RecursionError):
        for line, offset in zip(lines, offsets, strict=True):
            yield from _one_by_one(name, ledger, offset, line, True)
    else:
        ledger.read += len(objects)
        yield JsonBatch(objects, offsets, whole=True)


def _one_by_one(name: str, ledger: Ledger, offset: int, line: bytes, complete: bool) -> Iterator[JsonBatch]:
    seen = ledger.read
    for record in _objects(name, ledger, offset, line, complete):
        yield JsonBatch([record.data], [record.offset], whole=ledger.read != seen)
        seen = ledger.read


def read_json_lines(
    file: SniffedFile, ledger: Ledger, lo: int = 0, hi: int | None = None
) -> Iterator[JsonRecord]:
    """The objects of the lines that start at lo <= offset < hi, in order.

    A line is read whole even where it ends beyond `hi`: ranges that touch give every line exactly once.
    `lo` > 0 needs a plain file. Raises InputProblem where the file cannot be opened.
    """
    offset, line = lo, None
    with open_bytes(file.path, file.compression) as stream:
        for offset, line, complete in physical_lines(stream, lo, hi):
            if line is None:
                ledger.skip(file.name, offset, TOO_LONG)
                continue
            yield from _objects(file.name, ledger, offset, line, complete)
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, offset + len(line or b""), damage)


def _objects(name: str, ledger: Ledger, offset: int, line: bytes, complete: bool) -> Iterator[JsonRecord]:
    try:
        data = _decode(line)
    except (ValueError, RecursionError):
        yield from _mended(name, ledger, offset, line, complete)
    else:
        ledger.read += 1
        yield JsonRecord(data, offset)


def _mended(name: str, ledger: Ledger, offset: int, line: bytes, complete: bool) -> Iterator[JsonRecord]:
    objects, reason = mend(line, complete=complete)
    if reason is None:
        ledger.read += 1
    elif objects:
        ledger.repair(name, offset, reason)
    else:
        ledger.skip(name, offset, reason)
    for within, data in objects:
        yield JsonRecord(data, offset + within)
