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


def read_json_lines(
    file: SniffedFile, ledger: Ledger, lo: int = 0, hi: int | None = None
) -> Iterator[JsonRecord]:
    """What `read_json_batches` gives, an object at a time: no line is read before it is asked for."""
    for batch in read_json_batches(file, ledger, lo, hi, most=1):
        yield from map(JsonRecord, batch.objects, batch.offsets)


@dataclass(frozen=True, slots=True)
class JsonBatch:
    """Objects with their byte offsets. `whole`: each is a line of its own, read as it stood."""

    objects: list[dict[str, Any]]
    offsets: list[int]
    whole: bool


def read_json_batches(
    file: SniffedFile, ledger: Ledger, lo: int = 0, hi: int | None = None, *, most: int = BATCH_LINES
) -> Iterator[JsonBatch]:
    """The objects of the lines that start at lo <= offset < hi, in order: up to `most` whole lines at a time,
    each object of another line alone.

    A line is read whole even where it ends beyond `hi`: ranges that touch give every line exactly once.
    `lo` > 0 needs a plain file. Raises InputProblem where the file cannot be opened.
    """
    lines: list[bytes] = []
    offsets: list[int] = []
    offset, line, size = lo, None, 0
    with open_bytes(file.path, file.compression) as stream:
        for offset, line, complete in physical_lines(stream, lo, hi):
            if line is not None and complete:
                lines.append(line)
                offsets.append(offset)
                size += len(line)
                if len(lines) < most and size < BATCH_BYTES:
                    continue
            yield from _decoded(file.name, ledger, lines, offsets)
            lines, offsets, size = [], [], 0
            if line is None:
                ledger.skip(file.name, offset, TOO_LONG)
            elif not complete:
                yield from _alone(file.name, ledger, offset, line, complete)
        yield from _decoded(file.name, ledger, lines, offsets)
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, offset + len(line or b""), damage)


def _decoded(name: str, ledger: Ledger, lines: Sequence[bytes], offsets: list[int]) -> Iterator[JsonBatch]:
    """Lines with their ends, together where all of them are whole."""
    try:
        objects = list(map(_decode, lines))
    except (ValueError, RecursionError):
        for line, offset in zip(lines, offsets, strict=True):
            yield from _alone(name, ledger, offset, line, True)
    else:
        ledger.read += len(objects)
        yield JsonBatch(objects, offsets, whole=True)


def _alone(name: str, ledger: Ledger, offset: int, line: bytes, complete: bool) -> Iterator[JsonBatch]:
    """One line by itself, mended where it has to be."""
    objects: Sequence[tuple[int, dict[str, Any]]]
    reason: str | None
    try:
        objects, reason = [(0, _decode(line))], None
    except (ValueError, RecursionError):
        objects, reason = mend(line, complete=complete)
    if reason is None:
        ledger.read += 1
    elif objects:
        ledger.repair(name, offset, reason)
    else:
        ledger.skip(name, offset, reason)
    for at, (within, data) in enumerate(objects):
        yield JsonBatch([data], [offset + within], whole=reason is None and at == 0)
