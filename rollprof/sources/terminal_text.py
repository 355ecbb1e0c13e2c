"""What a terminal would make of a line: escape sequences removed, redrawing undone."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movement (the last byte may be cut off)
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|\Z)"  # OSC: window titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\|\Z)"  # DCS and the like
    r"|\x1b[ -/]*[0-~]?"  # all other escapes
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI in one byte
    r"|\^\[\[[0-9;]*[mK]"  # as `cat -v` and some web logs write it
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]|\\^\\[\\[")
"""Finds any character that makes a line need cleaning."""

MARK = "\x01"
"""Stands for the colour code in front of a coloured prefix, which no text can imitate."""

_COLOURED = re.compile(
    r"(?:\x1b\[[0-9;]*m)+(?=\([^()\r\n]{0,200}(?:\([^()\r\n]{0,80}\)[^()\r\n]{0,80})?\)\x1b\[)"
)

_BAR = re.compile(
    r"(?:[^|\r\n]{0,200}?:\s+|\s*)"  # description
    r"(?:\d{1,3}%\|[^|\r\n]{0,400}\|\s*)?"  # the bar itself
    r"[\d.,]+[kMGT]?(?:/[\d.,?]+[kMGT]?)?(?:\s?\w{1,20})?\s*"  # done, total, unit
    r"\[\d[\d:]*(?:<[\d:?]+(?:\s?days?,\s?[\d:]+)?)?(?:,[^\]\r\n]{0,300})?\]"  # elapsed, remaining, rate
)


def strip_escapes(text: str) -> str:
    """`text` without terminal escape sequences; carriage returns stay, coloured prefixes get a MARK."""
    return _ESCAPE.sub("", _COLOURED.sub(MARK, text.replace(MARK, "")))


def strip_controls(text: str) -> str:
    """`text` without control characters, tabs apart."""
    return _CONTROL.sub("", text)


def is_bar(text: str) -> bool:
    """Whether this is the state of a progress bar and nothing else."""
    return bool(text) and _BAR.fullmatch(text.strip()) is not None


def visible(text: str) -> list[str]:
    """What is left to read of a line with carriage returns and progress bars, in order, cleaned.

    Each part overwrites the one before, so the last one counts. A bar does not hide the text that stands
    before its first redraw, and text that follows a bar without a line break is parted from it. [] where
    nothing is left.
    """
    parts = drawn(text)
    if not parts:
        return []
    shown = [parts[-1]]
    if is_bar(parts[-1]):
        said = [p for p in parts if not is_bar(p)]
        shown = said[-1:] + shown
    elif len(parts) > 1 and _glued(text, parts[-2], parts[-1]):
        shown = [parts[-2], *shown]
    return shown


def drawn(text: str) -> list[str]:
    """Everything that a line with carriage returns showed at some time, in order, cleaned: each state of a
    progress bar, and the texts between them."""
    return [p for part in text.split("\r") for p in _part_bar(strip_controls(part)) if p.strip()]


def _part_bar(part: str) -> list[str]:
    """A bar and the text glued to its end."""
    if "[" not in part:
        return [part]
    bar = _BAR.match(part)
    if bar is None or ("%|" not in bar.group() and "?" not in bar.group()):
        return [part]
    rest = part[bar.end() :]
    return [bar.group(), rest] if rest.strip() else [part]


def _glued(text: str, bar: str, rest: str) -> bool:
    return is_bar(bar) and bar + rest in text
