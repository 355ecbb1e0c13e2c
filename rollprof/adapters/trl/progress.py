"""Where a trainer's console says which step it is: tqdm bars and the rich panels of completions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BAR = re.compile(r"(?<![\d/.])(\d{1,9})/(\d{1,9}) \[((?:\d+:)?\d{1,2}:\d{2})<")
_NAME = re.compile(r"([A-Za-z][^:|\r\n%]{0,60}): {0,3}(?:\d{1,3}%\|[^|\r\n]{0,400}\| ?)?$")
_PANEL = re.compile(r"╭─+ Step (?P<step>\d{1,9}) ─+╮")

ELAPSED = "progress/elapsed_s"
"""Key under which the clock of the training bar is kept: whole seconds since training started."""

LONGEST_BAR = 480
"""Characters that a bar's name and its drawing take."""

TRAINING_BARS = ("train", "training", "steps", "step")
"""What the bar over the training steps is called: transformers leaves it without a name."""


class Bar(NamedTuple):
    """A progress bar as drawn at one moment: `done` of `total` steps after `elapsed` whole seconds.

    `at` is its place in the text, `offset` that of its physical line in the file.
    """

    at: int
    done: int
    total: int
    elapsed: int
    offset: int = 0


class Panel(NamedTuple):
    """The head of a table of completions; it follows the dict of the same step."""

    at: int
    step: int


def find_bars(text: str, offset: int = 0) -> Iterator[Bar]:
    """Bars without a name of their own (model loading and the like have one)."""
    if "<" not in text or "[" not in text:
        return
    for match in _BAR.finditer(text):
        name = _NAME.search(text, max(0, match.start() - LONGEST_BAR), match.start())
        if name is None or name.group(1).strip().lower() in TRAINING_BARS:
            done, total, clock = match.groups()
            yield Bar(match.start(), int(done), int(total), _seconds(clock), offset)


def find_panels(text: str) -> Iterator[Panel]:
    """Heads of completion tables."""
    for match in _PANEL.finditer(text):
        yield Panel(match.start(), int(match["step"]))


_SPOKEN = re.compile(r"(?:(\d+)d)?\s*(?:(\d+)h)?\s*(?:(\d+)m)?\s*(?:(\d+)s)?$")


def spoken_seconds(text: str) -> float | None:
    """Seconds of ms-swift's `1h 2m 3s`; None for any other text."""
    match = _SPOKEN.match(text.strip())
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _seconds(clock: str) -> int:
    total = 0
    for part in clock.split(":"):
        total = 60 * total + int(part)
    return total
