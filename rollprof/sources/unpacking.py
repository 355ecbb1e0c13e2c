"""Decompression that survives what a killed run leaves behind.

The standard gzip reader raises at a missing trailer, and takes the data it had just unpacked with it. This
one hands out every byte that the stream still gives, remembers what was wrong, and ends.
"""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from rollprof.errors import MissingExtra

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_GZIP_WINDOW = 31  # zlib: 15 bits of window, + 16 for the gzip wrapper
_OUTPUT = 1 << 20
"""Bytes unpacked at a time: a file of zeros must not unpack into memory at once."""


class Damaged(Exception):
    """The packed bytes make no sense from here on. `rescued` is what came out before."""

    def __init__(self, reason: str, rescued: bytes = b"") -> None:
        super().__init__(reason)
        self.reason = reason
        self.rescued = rescued


class Format(Protocol):
    """Feeds on packed bytes. `inside` is true between the start of a frame and its end."""

    name: str
    chunk: int
    inside: bool

    def feed(self, packed: bytes) -> bytes:
        """Unpacks some; packed bytes that were not needed yet are in `pending`."""

    @property
    def pending(self) -> bytes: ...


class Gzip:
    """gzip, several members one after the other (`cat a.gz b.gz`), zero padding after the last."""

    name = "gzip"
    chunk = 128 << 10

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self.inside = False
        self.pending = b""

    def feed(self, packed: bytes) -> bytes:
        if not self.inside:
            packed = packed.lstrip(b"\0")
            if not packed:
                self.pending = b""
                return b""
            self._member = zlib.decompressobj(_GZIP_WINDOW)
            self.inside = True
        before = self._member.copy()
        try:
            out = self._member.decompress(packed, _OUTPUT)
        except zlib.error as error:
            raise Damaged(f"gzip stream is damaged ({_plain(error)})", _rescue(before, packed)) from error
        if self._member.eof:
            self.inside = False
            self.pending = self._member.unused_data
        else:
            self.pending = self._member.unconsumed_tail
        return out


class Zstd:
    """zstd, several frames one after the other. Raises MissingExtra without the package zstandard."""

    name = "zstd"
    # zstandard cannot bound what a piece unpacks to, so the pieces are small.
    chunk = 16 << 10

    def __init__(self) -> None:
        try:
            import zstandard
        except ImportError as error:
            raise MissingExtra.for_package("zstandard", "zstd", "reading a .zst file") from error
        self._error: type[Exception] = zstandard.ZstdError
        self._new: Any = zstandard.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self.inside = False
        self.pending = b""

    def feed(self, packed: bytes) -> bytes:
        if not self.inside:
            self._frame = self._new()
            self.inside = True
        try:
            out: bytes = self._frame.decompress(packed)
        except self._error as error:
            raise Damaged(f"zstd stream is damaged ({_plain(error)})") from error
        self.pending = b""
        if self._frame.eof:
            self.inside = False
            self.pending = self._frame.unused_data
        return out


class Unpacking(io.RawIOBase):
    """The unpacked bytes of `file` as a raw stream; `damage` says why it ended early, None if it did not."""

    def __init__(self, file: BinaryIO, format_: Format) -> None:
        self._file = file
        self._format = format_
        self._ready = memoryview(b"")
        self._ended = False
        self.damage: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        while not self._ready and not self._ended:
            self._ready = memoryview(self._more())
        target = memoryview(buffer).cast("B")
        count = min(len(target), len(self._ready))
        target[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _more(self) -> bytes:
        packed = self._format.pending or self._file.read(self._format.chunk)
        if not packed:
            self._ended = True
            if self._format.inside:
                self.damage = f"{self._format.name} stream ends early: the rest is lost"
            return b""
        try:
            return self._format.feed(packed)
        except Damaged as damaged:
            self._ended = True
            self.damage = f"{damaged.reason}: the rest is lost"
            return damaged.rescued


def _rescue(member: Any, packed: bytes) -> bytes:
    """What `packed` gives when fed byte by byte up to the damage."""
    out = bytearray()
    try:
        for i in range(len(packed)):
            out += member.decompress(packed[i : i + 1])
    except zlib.error:
        pass
    return bytes(out)


def _plain(error: Exception) -> str:
    return str(error).rsplit(": ", 1)[-1]
