"""Converted chunks kept beside the dataset, so that a rerun reads only what is new or changed.

A part holds the result of one byte range of a log that only grows (JSON lines, uncompressed), or of a whole
task of any other file. It is known again by what was asked (file, claim, options, release of rollprof) and by
the bytes at either end of its range, as a file's fingerprint is. Parts are data: checked against a digest and
against the types of `wire`, never unpickled; a damaged one is dropped and its range is read again.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import msgspec

from rollprof import __version__
from rollprof.errors import RollprofError
from rollprof.parallel import wire
from rollprof.parallel.convert import convert_chunk
from rollprof.parallel.tasks import WHOLE_FILE, ChunkResult, ChunkTask, Remark, cut, file_tasks
from rollprof.sources.opening import fingerprint, last_line_end, open_plain
from rollprof.sources.records import SniffedFile

WORTH = 8 << 20
"""Bytes of rollouts below which no parts are kept: reading them again takes a fraction of a second, as long
as it takes to start a worker."""

LARGEST = 16 << 20
"""Parts that follow each other are put together up to so many bytes of the log: a log that grows a little at
a time gives few parts, and little is written again."""

EDGE = 4 << 10
"""Bytes at either end of a range by which it is known again."""

_MAGIC = b"rollprof-part-1\n"
_HEAD = struct.Struct("<16sI")


class Header(msgspec.Struct, frozen=True):
    """What a part stands for. `size` and `mtime` (ns) are those of the file when it was read."""

    lo: int
    hi: int | None
    size: int
    mtime: int
    edges: bytes
    digest: bytes
    length: int


_header = msgspec.msgpack.Decoder(Header).decode
_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a task's part is kept, and what its header will say."""

    key: bytes
    size: int
    mtime: int
    edges: bytes
    grows: bool


@dataclass(slots=True)
class _Last:
    """The part written last: the next one may be put together with it."""

    key: bytes
    task: ChunkTask
    body: bytes


