"""Bytes -> physical lines, with offsets, in flat memory.

Lines end at \\n and nowhere else: U+2028, U+0085 and a lone \\r stand raw inside logged text. A line belongs
to the byte range in which it starts, so that ranges can be read by different processes and every line is
read exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

BLOCK = 256 << 10
LONGEST = 128 << 20
"""Bytes of the longest line that is held in memory; longer ones are reported, not read."""

BOM = b"\xef\xbb\xbf"
TOO_LONG = f"a line of more than {LONGEST >> 20} MiB"

RawLine = tuple[int, bytes | None, bool]
"""(byte offset, line without its \\n, whether it had one). None for a line longer than LONGEST."""


def physical_lines(stream: BinaryIO, lo: int = 0, hi: int | None = None) -> Iterator[RawLine]:
    """The lines that start at lo <= offset < hi (to the end without `hi`).

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
        lines = block.split(b"\n")
        rest = lines.pop()
        if lines:
            held.append(lines[0])
            size += len(lines[0])
            first = b"".join(held) if size <= LONGEST else None
            held.clear()  # before the line is worked on: it may be large
            yield start, first, True
            start += size + 1
            size = 0
            for line in lines[1:]:
                if hi is not None and start >= hi:
                    return
                yield start, line, True
                start += len(line) + 1
        size += len(rest)
        if size > LONGEST:
            held.clear()
        elif rest:
            held.append(rest)
    if size and (hi is None or start < hi):
        yield start, b"".join(held) if size <= LONGEST else None, False


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
