"""A comparison in the terminal."""

from __future__ import annotations

from rollprof.compare.comparison import Comparison, Row
from rollprof.render.bars import bar, place, upright
from rollprof.render.comparison import words
from rollprof.render.numbers import short_tokens
from rollprof.render.summary.page import Page, pad

_NAME = 22
_CELL = 12
_STYLES = {"real": "yellow", "perhaps": "yellow", "unknown": "dim", "noise": "dim", "same": "dim"}


def render(
    comparison: Comparison, *, width: int = 100, color: bool = False, unicode: bool = True, full: bool = False
) -> str:
    """What changed in generation time, figures side by side, lengths, settings. `full`: all figures."""
    page = Page(width)
    names = words.labels(comparison)
    for letter, side, name in zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", comparison.sides, names, strict=False):
        page.row((f"{letter} ", "bold"), (name, "bold"), f"  {side.run.steps} steps, {side.run.framework}")
    _generation(page, comparison)
    _figures(page, comparison, full)
    _lengths(page, comparison)
    _settings(page, comparison)
    return page.text(color=color, unicode=unicode)


def _letters(comparison: Comparison) -> list[str]:
    return [chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(len(comparison.sides))]


def _generation(page: Page, comparison: Comparison) -> None:
    for letter, found in zip(_letters(comparison)[1:], comparison.generation, strict=True):
        page.heading(f"From A to {letter}")
        page.add(words.generation(found), indent=2)
        if isinstance(found, str):
            continue
        largest = max((abs(p.seconds) for p in found.parts), default=0.0) or 1.0
        for one in found.parts:
            name, seconds, ends = words.part(one)
            style = "bold" if name == found.main else ""
            picture = bar(abs(one.seconds) / largest, 12)
            page.row(
                (pad(name, 24), style),
                pad(seconds, 10, right=True),
                f"  {picture}  ",
                (ends, "dim"),
                indent=2,
            )
        page.add((words.remark(found), "dim"), indent=2)


def _figures(page: Page, comparison: Comparison, full: bool) -> None:
    letters = _letters(comparison)
    page.heading("Figures", ("  90 % interval of the change; * times at matched response length", "dim"))
    cells = "".join(pad(letter, _CELL, right=True) for letter in letters)
    page.row((pad("", _NAME) + cells + "  change", "dim"), indent=2)
    shown = words.rows(comparison, full=full)
    for row in shown:
        _row(page, row, letters)
    left = len(comparison.rows) - len(shown)
    if left:
        page.add((f"--verbose shows {left} more figures", "dim"), indent=2)


def _row(page: Page, row: Row, letters: list[str]) -> None:
    """The changes of more than two runs stand below their figure, one a line."""
    cells = "".join(pad(words.value(f, row.unit), _CELL, right=True) for f in row.figures)
    start = pad(row.name, _NAME) + cells
    if len(row.changes) > 1:
        page.row(start, indent=2)
    for letter, change in zip(letters[1:], row.changes, strict=True):
        lead = f"{start}  " if len(row.changes) == 1 else pad(f"to {letter}", _NAME + 2, right=True) + "  "
        page.row(
            lead, (f"{words.short(change):<9}", _STYLES[change.word]), words.difference(change), indent=2
        )


def _lengths(page: Page, comparison: Comparison) -> None:
    overlay = comparison.lengths
    if overlay is None:
        return
    page.heading("Response length", f"  in {overlay.unit}, log scale, each run on its own scale")
    letters = _letters(comparison)
    for letter, shares in zip(letters, overlay.shares, strict=True):
        if not shares:
            continue
        counts = [round(share * 1_000_000) for share in shares]
        picture = upright(overlay.edges, counts, 60, 2)
        for i, line in enumerate(picture.rows):
            page.row((pad(letter if i == len(picture.rows) - 1 else "", 3), "bold"), line, indent=2)
    marks = [(0, short_tokens(overlay.edges[0])), (56, short_tokens(overlay.edges[-1]))]
    page.row(("   " + place(marks, 66), "dim"), indent=2)
    page.row(
        (pad("", 3) + "".join(pad(n, 9, right=True) for n, _ in words.quantile_rows(comparison)), "dim"),
        indent=2,
    )
    for i, letter in enumerate(letters):
        cells = "".join(pad(v[i], 9, right=True) for _, v in words.quantile_rows(comparison))
        page.row((pad(letter, 3), "bold"), cells, indent=2)


def _settings(page: Page, comparison: Comparison) -> None:
    page.heading("What changed in the configuration")
    if not comparison.settings:
        page.add("Nothing that the logs tell.", indent=2)
    for one in comparison.settings:
        values = " → ".join(words.setting(value) for value in one.values)
        page.add(f"{one.name}: {values}", indent=2, hang=4)
