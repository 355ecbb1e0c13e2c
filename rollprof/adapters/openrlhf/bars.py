"""States of tqdm's progress bars: `Generate samples:  62%|██████▎   | 5/8 [00:03<00:02,  1.47it/s, …]`.

The elapsed time is cut to whole seconds. When a bar closes, tqdm prints the rate over its whole life, with
two decimals: `8/8 [00:01<00:00,  4.27it/s]` took 8/4.27 = 1.874 s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)"
_BAR = re.compile(
    r"(?P<what>[A-Z][A-Za-z ]{2,40}?)(?: \[(?P<part>\d+)/(?P<parts>\d+)\])?:\s+"
    r"\d{1,3}%\|[^|\r\n]{0,400}\|\s*(?P<done>\d{1,12})/(?P<total>\d{1,12}) "
    r"\[(?P<elapsed>(?:\d{1,6}:)?\d{1,2}:\d\d)<[^,\]]*(?:,\s*(?P<rate>\d+\.?\d*|\?)\s?(?P<unit>\w{1,12}/s|s/\w{1,12}))?"
    r"(?:, (?P<extra>[^\]\r\n]*))?\]"
)
_ENDLESS = re.compile(
    r"(?P<what>[A-Z][A-Za-z ]{2,40}?)(?: \[(?P<part>\d+)/(?P<parts>\d+)\])?:\s+(?P<done>\d{1,12})\w{2,5} "
    r"\[(?P<elapsed>(?:\d{1,6}:)?\d{1,2}:\d\d),"
)
_EXTRA = re.compile(rf"(?P<key>[\w./]+)=(?P<value>{_NUMBER})(?=,|$)")
_SLACK = 0.02
"""Seconds by which the rate's two decimals may disagree with the whole seconds shown beside it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One state of a bar. `what` is its description, `part` of `parts` what stands in brackets behind it
    (`Episode [2/3]`). `total` is None where the bar overran it. `extra` are the numbers of the postfix."""

    what: str
    done: int
    total: int | None
    elapsed: int
    seconds: float | None
    """`done` over the rate, where the elapsed whole seconds agree with it."""
    part: int | None = None
    parts: int | None = None
    extra: Mapping[str, float] = field(default_factory=dict)


def parse_bars(text: str) -> Iterator[Bar]:
    """The states of progress bars that a line begins with, in order; nothing for any other line."""
    if "[" not in text or ": " not in text:
        return
    text = text.strip()
    match = _BAR.match(text)
    if match is None:
        endless = _ENDLESS.match(text)
        if endless is not None:
            part, parts = _int(endless["part"]), _int(endless["parts"])
            elapsed = _whole_seconds(endless["elapsed"])
            yield Bar(endless["what"], int(endless["done"]), None, elapsed, None, part, parts)
    while match is not None:
        yield _bar(match, int(match["total"]))
        match = _BAR.match(text, match.end())


def _bar(match: re.Match[str], total: int) -> Bar:
    done, elapsed = int(match["done"]), _whole_seconds(match["elapsed"])
    return Bar(
        match["what"],
        done,
        total,
        elapsed,
        _seconds(done, elapsed, match["rate"], match["unit"]),
        _int(match["part"]),
        _int(match["parts"]),
        {m["key"]: float(m["value"]) for m in _EXTRA.finditer(match["extra"] or "")},
    )


def _seconds(done: int, elapsed: int, rate: str | None, unit: str | None) -> float | None:
    if rate in (None, "?") or unit is None or done == 0:
        return None
    value = float(rate or 0)
    if value <= 0:
        return None
    seconds = done * value if unit.startswith("s/") else done / value
    rounding = seconds * 0.005 / value
    return seconds if elapsed - _SLACK - rounding <= seconds <= elapsed + 1 + _SLACK + rounding else None


def _whole_seconds(text: str) -> int:
    seconds = 0
    for part in text.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds


def _int(text: str | None) -> int | None:
    return None if text is None else int(text)
