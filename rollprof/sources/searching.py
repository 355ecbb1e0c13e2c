"""Looking for one line in a file of any size, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rollprof.sources.opening import open_bytes
from rollprof.sources.records import SniffedFile

WINDOW = 4 << 20
LONG_LINE = 1 << 20
"""Of a line longer than this only the last OVERLAP bytes are searched together with what follows."""
OVERLAP = 64 << 10


def search_text(
    file: SniffedFile, pattern: re.Pattern[bytes], marks: Sequence[bytes | re.Pattern[bytes]] = ()
) -> re.Match[bytes] | None:
    """The first match of `pattern` in the (decompressed) file, None without one.

    One in the head, which was read already, costs nothing.
    `marks`: every match holds one of these; a plain search is ten times as fast as one for a pattern, and so
    is one for a pattern that begins with plain text and is rarely met.
    Meant for patterns within a line: `^` needs re.MULTILINE, a match over several lines may be missed.
    The positions of the match count from the window it was found in, not from the start of the file.
    The file is read window by window rather than mapped, so that a log of gigabytes stays out of memory.
    """
    early = pattern.search(file.head)
    if early is not None:
        return early
    held = b""
    fresh = 0  # where in `held` an unsearched line starts
    with open_bytes(file.path, file.compression) as stream:
        while block := stream.read(WINDOW):
            held += block
            likely = not marks or any(_holds(held, mark, fresh) for mark in marks)
            found = pattern.search(held, fresh) if likely else None
            if found is not None and (found.end() < len(held) or len(block) < WINDOW):
                return found
            # Only whole lines are done with: a match may begin in the last one. The byte before it is
            # kept, so that `^` does not match in the middle of a line.
            tail = held.rfind(b"\n")
            if len(held) - tail > LONG_LINE:
                tail = len(held) - OVERLAP
            held = held[tail:] if tail >= 0 else held
            fresh = 1 if tail >= 0 else 0
        return pattern.search(held, fresh)


def _holds(held: bytes, mark: bytes | re.Pattern[bytes], begin: int) -> bool:
    if isinstance(mark, bytes):
        return held.find(mark, begin) >= 0
    return mark.search(held, begin) is not None
