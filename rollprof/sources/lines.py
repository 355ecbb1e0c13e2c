"""JSON lines -> records: a fast parser for what is whole, a forgiving one for what a killed run left.

Every physical line is counted once in the ledger: read, repaired (and understood), or skipped with its
byte offset and a reason. Strings may hold lone surrogates: encode them with "surrogatepass".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from rollprof.schema.ledger import Ledger
from rollprof.sources.documents import read_json_document
from rollprof.sources.mending import mend
from rollprof.sources.opening import damage_of, open_bytes
from rollprof.sources.records import JsonRecord, SniffedFile
from rollprof.sources.splitting import TOO_LONG, LineBlock, line_blocks

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def read_json(file: SniffedFile, ledger: Ledger) -> Iterator[JsonRecord]:
    """The JSON objects of a file, by its kind: one per line, or a document."""
    if file.kind == "json_document":
        return read_json_document(file, ledger)
    return read_json_lines(file, ledger)


def read_json_lines(
    file: SniffedFile, ledger: Ledger, lo: int = 0, hi: int | None = None
) -> Iterator[JsonRecord]:
    """What `read_json_batches` gives, an object at a time: no line is decoded before it is asked for."""
    for batch in read_json_batches(file, ledger, lo, hi, together=False):
        yield from map(JsonRecord, batch.objects, batch.offsets)


@dataclass(frozen=True, slots=True)
class JsonBatch:
    """Objects with their byte offsets. `whole`: each is a line of its own, read as it stood."""

    objects: list[dict[str, Any]]
    offsets: list[int]
    whole: bool


def read_json_batches(
    file: SniffedFile, ledger: Ledger, lo: int = 0, hi: int | None = None, *, together: bool = True
) -> Iterator[JsonBatch]:
    """The objects of the lines that start at lo <= offset < hi, in order: those of whole lines that were read
    at once together (not without `together`), each object of another line alone.

    A line is read whole even where it ends beyond `hi`: ranges that touch give every line exactly once.
    `lo` > 0 needs a plain file. Raises InputProblem where the file cannot be opened.
    """
    end = lo
    with open_bytes(file.path, file.compression) as stream:
        for block in line_blocks(stream, lo, hi):
            objects = _objects(block) if together else None
            if objects is not None:
                ledger.read += len(objects)
                yield JsonBatch(objects, block.offsets, whole=True)
            else:
                for offset, line in zip(block.offsets, block.lines, strict=True):
                    yield from _alone(file.name, ledger, offset, line, block.ended)
            end = block.offsets[-1] + len(block.lines[-1] or b"")
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, end, damage)


def _objects(block: LineBlock) -> list[dict[str, Any]] | None:
    """The objects of lines that are whole, all of them."""
    try:
        return list(map(_decode, cast("list[bytes]", block.lines))) if block.ended else None
    except (TypeError, ValueError, RecursionError):  # TypeError: a line that is too long to be held
        return None


def _alone(name: str, ledger: Ledger, offset: int, line: bytes | None, complete: bool) -> Iterator[JsonBatch]:
    """One line by itself, mended where it has to be."""
    if line is None:
        ledger.skip(name, offset, TOO_LONG)
        return
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
