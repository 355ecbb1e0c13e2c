"""Lines that hold one of a few marks, found in whole blocks of bytes: all others are counted, never cut out.

Logs of engines are gigabytes of which a few lines matter. Cutting each line and asking it for each mark
costs ten times what reading does; a search for the marks in the block costs about as much as reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from rollprof.sources.splitting import BLOCK, LONGEST


class Sieve:
    """Sifts a stream. `passed`: lines without a mark so far; `offset`: start of the last unfinished line."""

    def __init__(self, stream: BinaryIO, marks: Sequence[bytes]) -> None:
        self._stream, self._marks = stream, tuple(marks)
        self.passed = 0
        self.offset = 0

    def lines(self) -> Iterator[tuple[int, bytes | None, bool]]:
        """Offset, bytes (None: too long to hold) and whether a newline ended it, of each line with a mark.

        Too long lines are given whatever they hold, since they are not looked at.
        """
        held: list[bytes] = []  # pieces of a line that began in an earlier block
        size = 0
        while block := self._stream.read(BLOCK):
            begin = 0
            if size:
                begin = block.find(b"\n") + 1
                size += begin - 1 if begin else len(block)
                if size <= LONGEST:
                    held.append(block[: begin - 1] if begin else block)
                else:
                    held.clear()
                if not begin:
                    continue
                yield from self._one(held, size, complete=True)
                self.offset += size + 1
            end = block.rfind(b"\n") + 1
            if end > begin:
                yield from self._whole(block, begin, end)
            rest = block[max(begin, end) :]
            held, size = [rest], len(rest)
        if size:
            yield from self._one(held, size, complete=False)

    def _one(
        self, held: Sequence[bytes], size: int, *, complete: bool
    ) -> Iterator[tuple[int, bytes | None, bool]]:
        line = b"".join(held) if size <= LONGEST else None
        if line is None or any(mark in line for mark in self._marks):
            yield self.offset, line, complete
        else:
            self.passed += 1

    def _whole(self, block: bytes, begin: int, end: int) -> Iterator[tuple[int, bytes | None, bool]]:
        """The marked ones of the whole lines block[begin:end]."""
        origin = self.offset - begin
        self.offset = origin + end
        at = begin
        ahead = [block.find(mark, begin, end) for mark in self._marks]
        while (hit := min((p for p in ahead if p >= 0), default=-1)) >= 0:
            start = max(block.rfind(b"\n", begin, hit) + 1, begin)
            stop = block.index(b"\n", hit, end)
            self.passed += block.count(b"\n", at, start)
            yield origin + start, block[start:stop], True
            at = stop + 1
            ahead = [
                p if p < 0 or p > stop else block.find(m, at, end)
                for p, m in zip(ahead, self._marks, strict=True)
            ]
        self.passed += block.count(b"\n", at, end)
