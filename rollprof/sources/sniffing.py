"""What a file is, told by its content: its kind, its first objects, its columns.

Names and extensions say nothing: logs are called .txt, .out, .json and .log alike.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.documents import read_json_document
from rollprof.sources.mending import mend
from rollprof.sources.opening import detect_compression, open_bytes
from rollprof.sources.parquet import open_parquet
from rollprof.sources.records import FileKind, SniffedFile
from rollprof.sources.sink_sniffing import as_sink
from rollprof.sources.skeleton import clipped, skeleton
from rollprof.sources.splitting import BOM, physical_lines

HEAD = 64 << 10
JSON_HEAD = 4 << 10
MAX_OBJECTS = 24
MAX_LINES = 64
"""Lines of the head that are looked at."""
LONG_OBJECT = 64 << 20
"""Bytes of a first object that is read whole to learn its keys; of a longer one only the start is."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_SPACE = b" \t\r\n\0"
_OBJECT = re.compile(rb'\{\s*(?:"|\})')
_ARRAY = re.compile(rb'\[\s*(?:\{\s*["}]|\]\s*\Z)')
_HOLE = re.compile(rb"\x00{16,}")  # what a crashed machine leaves in a text file
_CONTROLS = bytes(c for c in range(32) if c not in b"\b\t\n\f\r\x1b")
_UNDECODABLE = 0.10
"""Share of control characters and broken UTF-8 above which a file is no text."""

_BINARY_MAGIC = (
    b"SQLite format 3\0",
    b"PK\x03\x04",
    b"\x80\x02",
    b"\x80\x03",
    b"\x80\x04",
    b"\x80\x05",
    b"\x93NUMPY",
    b":W&B",
    b":SWL",
    b"\x7fELF",
    b"\x89PNG",
    b"\x89HDF",
    b"BZh",
    b"\xfd7zXZ",
    b"ARROW1",
    b"\xff\xfe",
    b"\xfe\xff",
)
"""Databases, archives, pickles, arrays, trackers' own logs, images, other compressions, UTF-16."""


def sniff(path: str, name: str) -> SniffedFile:
    """Look at the head of a file. Raises InputProblem where it cannot be read.

    `objects` holds the first objects with long strings and lists clipped: enough to tell keys and types.
    """
    size = _size(path)
    compression = detect_compression(path)
    with open_bytes(path, compression) as stream:
        head = stream.read(HEAD)
    plain = SniffedFile(str(Path(path).absolute()), name, size, "text", compression, head)
    if compression == "none" and head.startswith(b"PAR1"):
        return _parquet(plain)
    if not head.strip(_SPACE + BOM):
        return replace(plain, kind="empty" if len(head) < HEAD else "binary")
    if _is_binary(head):
        return as_sink(replace(plain, kind="binary"))
    return as_sink(_text(plain))


def keys_of(file: SniffedFile) -> tuple[str, ...]:
    """Keys (or Parquet columns) seen in the head of a file, in the order met."""
    return file.columns or tuple(dict.fromkeys(key for obj in file.objects for key in obj))


def _size(path: str) -> int:
    try:
        found = Path(path).stat()
    except OSError as error:
        raise InputProblem(f"cannot read {path}: {error.strerror or error}") from error
    if stat.S_ISDIR(found.st_mode):
        raise InputProblem(f"cannot read the folder {path}")
    if not stat.S_ISREG(found.st_mode):
        raise InputProblem(f"{path} is not a regular file")
    return found.st_size


def _parquet(plain: SniffedFile) -> SniffedFile:
    try:
        with open_parquet(plain.path, plain.name) as opened:
            metadata = opened.schema_arrow.metadata or {}
            return as_sink(
                replace(
                    plain,
                    kind="parquet",
                    columns=tuple(opened.schema_arrow.names),
                    metadata={
                        k.decode("utf-8", "replace"): v.decode("utf-8", "replace")
                        for k, v in metadata.items()
                        if k != b"sink"
                    },
                    rows=opened.metadata.num_rows,
                )
            )
    except InputProblem as problem:  # said again when someone asks for its rows
        return replace(plain, kind="parquet", metadata={"problem": problem.message})


