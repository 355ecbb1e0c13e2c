"""Bytes -> physical lines, with offsets, in flat memory.

Lines end at \\n and nowhere else: U+2028, U+0085 and a lone \\r stand raw inside logged text. A line belongs
to the byte range in which it starts, so that ranges can be read by different processes and every line is
read exactly once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import BinaryIO

BLOCK = 256 << 10
LONGEST = 128 << 20
"""Bytes of the longest line that is held in memory; longer ones are reported, not read."""

BOM = b"\xef\xbb\xbf"
TOO_LONG = f"a line of more than {LONGEST >> 20} MiB"

RawLine = tuple[int, bytes | None, bool]
"""(byte offset, line without its \\n, whether it had one). None for a line longer than LONGEST."""


@dataclass(slots=True)
class LineBlock:
    """Lines that follow each other, with their byte offsets and without their ends. `ended`: all of them had
    one; else this is one line, the last of its file. None for a line longer than LONGEST."""

    offsets: list[int]
    lines: list[bytes | None]
    ended: bool = True

    def before(self, end: int | None) -> LineBlock:
        """The lines that start before `end`."""
        if end is None or self.offsets[-1] < end:
            return self
        count = bisect_left(self.offsets, end)
        return LineBlock(self.offsets[:count], self.lines[:count], self.ended)


def physical_lines(stream: BinaryIO, lo: int = 0, hi: int | None = None) -> Iterator[RawLine]:
    """The lines of `line_blocks` one by one."""
    for block in line_blocks(stream, lo, hi):
        for offset, line in zip(block.offsets, block.lines, strict=True):
            yield offset, line, block.ended


def line_blocks(stream: BinaryIO, lo: int = 0, hi: int | None = None) -> Iterator[LineBlock]:
    """The lines that start at lo <= offset < hi (to the end without `hi`), as many at a time as one read of
    the stream brings to their ends.

    `lo` > 0 needs a seekable stream.
    """
    start = 0
    if lo > 0:
        found = _first_line_from(stream, lo)
        if found is None:
            return
        start = found
    held: list[bytes] = []  # pieces of a line that is longer than what was read so far
    size = 0
    while hi is None or start < hi:
        block = stream.read(BLOCK)
        if not block:
            break
        pieces = block.split(b"\n")
        rest = pieces.pop()
        if pieces:
            held.append(pieces[0])
            size += len(pieces[0])
            lengths = [size, *map(len, pieces[1:])]
            first = b"".join(held) if size <= LONGEST else None
            held.clear()  # before the line is worked on: it may be large
            offsets = list(accumulate((n + 1 for n in lengths), initial=start))
            start = offsets.pop()
            yield LineBlock(offsets, [first, *pieces[1:]]).before(hi)
            size = 0
        size += len(rest)
        if size > LONGEST:
            held.clear()
        elif rest:
            held.append(rest)
    if size and (hi is None or start < hi):
        yield LineBlock([start], [b"".join(held) if size <= LONGEST else None], ended=False)


def _first_line_from(stream: BinaryIO, lo: int) -> int | None:
    """Moves to the first line that starts at `lo` or later; its offset, None at the end of the stream."""
    position = lo - 1
    stream.seek(position)
    while block := stream.read(BLOCK):
        end = block.find(b"\n")
        if end >= 0:
            position += end + 1
            stream.seek(position)
            return position
        position += len(block)
    return None
