"""What launchers put before a line: Ray's `(Actor pid=1, ip=10.0.0.2)`, clocks, collectors' timestamps."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from rollprof.sources.terminal_text import MARK

# Ray shows an actor's own repr, so that names may hold brackets, colons, blanks and "rank=3".
_NAME = r"(?:[^()\r\n]|\([^()\r\n]{0,80}\)){0,160}?"
_COLOUR = r"(?:\[\d{0,3}(?:;\d{1,3})*m)*"  # a colour code whose escape character got lost
_SYSTEMS = ("raylet", "autoscaler", "scheduler", "gcs_server")
_SYSTEM = "|".join(_SYSTEMS)
_PREFIX = (
    rf"{_COLOUR}\((?:(?P<name>{_NAME})\s?\bpid=(?P<pid>\d*)(?:,\s?ip=[^()\s]*)?"
    rf"|(?P<system>{_SYSTEM})(?:,\s?ip=[^()\s]*|\s[^()]{{0,40}})?)\){_COLOUR}"
)
_AT_START = re.compile(MARK + "*" + _PREFIX + r" ?")
# Without its colour, a prefix in mid-line is told from prose by what it sticks to.
_INSIDE = re.compile(rf"(?:{MARK}|(?<=[^\s(])(?={_COLOUR}\())" + _PREFIX + r" ")

_REPEATED = re.compile(
    _COLOUR + r" \[repeated \d+x across cluster\](?: \(Ray deduplicates logs[^\n]*\))?\s*" + _COLOUR + r"$"
)

_CLOCK = re.compile(
    r"(?:[A-Z]{4,8}[: ]|\[)?"
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(?:\s?(Z|[+-]\d\d:?\d\d))?"
)
# Container runtimes: 2026-08-20T10:11:12.123456789Z [stdout F ]
_TRANSPORT = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] )?"
)


class Spoken(NamedTuple):
    """A stretch of a physical line and the process that wrote it."""

    actor: str
    pid: int
    text: str


def spoken(text: str) -> list[Spoken]:
    """The line cut at Ray's prefixes, which are removed. Of nested prefixes the innermost names the actor.

    Two processes may write one physical line: `...',(WorkerDict pid=7) Flash Attention` is two.
    """
    found: list[Spoken] = []
    actor, pid = "", 0
    at = 0
    while True:
        while (start := _AT_START.match(text, at)) is not None:
            actor, pid = _who(start)
            at = start.end()
        inner = _INSIDE.search(text, at) if _may_hold_another(text, at) else None
        stop = len(text) if inner is None else inner.start()
        found.append(Spoken(actor, pid, _unrepeated(text[at:stop])))
        if inner is None:
            return found
        at = stop


def _may_hold_another(text: str, at: int) -> bool:
    """Cheap: whether a prefix may stand in `text` from `at` on."""
    return text.find("pid=", at) >= 0 or ("pid=" in text and any(name in text for name in _SYSTEMS))


def without_transport(text: str) -> tuple[str, float | None]:
    """The line without a collector's timestamp in front of it, and that time (epoch seconds)."""
    stamp = _TRANSPORT.match(text)
    if stamp is None:
        return text, None
    return text[stamp.end() :], clock(stamp.group())


def clock(text: str) -> float | None:
    """Epoch seconds of the date and time at the start of a line; a clock without a zone counts as UTC."""
    found = _CLOCK.match(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found.group(i)) for i in range(1, 7))
    fraction = found.group(7)
    try:
        when = datetime(year, month, day, hour, minute, second, tzinfo=_zone(found.group(8)))
    except ValueError:
        return None
    return when.timestamp() + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)


def _zone(offset: str | None) -> timezone:
    if offset is None or offset == "Z":
        return UTC
    minutes = int(offset[1:3]) * 60 + int(offset[-2:])
    return timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))


def _who(prefix: re.Match[str]) -> tuple[str, int]:
    if prefix.group("system"):
        return prefix.group("system"), 0
    return (prefix.group("name") or "").strip(), int(prefix.group("pid") or 0)


def _unrepeated(text: str) -> str:
    return _REPEATED.sub("", text) if "[repeated " in text else text
