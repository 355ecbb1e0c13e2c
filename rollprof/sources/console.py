"""Console logs -> logical lines: cleaned, with the actor and the clock that each carries.

Everything that a launcher, a terminal or a collector adds is taken off; what a framework wrote stays.
"""

from __future__ import annotations

from collections.abc import Iterator

from rollprof.schema.ledger import Ledger
from rollprof.sources import swanlab_log, wandb_log
from rollprof.sources.opening import damage_of, open_bytes
from rollprof.sources.prefixes import clock, spoken, without_transport
from rollprof.sources.records import SniffedFile, TextLine
from rollprof.sources.splitting import BOM, TOO_LONG, physical_lines
from rollprof.sources.terminal_text import ODD, drawn, strip_escapes, visible
from rollprof.sources.wraps import rejoin

TRACKED = {"wandb": wandb_log.console_chunks, "swanlab": swanlab_log.console_chunks}
"""Trackers that keep the console in their own log."""


def read_console(file: SniffedFile, ledger: Ledger, *, redraws: bool = False) -> Iterator[TextLine]:
    """The lines of a console log in order, blank ones included.

    `redraws`: what a later part of the same line overwrote comes too, each state of a progress bar on its
    own.

    One physical line can give several: two actors on one line, or text before a progress bar. The first
    of them has lines=1, the others 0, so that sums count physical lines. Each physical line is counted
    once in the ledger: repaired where invalid UTF-8 or NULs had to be replaced, read otherwise.
    """
    if file.metadata.get("sink") in TRACKED:
        yield from read_tracked_console(file, redraws=redraws)
        return
    offset, raw = 0, None
    with open_bytes(file.path, file.compression) as stream:
        for offset, raw, complete in physical_lines(stream):
            if raw is None:
                ledger.skip(file.name, offset, TOO_LONG)
                continue
            text, reason = _decode(raw, offset)
            if reason is None:
                ledger.read += 1
            else:
                ledger.repair(file.name, offset, reason)
            if not complete:
                ledger.note(file.name, offset, "the file ends inside this line: what followed is missing")
            lines = 1
            for actor, pid, time, part in _parts(text, redraws):
                yield TextLine(part, actor, pid, time, offset, lines, complete, reason is not None)
                lines = 0
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, offset + len(raw or b""), damage)


def read_tracked_console(file: SniffedFile, *, redraws: bool = False) -> Iterator[TextLine]:
    """The console lines that a tracker kept in its own log, each with the time when its last piece was
    written. They are counted with the log's records, not as lines."""
    for offset, time, text, complete in whole_lines(TRACKED[file.metadata["sink"]](file)):
        for actor, pid, own, part in _parts(text.replace("\0", ""), redraws):
            yield TextLine(part, actor, pid, own if time is None else time, offset, 0, complete)


def whole_lines(
    chunks: Iterator[tuple[int, float | None, str]],
) -> Iterator[tuple[int, float | None, str, bool]]:
    """(offset, time, line, whether its end was written) of text that was written piece by piece."""
    begun, start, last = "", 0, None
    for offset, time, text in chunks:
        start = start if begun else offset
        for i, piece in enumerate(text.split("\n")):
            if i:
                yield start, last, begun, True
                begun, start = "", offset
            begun += piece
            if piece.strip():
                last = time
    if begun:
        yield start, last, begun, False


def _decode(raw: bytes, offset: int) -> tuple[str, str | None]:
    """The text of a physical line and what had to be repaired."""
    reasons = []
    if offset == 0 and raw.startswith(BOM):
        raw = raw[len(BOM) :]
        reasons.append("byte order mark")
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
        reasons.append("NUL bytes removed")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        reasons.append("invalid UTF-8 replaced")
    return text, ", ".join(reasons) or None


def _parts(text: str, redraws: bool) -> list[tuple[str, int, float | None, str]]:
    """(actor, pid, time, text) of everything that one physical line says; at least one."""
    odd = ODD.search(text) is not None
    if odd:
        text = strip_escapes(text)
    text, sent = without_transport(text)
    show = drawn if redraws else visible
    odd = odd or "%|" in text
    parts = [
        (who.actor, who.pid, sent if sent is not None else clock(part), part)
        for who in spoken(text)
        for part in (show(who.text) if odd else [who.text])
    ]
    if parts:
        return parts
    last = spoken(text)[-1]
    return [(last.actor, last.pid, sent, "")]


__all__ = ["read_console", "rejoin"]
