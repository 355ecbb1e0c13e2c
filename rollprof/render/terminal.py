"""The summary that `analyze` prints: from it, somebody who has never seen rollprof can say what share of
GPU time was idle, how sure that is, and what to look at next."""

from __future__ import annotations

from dataclasses import dataclass

from rollprof.analyzers.results import Analysis
from rollprof.render.summary.advice import advice, left_out, missing
from rollprof.render.summary.difficulty import By, difficulty
from rollprof.render.summary.engines import engines
from rollprof.render.summary.header import header, place
from rollprof.render.summary.headline import headline
from rollprof.render.summary.ladder import ladder, phases
from rollprof.render.summary.lengths import lengths
from rollprof.render.summary.page import Page
from rollprof.render.summary.waiting import waiting

MIN_WIDTH, MAX_WIDTH = 60, 160


@dataclass(frozen=True, slots=True)
class Density:
    """How much of each part is shown."""

    histogram: int
    """Rows of the histogram."""
    worst: int
    findings: int
    missing: int
    ticks: bool = True
    tail: bool = True
    phases: bool = True
    engines: int = 4


EVERYTHING = Density(histogram=8, worst=10, findings=1000, missing=1000, engines=1000)
DENSITIES: tuple[Density, ...] = (
    Density(6, 3, 4, 3),
    Density(5, 3, 3, 2),
    Density(4, 2, 3, 1),
    Density(4, 2, 2, 1),
    Density(4, 2, 2, 0, engines=2),
    Density(4, 1, 1, 0, engines=2),
    Density(4, 1, 1, 0, tail=False, engines=2),
    Density(4, 1, 1, 0, tail=False, phases=False, engines=2),
    Density(3, 1, 1, 0, tail=False, phases=False, engines=1),
    Density(3, 1, 1, 0, ticks=False, tail=False, phases=False, engines=0),
    Density(2, 1, 1, 0, ticks=False, tail=False, phases=False, engines=0),
    Density(2, 0, 1, 0, ticks=False, tail=False, phases=False, engines=0),
)
"""From roomy to tight; the first that fits the screen is used."""
SCREEN = 39
"""Lines that fit a screen of 40 together with the prompt."""


def render(
    analysis: Analysis,
    *,
    width: int = 80,
    height: int = SCREEN,
    color: bool = False,
    unicode: bool = True,
    full: bool = False,
    by: By = "bucket",
) -> str:
    """The summary as text, lines at most `width` cells wide (60 to 160), at most `height` lines where
    that can be done. `full` shows everything; `by` chooses the rows of the
    difficulty table. Without `color` the text has no escape sequence;
    without `unicode` it is ASCII."""
    width = min(max(width, MIN_WIDTH), MAX_WIDTH)
    page = Page(width)
    for density in (EVERYTHING,) if full else DENSITIES:
        page = _compose(analysis, width, density, full, by)
        if len(page.lines) <= height:
            break
    return page.text(color=color, unicode=unicode)


def _compose(analysis: Analysis, width: int, density: Density, full: bool, by: By) -> Page:
    page = Page(width)
    header(page, analysis)
    headline(page, analysis)
    ladder(page, analysis)
    if density.phases:
        phases(page, analysis)
    lengths(page, analysis, height=density.histogram, ticks=density.ticks, tail=density.tail)
    waiting(page, analysis, density.worst)
    engines(page, analysis, density.engines)
    difficulty(page, analysis, by, notes=density.tail)
    if full and by == "bucket" and any(row.get("dataset") for row in analysis.difficulty):
        difficulty(page, analysis, "dataset", notes=False)
    advice(page, analysis, density.findings)
    missing(page, analysis, density.missing, full=full)
    left_out(page, analysis, findings=density.findings, absent=density.missing)
    if full:
        _problems(page, analysis)
    return page


def _problems(page: Page, analysis: Analysis) -> None:
    problems = list(analysis.ledger.get("problems", ()))
    if not problems:
        return
    page.heading("What was wrong with the input")
    for problem in problems:
        page.add(f"{problem.get('kind', '')} {place(problem, limit=200)}", indent=2, hang=4)
