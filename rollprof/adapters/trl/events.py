"""A trainer's console as a stream of events: metric dicts, progress bars and panel heads, in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rollprof.adapters.trl.logdict import Found, Value, find_dicts, headless, is_trainer_log
from rollprof.adapters.trl.progress import Bar, Panel, find_bars, find_panels
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import TextLine

HEADLESS = "the rest of a metric dict whose opening brace is missing (is the head of the log cut off?)"
CUT_OFF = "a metric dict that the end of the log cuts off"

FIRST_KEYS = ("loss", "_runtime", "reward", "grad_norm", "learning_rate", "eps'", 'eps"')
"""One of these stands among the first keys of every metric dict."""

TABLE = ("│", "┃")
"""How the rows of a panel begin: what stands in them is the policy's text, whatever it looks like."""

_REST = re.compile(r"[^{]*(?:['\"]\s*:[^{]*|\}\s*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Logged:
    """A metric dict: its entries, whether its numbers kept four digits, its place and time."""

    values: dict[str, Value]
    quoted: bool
    offset: int
    time: float | None


Event = Logged | Bar | Panel


def starts_open(text: str) -> bool:
    """True for a line with a metric dict that goes on on the next line."""
    if not may_hold_dict(text) or in_table(text):
        return False
    return any(found.state == "open" for found in find_dicts(text))


def continues(text: str) -> bool:
    """True for a line that can be the rest of a metric dict."""
    return _REST.match(text) is not None and not in_table(text)


def may_hold_dict(text: str) -> bool:
    """False for the many lines with braces that cannot hold, or begin, what a Trainer logs."""
    return "{" in text and any(key in text for key in FIRST_KEYS)


def in_table(text: str) -> bool:
    """True for a row of a panel."""
    return text.lstrip().startswith(TABLE)


def events(lines: Iterable[TextLine], ledger: Ledger, name: str) -> Iterator[Event]:
    """Everything in `lines` that tells metrics or steps, in order of appearance.

    `lines` are whole (see `sources.wraps.rejoin`). What cannot be used of a metric dict goes to the ledger.
    """
    for line in lines:
        text = line.text
        if in_table(text):
            continue
        found: list[tuple[int, Event]] = []
        if may_hold_dict(text):
            for one in find_dicts(text):
                if not is_trainer_log(one.values):
                    continue
                if one.state == "open":
                    _cut(one, ledger, name, line)
                    continue
                found.append((one.start, Logged(dict(one.values), one.quoted, line.offset, line.time)))
        elif "}" in text and headless(text):
            ledger.read -= line.lines
            ledger.skip(name, line.offset, HEADLESS, lines=line.lines)
        if "/" in text:
            found += [(bar.at, bar) for bar in find_bars(text, line.offset)]
        if "╭" in text:
            found += [(panel.at, panel) for panel in find_panels(text)]
        yield from (event for _, event in sorted(found, key=lambda pair: pair[0]))


def _cut(found: Found, ledger: Ledger, name: str, line: TextLine) -> None:
    """An open dict: its step is not whole, so none of it is used."""
    ledger.note(name, line.offset, f"{CUT_OFF}: its {len(found.values)} values are left out")
