"""The headline: which share of GPU time was idle, in one figure, one sentence, and how sure that is."""

from __future__ import annotations

import re

from rollprof.analyzers.results import Analysis, Figure, Missing
from rollprof.render.numbers import (
    ABSENT,
    decimals_of,
    figure_percent,
    gpu_time,
    is_wide,
    percent,
    percent_range,
    plural,
)
from rollprof.render.summary.page import Page, joined

_OF = {
    "step_idle": "of GPU time",
    "generation_idle": "of GPU time in generation",
    "trainer_idle": "of the trainer's time",
}
_BOUND = {"upper": "at most ", "lower": "at least "}
_BOUND_MEANS = {
    "upper": "an upper bound, the true share may be lower",
    "lower": "a lower bound, the true share may be higher",
}


def headline(page: Page, analysis: Analysis) -> None:
    """Heading with the figure, the sentence, and how sure it is."""
    figure = analysis.figures.get(analysis.headline)
    if figure is None or not is_known(figure):
        page.heading("GPU-idle fraction  ", ABSENT)
        page.add(_why_absent(analysis), indent=2)
        return
    page.heading("GPU-idle fraction  ", (figure_percent(figure), "bold cyan"), (f"  {figure.name}", "dim"))
    page.add(sentence(analysis), indent=2)
    page.add(certainty(page, figure), indent=2)


def is_known(figure: Figure | None) -> bool:
    """A value or at least a bracket."""
    return figure is not None and (figure.value is not None or figure.interval is not None)


def sentence(analysis: Analysis) -> str:
    """The headline in words, adapted to what is known."""
    figure = analysis.figures[analysis.headline]
    of = _OF.get(figure.name, "of GPU time")
    decimals = decimals_of(figure)
    if figure.name == "trainer_idle":
        main = f"{_amount(figure, decimals)} {of} spent waiting for rollouts"
    else:
        main = f"{_amount(figure, decimals)} {of} lost to stragglers"
    return f"{_capital(main)}{_details(analysis, figure, decimals)}.{_lost(analysis)}"


def _amount(figure: Figure, decimals: int) -> str:
    if figure.value is None and figure.interval is not None:
        low, dash, high = percent_range(*figure.interval).removesuffix(" %").partition("–")
        return f"between {low} % and {high} %" if dash else f"{low} %"
    return f"{_BOUND.get(figure.bound or '', '')}{percent(figure.value or 0.0, decimals)}"


def _details(analysis: Analysis, headline: Figure, decimals: int) -> str:
    engine, slot = (analysis.figures.get(name) for name in ("engine_idle", "slot_idle"))
    parts = []
    if engine is not None and is_known(engine):
        low = (engine.interval[0] if engine.interval is not None else engine.value) or 0.0
        if low > 0:
            parts.append(f"at least {percent(low, decimals)} truly idle")
    if slot is not None and is_known(slot) and not _same(slot, headline):
        parts.append(f"{_amount(slot, decimals)} of decode slots empty")
    if not parts:
        return ""
    # These are shares of generation time; the headline may be one of the whole step.
    return f" ({'in generation: ' if headline.name == 'step_idle' else ''}{', '.join(parts)})"


def _same(a: Figure, b: Figure) -> bool:
    return (a.value, a.interval) == (b.value, b.interval)


def _lost(analysis: Analysis) -> str:
    lost, cost = analysis.figures.get("gpu_hours_lost"), analysis.figures.get("cost_lost")
    if lost is None or not is_known(lost):
        return ""
    bound = _BOUND.get(lost.bound or "", "")
    hours = gpu_time(lost.value) if lost.value is not None else gpu_time(*(lost.interval or (0.0, 0.0)))
    price = f", {_price(cost)} at your price" if cost is not None and is_known(cost) else ""
    return f" {_capital(bound + hours)} lost{price}."


def _price(cost: Figure) -> str:
    if cost.value is not None:
        return f"{cost.value:,.2f}"
    low, high = cost.interval or (0.0, 0.0)
    return f"{low:,.2f} to {high:,.2f}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def certainty(page: Page, figure: Figure) -> str:
    """`How sure:` interval, bound, basis with its meaning, steps, and the remark that belongs to it."""
    return "How sure: " + joined(
        (
            _interval(figure),
            _BOUND_MEANS.get(figure.bound or "", ""),
            page.basis(figure.basis) or "basis unknown",
            plural(figure.n, "step") if figure.n else "",
            figure.note,
        ),
        "; ",
    )


def _interval(figure: Figure) -> str:
    if figure.interval is None:
        return ""
    if figure.value is None:
        return "only a range can be given"
    if figure.bound is not None or not is_wide(figure.interval):
        return ""
    return f"90 % interval {percent_range(*figure.interval)}"


def _why_absent(analysis: Analysis) -> str:
    item = why_missing(analysis)
    return reason(item) if item is not None else ""


def why_missing(analysis: Analysis) -> Missing | None:
    """The reason that is nearest to an absent headline."""
    reasons = {item.figure: item for item in analysis.missing}
    asked = (analysis.headline, "step_idle", "generation_idle")
    return next((reasons[name] for name in asked if name in reasons), None)


_BETWEEN_WAYS = re.compile(r"; (?![^()]*\))")
"""A semicolon outside of parentheses."""


def reason(item: Missing, *, full: bool = False) -> str:
    """Why a figure is absent and what would bring it: the first way, or all of them."""
    ways = item.enable if full else _BETWEEN_WAYS.split(item.enable)[0]
    return joined((why(item), f"to get it: {ways}" if ways else ""), "; ")


def why(item: Missing) -> str:
    """The reason alone; the words around it say already that the figure is not in this log."""
    return item.why.removeprefix(ABSENT).removeprefix(": ")
