"""Hard-wrapped lines put together again.

Terminals and web pages break long lines at 140, 240 or 1,000 columns, in the middle of a key or a number;
Ray may repeat its prefix on the rest, and other processes write in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from rollprof.schema.ledger import Ledger
from rollprof.sources.records import TextLine

PATIENCE = 64
"""Lines of others that may come between the parts of one line."""

MOST_PARTS = 1000
"""Parts that one record is put together from: predicates that fit everything must not swallow a log."""

JOINED = "a wrapped line put together again"


def rejoin(
    lines: Iterable[TextLine],
    starts: Callable[[str], bool],
    continues: Callable[[str], bool],
    *,
    ledger: Ledger | None = None,
    name: str = "",
) -> Iterator[TextLine]:
    """Logical lines, in the order in which they begin.

    `starts(text)` says that a text begins a record that may be wrapped, `continues(text)` that it can be
    the rest of one. A rest belongs to the open record of its own actor and process; without a prefix, to
    the record that was continued last. A record is closed by the next start of its actor, by a line of
    its actor that neither starts nor continues, or by the lines of others going on for too long. Blank lines
    close nothing. With a `ledger`, the physical lines of a joined record are moved from read to repaired,
    once, with a problem at its offset; `name` is the file's.
    """
    queue: deque[_Slot] = deque()
    for line in lines:
        _place(queue, line, starts, continues)
        while queue and (not queue[0].open or len(queue) > PATIENCE):
            yield queue.popleft().finish(ledger, name)
    while queue:
        yield queue.popleft().finish(ledger, name)


@dataclass(slots=True)
class _Slot:
    """A line on its way out; an open one may still grow."""

    first: TextLine
    open: bool
    rest: list[TextLine] = field(default_factory=list)
    touched: int = 0

    def belongs(self, line: TextLine) -> bool:
        return (line.actor, line.pid) == (self.first.actor, self.first.pid)

    def finish(self, ledger: Ledger | None, name: str) -> TextLine:
        if not self.rest:
            return self.first
        text = self.first.text
        for line in self.rest:
            text = seam(text, line.text)
        parts = [self.first, *self.rest]
        lines = sum(p.lines for p in parts)
        if ledger is not None:
            intact = sum(p.lines for p in parts if not p.repaired)
            ledger.read -= intact
            ledger.repair(name, self.first.offset, JOINED, lines=intact)
        return self.first._replace(text=text, lines=lines, complete=parts[-1].complete, repaired=True)


def seam(left: str, right: str) -> str:
    """Two parts of a wrapped line as one text.

    The break may have taken the blank that stood there; a dash that is alone on its side of the break is
    a word of its own and gets it back.
    """
    lone_left = left == "-" or left.endswith(" -")
    lone_right = (right == "-" or right.startswith("- ")) and not left.endswith(":")  # a negative number
    if (lone_left and not right.startswith(" ")) or (lone_right and not left.endswith(" ")):
        return f"{left} {right}"
    return left + right


def _place(
    queue: deque[_Slot], line: TextLine, starts: Callable[[str], bool], continues: Callable[[str], bool]
) -> None:
    """Puts a line where it belongs: into an open record, or at the end."""
    if starts(line.text):
        for slot in queue:
            if slot.belongs(line):
                slot.open = False
        queue.append(_Slot(line, open=True, touched=_next_touch(queue)))
        return
    waiting = [slot for slot in queue if slot.open]
    blank = not line.text.strip()
    if waiting and not blank:
        own = [slot for slot in waiting if slot.belongs(line)]
        fitting = own or (waiting if not line.actor and not line.pid else [])
        if fitting and continues(line.text):
            slot = max(fitting, key=lambda s: s.touched)
            slot.rest.append(line)
            slot.touched = _next_touch(queue)
            slot.open = len(slot.rest) < MOST_PARTS
            return
        for slot in own:
            slot.open = False
    queue.append(_Slot(line, open=False))


def _next_touch(queue: deque[_Slot]) -> int:
    return 1 + max((slot.touched for slot in queue), default=0)
