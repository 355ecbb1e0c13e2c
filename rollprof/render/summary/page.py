"""The sheet that the parts of the summary write on: wraps, cleans and colours their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from rollprof.analyzers.results import Basis
from rollprof.render.text import clean, to_ascii

Span = str | tuple[str, str]
"""Text, or text with a style (`bold`, `dim`, `cyan`, `yellow`, `red`)."""

NBSP = "\u00a0"
"""Holds words together while lines are broken; goes out as a plain space."""
_SHORT = 26
_NUMBER_AND_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|d|x)(?:\W|$))")

GLOSSES: dict[Basis, str] = {
    "measured": "clocks in the log saw it",
    "logged": "the framework's own timers",
    "calibrated": "lengths replayed on a decode cost fitted to this run's times",
    "modelled": "estimated from lengths alone",
}
"""What each basis means, for somebody who meets the word for the first time."""


class Page:
    """Lines of the summary, at most `width` cells wide. Everything added is cleaned of control sequences."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[Text] = []
        self._glossed: set[Basis] = set()

    def add(self, *spans: Span, indent: int = 0, hang: int | None = None) -> None:
        """A paragraph: broken at spaces, first line indented by `indent`, the others by `hang`.

        An empty one adds nothing.
        """
        text = _text(spans)
        margin = indent
        while text.plain.strip():
            cut, after = _break(text.plain, self.width - margin)
            line = text[:cut]
            line.rstrip()
            self.lines.append(Text(" " * margin) + line)
            text = text[after:] if after < len(text.plain) else Text()
            margin = indent if hang is None else hang

    def row(self, *spans: Span, indent: int = 0) -> None:
        """One line, cut at the width: a picture or a row of a table."""
        text = Text(" " * indent) + _text(spans)
        text.rstrip()
        text.truncate(self.width, overflow="ellipsis")
        self.lines.append(text)

    def code(self, line: str, indent: int = 2) -> None:
        """A line to be copied: neither wrapped nor cut, its blanks as they are."""
        self.lines.append(Text(" " * indent + clean(line)))

    def heading(self, title: str, *spans: Span) -> None:
        self.lines.append(Text())
        self.add((title, "bold"), *spans)

    def basis(self, basis: Basis | None) -> str:
        """The word, with its meaning the first time it is used on this page."""
        if basis is None or basis in self._glossed:
            return basis or ""
        self._glossed.add(basis)
        return f"{basis} ({GLOSSES[basis]})"

    def legend(self, bases: Iterable[Basis | None], indent: int = 0) -> None:
        """Meanings of those of the words that no sentence has explained yet, on a line of their own."""
        new = sorted({b for b in bases if b is not None} - self._glossed, key=list(GLOSSES).index)
        self._glossed.update(new)
        self.add((joined(f"{basis}: {GLOSSES[basis]}" for basis in new), "dim"), indent=indent)

    def text(self, *, color: bool, unicode: bool) -> str:
        """The page as it goes to the terminal; without `color` there is no escape sequence in it."""
        out = StringIO()
        console = Console(
            file=out,
            width=self.width,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            highlight=False,
            legacy_windows=False,
            _environ={},
        )
        for line in self.lines:
            console.print(line, soft_wrap=True)
        text = out.getvalue().replace(NBSP, " ")
        return text if unicode else to_ascii(text)


def _text(spans: Iterable[Span]) -> Text:
    text = Text(end="")
    for span in spans:
        words, style = (span, "") if isinstance(span, str) else span
        text.append(_NUMBER_AND_UNIT.sub(NBSP, clean(words)), style or None)
    return text


def _break(text: str, width: int) -> tuple[int, int]:
    """Where to cut `text` to fit `width` cells, and where the rest begins."""
    if cell_len(text) <= width:
        return len(text), len(text)
    fits = 0
    while fits < len(text) and cell_len(text[: fits + 1]) <= width:
        fits += 1
    space = text.rfind(" ", 1, fits + 1)
    if space <= 0 or not text[:space].strip():
        return max(fits, 1), max(fits, 1)
    after = space
    while after < len(text) and text[after] == " ":
        after += 1
    return space, after


def pad(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` cells (wide characters count double); numbers go to the right."""
    text = clean(text)
    if cell_len(text) > width:
        return set_cell_size(text, max(width - 1, 0)) + "…"
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


def joined(parts: Iterable[str], separator: str = " · ") -> str:
    """The parts that are not empty, with a middle dot between; short parts do not break."""
    held = (part.replace(" ", NBSP) if len(part) <= _SHORT else part for part in parts if part)
    return separator.replace(" ·", f"{NBSP}·").join(held)