class Parts:
    """The parts of one conversion: those of `old` that still hold are used and kept in `new`.

    What `new` has at the end is what this run used, so that nothing piles up. `waiting`: a last line without
    its end is left for the next time.
    """

    def __init__(self, old: Path, new: Path, *, waiting: bool = False) -> None:
        self._old = old
        self._new = new
        self._waiting = waiting
        self._places: dict[int, _Place] = {}
        self._kept: dict[int, Header] = {}
        self._last: _Last | None = None
        self.damaged = 0
        """Parts that could not be used as they stood."""

    def plan(self, tasks: Sequence[ChunkTask], workers: int | None = None) -> list[ChunkTask]:
        """The tasks of `tasks.plan` cut anew: ranges whose parts hold, then the ranges that are new."""
        planned: list[ChunkTask] = []
        for group in file_tasks(tasks):
            first = group[0]
            if first.file.kind == "json_lines" and first.file.compression == "none":
                planned += self._lines(first, len(planned), workers)
            else:
                planned += self._wholes(group, len(planned))
        return planned

    def fresh(self, tasks: Sequence[ChunkTask]) -> list[ChunkTask]:
        """The tasks that have to be converted."""
        return [task for index, task in enumerate(tasks) if index not in self._kept]

    def woven(self, tasks: Sequence[ChunkTask], results: Iterator[ChunkResult]) -> Iterator[ChunkResult]:
        """The results of all tasks in order: those of `fresh`, and the kept ones between them."""
        self._new.mkdir(exist_ok=True)
        for index, task in enumerate(tasks):
            place, header = self._places.get(index), self._kept.get(index)
            result = None
            if place is not None and header is not None:
                result = self._reuse(place, task, header)
                self.damaged += result is None
                result = result or convert_chunk(task)
            result = result or next(results)
            if place is not None and (header is None or not self._in_new(place, task)):
                with suppress(OSError):  # a full disk costs the part, not the run
                    self._keep(place, task, result)
            yield result

    def _in_new(self, place: _Place, task: ChunkTask) -> bool:
        return (self._new / _name(place.key, task.lo)).exists()

    def _lines(self, first: ChunkTask, index: int, workers: int | None) -> list[ChunkTask]:
        info = Path(first.file.path).stat()
        whole = replace(first, lo=0, hi=None, weight=info.st_size)
        if first.claim.hints.get(WHOLE_FILE):
            if self._waiting:
                whole = replace(whole, hi=last_line_end(first.file.path, 0, info.st_size))
            return self._wholes([whole], index)
        key = _key(first)
        held = [] if key is None else self._chain(key, first.file, info)
        tasks = [replace(first, lo=h.lo, hi=h.hi, weight=(h.hi or 0) - h.lo) for h in held]
        start = held[-1].hi or 0 if held else 0
        end = last_line_end(first.file.path, start, info.st_size)
        tasks += cut(whole, start, end, workers)
        if key is not None:
            for number, task in enumerate(tasks):
                edges = (
                    held[number].edges if number < len(held) else _edges(first.file.path, task.lo, task.hi)
                )
                self._places[index + number] = _Place(key, info.st_size, info.st_mtime_ns, edges, grows=True)
            self._kept.update({index + number: header for number, header in enumerate(held)})
        if end < info.st_size and not self._waiting:
            tasks.append(replace(first, lo=end, hi=None, weight=info.st_size - end))
        return tasks

    def _chain(self, key: bytes, file: SniffedFile, info: os.stat_result) -> list[Header]:
        """Parts that follow each other from the file's start, if it only grew since the last of them."""
        held: list[Header] = []
        position = 0
        while (header := self._header(_name(key, position))) is not None:
            if header.hi is None or not position < header.hi <= info.st_size:
                break
            if header.lo != position or _edges(file.path, position, header.hi) != header.edges:
                break
            held.append(header)
            position = header.hi
        if held:
            last = held[-1]
            same = info.st_size == last.size and info.st_mtime_ns == last.mtime
            if info.st_size <= last.size and not same:
                return []  # written anew in place
        return held

    def _wholes(self, group: Sequence[ChunkTask], index: int) -> list[ChunkTask]:
        path = group[0].file.path
        info = Path(path).stat()
        mark = fingerprint(path).encode()
        for number, task in enumerate(group, index):
            key = _key(task, f"{task.lo}-{task.hi}")
            if key is None:
                continue
            self._places[number] = _Place(key, info.st_size, info.st_mtime_ns, mark, grows=False)
            header = self._header(_name(key, task.lo))
            if header is not None and (header.size, header.mtime, header.edges) == (
                info.st_size,
                info.st_mtime_ns,
                mark,
            ):
                self._kept[number] = header
        return list(group)

    def _header(self, name: str) -> Header | None:
        try:
            with (self._old / name).open("rb") as file:
                return self._read_header(file.read(len(_MAGIC) + _HEAD.size + 4096))[0]
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            self.damaged += 1
            return None

    @staticmethod
    def _read_header(data: bytes) -> tuple[Header, int]:
        """The header and where the body starts. Raises ValueError for anything that is no part."""
        start = len(_MAGIC) + _HEAD.size
        if len(data) < start or not data.startswith(_MAGIC):
            raise ValueError("not a part")
        digest, size = _HEAD.unpack_from(data, len(_MAGIC))
        raw = data[start : start + size]
        if blake2b(raw, digest_size=16).digest() != digest:
            raise ValueError("a damaged part")
        return _header(raw), start + size

    def _reuse(self, place: _Place, task: ChunkTask, header: Header) -> ChunkResult | None:
        """The result that a part holds, and the part kept; None where it is damaged."""
        import pyarrow as pa

        name = _name(place.key, task.lo)
        try:
            data = (self._old / name).read_bytes()
            found, start = self._read_header(data)
            packed = data[start:]
            if found != header or blake2b(packed, digest_size=16).digest() != header.digest:
                return None
            body = pa.decompress(packed, header.length, "lz4", asbytes=True)
            result = with_source(wire.decode_reply(body, task), task.source)
            self._last = _Last(place.key, task, body) if place.grows else None
        except (OSError, ValueError, RollprofError, pa.ArrowException):
            return None
        with suppress(OSError):
            try:
                (self._new / name).hardlink_to(self._old / name)
            except OSError:  # a file system without links
                (self._new / name).write_bytes(data)
        return result

    def _keep(self, place: _Place, task: ChunkTask, result: ChunkResult) -> None:
        """Write a part, together with the one before it while both are small."""
        last, self._last = self._last, None
        body = wire.encode_result(result)
        if place.grows:
            if last is not None and last.key == place.key and last.task.hi == task.lo:
                together = replace(task, lo=last.task.lo, weight=last.task.weight + task.weight)
                if together.weight <= LARGEST:
                    before = with_source(wire.decode_reply(last.body, last.task), task.source)
                    body = wire.encode_result(joined(together, before, wire.decode_reply(body, task)))
                    place = replace(place, edges=_edges(task.file.path, together.lo, together.hi))
                    task = together
            self._last = _Last(place.key, task, body)
        self._write(place, task, body)

    def _write(self, place: _Place, task: ChunkTask, body: bytes) -> None:
        import pyarrow as pa

        packed = pa.compress(body, "lz4", asbytes=True)
        digest = blake2b(packed, digest_size=16).digest()
        header = _encode(Header(task.lo, task.hi, place.size, place.mtime, place.edges, digest, len(body)))
        check = blake2b(header, digest_size=16).digest()
        target = self._new / _name(place.key, task.lo)
        target.unlink(missing_ok=True)  # it may be a link to the old one
        target.write_bytes(_MAGIC + _HEAD.pack(check, len(header)) + header + packed)


