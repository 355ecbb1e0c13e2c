"""Opening inputs: plain, gzip and zstd files, standard input; what they weigh and how to know them again.

Compression is told by magic bytes, never by the file's extension. A compressed stream that ends early or
is damaged gives everything that could be unpacked and then simply ends; `damage_of` says what was wrong,
so that a reader can put it into the ledger.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, cast

from rollprof.errors import InputProblem
from rollprof.sources.unpacking import Gzip, Unpacking, Zstd

Compression = Literal["none", "gz", "zst"]

BUFFER = 1 << 20
TAIL = 8 << 10
"""Bytes in which the end of a line is looked for at a time."""

EDGE = 64 << 10
"""Bytes at either end of a file that its fingerprint covers."""

_ENDS: ContextVar[Mapping[str, int]] = ContextVar("ends", default=MappingProxyType({}))

_MAGIC: tuple[tuple[bytes, Compression], ...] = ((b"\x1f\x8b", "gz"), (b"\x28\xb5\x2f\xfd", "zst"))


def detect_compression(path: str) -> Compression:
    """What the first bytes of `path` say. Raises InputProblem where it cannot be read."""
    with open_plain(path) as file:
        start = file.read(4)
    for magic, compression in _MAGIC:
        if start.startswith(magic):
            return compression
    return "none"


@contextlib.contextmanager
def up_to(ends: Mapping[str, int]) -> Iterator[None]:
    """Inside, `open_bytes` ends these files at these bytes: what follows is still being written."""
    token = _ENDS.set(ends)
    try:
        yield
    finally:
        _ENDS.reset(token)


class _Bounded(io.RawIOBase):
    """The bytes of a plain file up to `end`."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self._file, self._end = file, end

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = max(0, self._end - self._file.tell())
        data = self._file.read(min(room, len(buffer)))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            return self._file.seek(self._end + offset)
        return self._file.seek(offset, whence)

    def close(self) -> None:
        self._file.close()
        super().close()


def open_plain(path: str, buffer: int = BUFFER) -> BinaryIO:
    """The file's own bytes, buffered: a small `buffer` where a few of them are looked at. Raises
    InputProblem, one line, where it cannot be opened."""
    try:
        return Path(path).open("rb", buffering=buffer)
    except OSError as error:
        raise InputProblem(f"cannot read {path}: {error.strerror or error}") from error


def open_bytes(path: str, compression: str = "none") -> BinaryIO:
    """The decompressed bytes of `path`, buffered.

    Only `none` can be seeked. Raises InputProblem for a file that cannot be opened and MissingExtra for
    zstd without its package; damage inside a compressed stream ends it instead (see `damage_of`).
    """
    file = open_plain(path)
    if compression == "none":
        end = _ENDS.get().get(path)
        return file if end is None else cast(BinaryIO, io.BufferedReader(_Bounded(file, end), BUFFER))
    raw = Unpacking(file, Gzip() if compression == "gz" else Zstd())
    return cast(BinaryIO, io.BufferedReader(raw, BUFFER))


def damage_of(stream: BinaryIO) -> str | None:
    """Why a compressed stream from `open_bytes` ended before its end; None where it did not."""
    raw: Any = getattr(stream, "raw", None)
    return raw.damage if isinstance(raw, Unpacking) else None


def fingerprint(path: str) -> str:
    """32 hex digits from the size and the first and last 64 KiB: cheap at any size.

    A log that grew, or was written anew, has another fingerprint; a change in the middle that keeps the
    size is not seen. What is read along with the file (a database's write-ahead log, the metrics of a run
    in a file store) counts by size.
    """
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        digest = blake2b(str(size).encode(), digest_size=16)
        digest.update(file.read(EDGE))
        if size > EDGE:
            file.seek(max(EDGE, size - EDGE))
            digest.update(file.read(EDGE))
    for size in _companions(Path(path)):
        digest.update(f"+{size}".encode())
    return digest.hexdigest()


def last_line_end(path: str, start: int, end: int) -> int:
    """Where the last whole line among bytes `start..end` of a plain file ends; `start` without one."""
    with open_plain(path, TAIL) as file:
        while end > start:
            block = max(start, end - TAIL)
            file.seek(block)
            found = file.read(end - block).rfind(b"\n")
            if found >= 0:
                return block + found + 1
            end = block
    return start


def _companions(path: Path) -> list[int]:
    log = path.with_name(f"{path.name}-wal")
    beside = [log] if log.is_file() else []
    if path.name == "meta.yaml":
        beside += sorted(entry for entry in (path.parent / "metrics").rglob("*") if entry.is_file())
    return [entry.stat().st_size for entry in beside]


def spool_stdin() -> str:
    """Copies standard input into a temporary file and returns its path."""
    return spool(sys.stdin.buffer)


def spool(stream: BinaryIO) -> str:
    """Copies what can be read only once (a pipe) into a temporary file that lives as long as the process."""
    with tempfile.NamedTemporaryFile(prefix="rollprof-", delete=False) as copy:
        atexit.register(_forget, copy.name)
        shutil.copyfileobj(stream, copy, BUFFER)
    return copy.name


def _forget(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(path).unlink()
