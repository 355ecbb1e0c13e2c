"""JSON documents -> records: an array of objects, or objects printed over several lines, one after another.

The bytes are cut into whole objects by their brackets and quotes, each object is parsed on its own, and
after damage reading goes on at the next object that begins like the ones before. Memory holds one object.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec

from rollprof.schema.ledger import Ledger
from rollprof.sources.mending import mend_object
from rollprof.sources.opening import damage_of, open_bytes
from rollprof.sources.records import JsonRecord, SniffedFile
from rollprof.sources.skeleton import skeleton
from rollprof.sources.splitting import BLOCK, BOM, LONGEST

_decode = msgspec.json.Decoder(dict[str, Any]).decode

# A string (to its closing quote, or to the end of what was read) or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:(")|\\?\Z)|[{}]', re.DOTALL)
# Where an object may begin that is no value of a larger one's key.
_OPENING_LEAD = rb"(?<!:)[\s,\[}]"
_OPENING = re.compile(rb"(" + _OPENING_LEAD + rb")\{\s*\"")
STRADDLE = 4096
INDENT = 256
RESUME = 16 << 20
"""Bytes of an object that reading may go on at after damage."""
REACH = 64 << 10
FEW_KEYS = 2
SUSPICIOUS = 8 << 20
DILIGENCE = 32
"""Bytes looked at per byte lost in search of the next object: damage all over must not take for ever."""

_BETWEEN = b" \t\r\n,[]\0"
"""What may stand between objects without meaning anything."""

Verdict = Literal["fine", "repaired", "lost", "space"]


class Piece(NamedTuple):
    """A stretch of the file: an object, or what stands between two."""

    offset: int
    data: bytes
    verdict: Verdict
    reason: str | None = None
    object: dict[str, Any] | None = None


def read_json_document(file: SniffedFile, ledger: Ledger, hi: int | None = None) -> Iterator[JsonRecord]:
    """The objects of a document in order; those that start at `hi` or later are left out.

    Physical lines are counted once each: skipped where damage left nothing of them, repaired where it
    left something, read otherwise.
    """
    lines = _LineCount(ledger)
    end = 0
    with open_bytes(file.path, file.compression) as stream:
        for piece in _pieces(_Window(stream)):
            if hi is not None and piece.offset >= hi:
                return
            end = piece.offset + len(piece.data)
            lines.add(piece.data, piece.verdict)
            if piece.reason is not None and piece.verdict == "lost":
                ledger.skip(file.name, piece.offset, piece.reason, lines=0)
            elif piece.reason is not None:
                ledger.repair(file.name, piece.offset, piece.reason, lines=0)
            if piece.object is not None:
                yield JsonRecord(piece.object, piece.offset)
        lines.finish()
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, end, damage)


class _LineCount:
    """Gives every physical line one verdict, from the pieces that lie in it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seen: set[Verdict] = set()
        self._open = False

    def add(self, data: bytes, verdict: Verdict) -> None:
        first, newline, rest = data.partition(b"\n")
        self._touch(first, verdict)
        if not newline:
            return
        self._close()
        inner, newline, last = rest.rpartition(b"\n")
        if newline:
            self._count({verdict}, inner.count(b"\n") + 1)
        self._touch(last, verdict)

    def finish(self) -> None:
        if self._open:
            self._close()

    def _touch(self, part: bytes, verdict: Verdict) -> None:
        """`part` of the current line belongs to a piece; blank parts say nothing about it."""
        self._open = self._open or bool(part)
        if part.strip(_BETWEEN):
            self._seen.add(verdict)

    def _close(self) -> None:
        self._count(self._seen, 1)
        self._seen = set()
        self._open = False

    def _count(self, seen: set[Verdict], lines: int) -> None:
        lost = "lost" in seen
        if lost and not seen & {"fine", "repaired"}:
            self._ledger.skipped += lines
        elif lost or "repaired" in seen:
            self._ledger.repaired += lines
        else:
            self._ledger.read += lines