def joined(task: ChunkTask, a: ChunkResult, b: ChunkResult) -> ChunkResult:
    """The result of two ranges that touch, as if they had been one task."""
    import pyarrow as pa

    a.ledger.merge(b.ledger)
    totals = dict(a.totals)
    for key, more in b.totals.items():
        totals[key] = totals[key].plus(more) if key in totals else more
    remarks = dict(a.remarks)
    for text, more_remarks in b.remarks.items():
        known = remarks.get(text)
        count = more_remarks.count + (known.count if known else 0)
        remarks[text] = Remark(count, known.offset if known else more_remarks.offset)
    batches = [*a.batches(), *b.batches()]
    ipc = _stream(pa.Table.from_batches(batches).combine_chunks()) if batches else b""
    return ChunkResult(task, ipc, totals, a.ledger, a.rows + b.rows, remarks)


def with_source(result: ChunkResult, source: int) -> ChunkResult:
    """The result with its rows' `source`: a file's place among the others changes when files come."""
    import pyarrow as pa

    if not result.ipc:
        return result
    table = pa.Table.from_batches(list(result.batches()))
    column = table["source"]
    if column.null_count == len(column) or column[0].as_py() == source:
        return result
    place = table.schema.get_field_index("source")
    new = pa.array([source] * table.num_rows, column.type)
    return replace(result, ipc=_stream(table.set_column(place, table.schema.field(place), new)))


def _stream(table: object) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:  # type: ignore[attr-defined]
        writer.write_table(table)
    return bytes(sink.getvalue())


def _key(task: ChunkTask, more: str = "") -> bytes | None:
    """What was asked of a file, without its place among the others and its size."""
    bare = replace(task, file=replace(task.file, size=0, rows=None), source=0, lo=0, hi=None, weight=0)
    try:
        asked = wire.encode_task(bare)
    except UnicodeEncodeError:  # a path that is no UTF-8
        return None
    return blake2b(f"{__version__} {more} ".encode() + asked, digest_size=16).digest()


def _name(key: bytes, lo: int) -> str:
    return f"{key.hex()}-{lo:x}.part"


def _edges(path: str, lo: int, hi: int | None) -> bytes:
    digest = blake2b(digest_size=16)
    if hi is not None:
        with open_plain(path, EDGE) as file:
            for start in (lo, max(lo, hi - EDGE)):
                file.seek(start)
                digest.update(file.read(min(EDGE, hi - start)))
    return digest.digest()