def _is_binary(head: bytes) -> bool:
    if head.startswith(_BINARY_MAGIC) or _is_safetensors(head):
        return True
    text = _HOLE.sub(b"", head) if b"\0" in head else head
    controls = len(text) - len(text.translate(None, _CONTROLS))
    broken = text.decode("utf-8", "replace").count("\ufffd")
    return controls + broken > _UNDECODABLE * len(text) + 8


def _is_safetensors(head: bytes) -> bool:
    return head[8:9] == b"{" and head[5:8] == b"\0\0\0"


def _text(plain: SniffedFile) -> SniffedFile:
    """JSON lines, a JSON document, or text."""
    start = plain.head.removeprefix(BOM).lstrip(_SPACE)
    if _ARRAY.match(start):
        return _document(plain)
    lines = _whole_lines(plain.head)
    objects = [obj for line in lines for obj in _objects(line)]
    if objects and 2 * len(objects) >= len(lines):
        return _json(plain, "json_lines", tuple(clipped(obj) for obj in objects[:MAX_OBJECTS]))
    if not _OBJECT.match(start):
        return plain
    if _spans_lines(start):
        return _document(plain)
    # Not one line could be understood: a first line longer than the head, or a file that is all damage.
    if 2 * sum(line.lstrip(_SPACE + BOM).startswith(b"{") for line in lines) >= len(lines):
        return _json(plain, "json_lines", _first_object(plain))
    return plain


def _spans_lines(start: bytes) -> bool:
    """Whether an object that is opened on the first line goes on below it, as pretty printers do."""
    first, newline, rest = start.partition(b"\n")
    second = rest.lstrip(b" \t\r")[:1]
    return bool(newline) and first.rstrip()[-1:] in (b"{", b",", b"[") and second in (b'"', b"{", b"}", b"]")


def _whole_lines(head: bytes) -> list[bytes]:
    """The first lines with anything on them; not the last one where the head cuts it."""
    lines = head.split(b"\n", 2 * MAX_LINES)
    if len(head) >= HEAD:
        lines.pop()
    return [line for line in lines[: 2 * MAX_LINES] if line.strip(_SPACE + BOM)][:MAX_LINES]


def _objects(line: bytes) -> list[dict[str, Any]]:
    try:
        return [_decode(line)]
    except (ValueError, RecursionError):
        return [obj for _, obj in mend(line).objects]


def _json(plain: SniffedFile, kind: FileKind, objects: tuple[dict[str, Any], ...]) -> SniffedFile:
    """Of JSON the objects say more than the bytes, and a dump may have thousands of files."""
    return replace(plain, kind=kind, head=plain.head[:JSON_HEAD], objects=objects)


def _document(plain: SniffedFile) -> SniffedFile:
    found = []
    for record in read_json_document(plain, Ledger()):
        found.append(clipped(record.data))
        if len(found) >= MAX_OBJECTS or record.offset > HEAD:
            break
    return _json(plain, "json_document", tuple(found) or (skeleton(plain.head),))


def _first_object(plain: SniffedFile) -> tuple[dict[str, Any], ...]:
    """The first object of a file whose first line is longer than the head, clipped."""
    with open_bytes(plain.path, plain.compression) as stream:
        for _, line, complete in _first_lines(physical_lines(stream)):
            objects = mend(line, complete=complete).objects
            if objects:
                return (clipped(objects[0][1]),)
    lone = skeleton(plain.head)
    return (lone,) if lone else ()


def _first_lines(lines: Iterator[tuple[int, bytes | None, bool]]) -> Iterator[tuple[int, bytes, bool]]:
    """A few lines, as long as they are not too long to be worth it."""
    spent = 0
    for offset, line, complete in lines:
        spent += len(line or b"") + 1
        if line is None or spent > LONG_OBJECT:
            return
        if line.strip():
            yield offset, line, complete
            if offset > HEAD:
                return