class _Window:
    """The part of the stream that is held: `data` from byte `base` on."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.data = b""
        self.base = 0
        self.ended = False
        self._dropped = b""

    def more(self, keep_from: int) -> None:
        """Drop what lies before `keep_from` (an index into `data`) and read on."""
        # In proportion to what is held, so that a long object is not scanned over and over.
        block = self._stream.read(max(BLOCK, len(self.data) - keep_from))
        self._dropped = (self._dropped + self.data[max(0, keep_from - INDENT) : keep_from])[-INDENT:]
        self.data = self.data[keep_from:] + block
        self.base += keep_from
        self.ended = not block

    def line_before(self, at: int) -> bytes:
        """What stands before `at` on its line, as far back as matters."""
        return (self._dropped + self.data[max(0, at - INDENT) : at]).rpartition(b"\n")[2]


def _pieces(window: _Window) -> Iterator[Piece]:
    start = _Start()
    at = 0  # index into window.data of the first byte that was not handed out yet
    while True:
        opening = window.data.find(b"{", at)
        stop = opening if opening >= 0 else len(window.data)
        if stop > at:
            yield _between(window, at, stop)
        if opening < 0:
            if window.ended:
                return
            window.more(stop)
            at = 0
            continue
        at, length = _ensure_object(window, opening, start)
        piece = window.data[at : at + length]
        parsed = _parse(piece, window.base + at) if length else None
        if parsed is None:
            at = yield from _lose(window, at, start)
            continue
        yield parsed
        start.learn(window, at, parsed.object or {})
        at += length


def _ensure_object(window: _Window, opening: int, start: _Start) -> tuple[int, int]:
    """Reads until the object at `opening` is complete. (its index now, its length; 0: no end in sight)."""
    depth, scanned = 0, opening
    limit = start.reach
    while True:
        for token in _TOKEN.finditer(window.data, scanned, opening + limit):
            text = token.group()
            if text == b"{":
                depth += 1
            elif text == b"}":
                depth -= 1
                if not depth:
                    start.reach = max(start.reach, 4 * (token.end() - opening))
                    return opening, token.end() - opening
            elif token.group(1) is None:  # a string that goes on beyond what was looked at
                scanned = token.start()
                break
            scanned = token.end()
        out_of_data = opening + limit >= len(window.data)
        if (out_of_data and window.ended) or limit > LONGEST:
            return opening, 0
        if start.goes_on_without(window.data, opening, limit):
            return opening, 0
        if out_of_data:
            scanned -= opening
            window.more(opening)
            opening = 0
        limit *= 2


class _Start:
    """What the objects of this document look like: their keys, and their indentation."""

    def __init__(self) -> None:
        self.reach = REACH
        """Bytes within which an object should end: well beyond the longest so far."""
        self.scanned = 0
        """Bytes looked at by `stands_at`, all calls together."""
        self._indent: bytes | None = None
        self._keys: frozenset[str] = frozenset()
        self._guess: frozenset[str] = frozenset()

    def learn(self, window: _Window, at: int, value: dict[str, Any]) -> None:
        """Take the whole object at `at` as the example, once."""
        if not self._keys:
            self._keys = frozenset(value)
            lead = window.line_before(at)
            self._indent = lead if not lead.strip() else None

    def guess(self, data: bytes, at: int) -> None:
        """Take the keys of a damaged object, as far as they can be told, where nothing else is known."""
        if not self._keys:
            self._guess = frozenset(skeleton(data[at : at + STRADDLE]))

    def stands_at(self, data: bytes, at: int) -> bool | None:
        """Whether a whole object of this document begins at `at`; None where `data` ends too early to say.

        An object nested in another may begin alike; it has other keys.
        """
        depth = 0
        for token in _TOKEN.finditer(data, at, at + RESUME):
            text = token.group()
            depth += (text == b"{") - (text == b"}")
            if not depth:
                self.scanned += token.end() - at
                piece = _parse(data[at : token.end()], 0)
                return piece is not None and self._like_the_others(frozenset(piece.object or ()))
        self.scanned += min(len(data) - at, RESUME)
        return None if len(data) - at < RESUME else False

    def _like_the_others(self, keys: frozenset[str]) -> bool:
        known = self._keys or self._guess
        if not self._keys and len(known) < FEW_KEYS:  # too little to go by: any record, but nothing small
            return len(keys) > FEW_KEYS
        return 2 * len(keys & known) >= len(known)

    def goes_on_without(self, data: bytes, opening: int, limit: int) -> bool:
        """Whether a whole object follows before the one at `opening` has ended, within `limit` bytes.

        Objects of a pretty printer begin on a line of their own, at their own depth. Elsewhere one may
        hold others that look the same, so that it takes a long one to raise suspicion.
        """
        if not self._keys or (self._indent is None and limit < SUSPICIOUS):
            return False
        own_line = rb"\n" + re.escape(self._indent) if self._indent is not None else _OPENING_LEAD
        beginning = re.compile(own_line + rb"(?=\{)")
        following = beginning.search(data, opening + 1, opening + limit)
        return following is not None and self.stands_at(data, following.end()) is True


def _parse(piece: bytes, offset: int) -> Piece | None:
    """The object in `piece`, mended where that is possible; None where it is damaged."""
    try:
        return Piece(offset, piece, "fine", None, _decode(piece))
    except (ValueError, RecursionError):
        mended = mend_object(piece)
    if mended is None:
        return None
    value, reason = mended
    return Piece(offset, piece, "fine" if reason is None else "repaired", reason, value)


def _lose(window: _Window, at: int, start: _Start) -> Generator[Piece, None, int]:
    """Hands out as lost everything up to the next whole object, and returns where that begins."""
    start.guess(window.data, at)
    origin, spent = window.base + at, start.scanned
    searched = at + 1
    reason: str | None = "a damaged object"
    while True:
        following = _OPENING.search(window.data, searched)
        found: bool | None = None
        if following is not None:
            allowed = BLOCK + DILIGENCE * (window.base + following.start() - origin)
            tired = start.scanned - spent > allowed
            found = False if tired else start.stands_at(window.data, following.end(1))
            if found is False or (found is None and window.ended):
                searched = following.end(1)
                continue
            stop = following.end(1) if found else following.start()
        elif window.ended:
            stop = len(window.data)
            reason = reason and "half an object (truncated tail)"
        else:  # an opening may straddle the end of what was read
            stop = max(at, len(window.data) - STRADDLE)
        if stop > at:
            yield Piece(window.base + at, window.data[at:stop], "lost", reason)
            reason = None
        if found or window.ended:
            return stop
        window.more(stop)
        at, searched = 0, 0


def _between(window: _Window, at: int, stop: int) -> Piece:
    data = window.data[at:stop]
    offset = window.base + at
    bare = data.removeprefix(BOM) if offset == 0 else data
    if not bare.strip(_BETWEEN):
        return Piece(offset, data, "space")
    return Piece(offset, data, "lost", "text between the objects")
