"""The first screen: one figure, one sentence, how sure it is, and the idle figures one under another."""

from __future__ import annotations

from rollprof.analyzers.results import Analysis, Figure
from rollprof.render.numbers import ABSENT, figure_percent, percent
from rollprof.render.report.model import Cell, Headline, Split, Table
from rollprof.render.summary.headline import certainty, is_known, reason, sentence, why, why_missing
from rollprof.render.summary.ladder import CORE, LADDER
from rollprof.render.summary.page import Page, joined


def headline(analysis: Analysis) -> Headline:
    """What the report opens with; where the log cannot tell, what would bring it."""
    figure = analysis.figures.get(analysis.headline)
    ladder = _ladder(analysis)
    if figure is None or not is_known(figure):
        item = why_missing(analysis)
        words = "This log does not say how much GPU time was idle."
        return Headline(ABSENT, analysis.headline, "", words, reason(item) if item else "", None, ladder)
    sure = certainty(Page(80), figure).removeprefix("How sure: ")
    return Headline(
        figure_percent(figure),
        figure.name,
        figure.basis or "",
        sentence(analysis),
        sure,
        _split(analysis, figure),
        ladder,
    )


def _split(analysis: Analysis, figure: Figure) -> Split | None:
    """Generation inside the step and what is lost inside generation; only where they do nest."""
    share = analysis.figures.get("generation_share")
    beside = any(f.note.startswith("beside") for f in analysis.phases.values() if f.name.endswith("generate"))
    if figure.name != "step_idle" or figure.value is None or share is None or share.value is None or beside:
        return None
    if figure.value > share.value:
        return None
    generation, lost = percent(share.value, 0), figure_percent(figure)
    others = [(f.value, f.name) for f in analysis.phases.values() if f.value and f.name != _GENERATE]
    ranked = [phase_name(name) for _, name in sorted(others, key=lambda item: -item[0])[:3]]
    rest = f" The rest is {', '.join(ranked)}." if ranked else ""
    return Split(
        "an average step",
        (("generating", share.value, generation), ("waiting for stragglers", figure.value, lost)),
        f"Of an average step, {generation} is spent generating; {lost} of the step is GPU time lost to "
        f"stragglers inside it.{rest}",
    )


_GENERATE = "phase_share_generate"


def phase_name(name: str) -> str:
    """`phase_share_old_logprob` or `old_logprob_s` as `old logprob`."""
    return name.removeprefix("phase_share_").removesuffix("_s").replace("_", " ")


def _ladder(analysis: Analysis) -> Table:
    reasons = {item.figure: why(item) for item in analysis.missing}
    rows = []
    for name, reading in LADDER:
        figure = analysis.figures.get(name)
        if figure is not None and is_known(figure):
            low, high = (0.0, figure.value) if figure.value is not None else figure.interval or (0.0, 0.0)
            rows.append(
                (
                    Cell(name, "figure"),
                    Cell(figure_percent(figure), "number", (low, high)),
                    Cell(figure.basis or "", "basis"),
                    Cell(joined((reading, figure.note), "; "), "quiet"),
                )
            )
        elif name in CORE:
            words = joined((ABSENT, reasons.get(name, "")), ": ")
            rows.append((Cell(name, "figure"), Cell("–", "number"), Cell("", "basis"), Cell(words, "quiet")))
    return Table(
        ("figure", "idle share", "basis", "how to read it"),
        tuple(rows),
        "Idle has several definitions. From what is truly dark to what is merely empty:",
    )
