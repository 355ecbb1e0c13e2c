"""A what-if in the terminal: what it stands on, the table with its Pareto front, and the advice."""

from __future__ import annotations

from rollprof.render.numbers import interval_decimals, percent, plural, seconds
from rollprof.render.summary.page import Page, joined, pad
from rollprof.render.whatif_words import NO_REMEDY, best_of_each, calibrated, label, unanswered
from rollprof.whatif.results import PolicyResult, WhatIf

MIN_WIDTH, MAX_WIDTH = 60, 160
_COLUMNS = (("speed-up", 9), ("95 %", 12), ("useful", 7), ("off-pol", 8), ("dropped", 8), ("length", 7))


def render(
    found: WhatIf,
    *,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    full: bool = False,
) -> str:
    """The what-if as text, lines at most `width` cells wide. Without `full`, the best parameters of each
    policy; with it all that were tried, every note, and options for other frameworks."""
    page = Page(min(max(width, MIN_WIDTH), MAX_WIDTH))
    _header(page, found)
    _table(page, found, full=full)
    _missing(page, found)
    _advice(page, found, full=full)
    _notes(page, found, full=full)
    return page.text(color=color, unicode=unicode)


def _header(page: Page, found: WhatIf) -> None:
    page.add(
        ("What if", "bold"),
        "  ",
        joined(
            (
                plural(found.steps, "step"),
                plural(found.rollouts, "rollout"),
                plural(found.engines, "engine"),
                f"{found.slots:,} slots each" if found.slots else "",
            )
        ),
    )
    c, b = found.calibration, found.baseline
    took = (
        f"{seconds(b.step_s)} {'a step' if found.whole_step else 'of generation a step'}, "
        if b.step_s
        else ""
    )
    page.add(
        f"simulated baseline: {took}idle: engines {percent(b.engine_idle)}, effective "
        f"{percent(b.effective_idle)}, slots {percent(b.slot_idle)}",
        indent=2,
        hang=4,
    )
    page.add(calibrated(c), indent=2, hang=4)
    if c.rough:
        page.add(("rough: ", "yellow"), c.rough, indent=2, hang=4)


def _table(page: Page, found: WhatIf, *, full: bool) -> None:
    shown = [p for p in found.policies if p.speedup is not None]
    if not full:
        shown = best_of_each(shown)
    what = "whole step" if found.whole_step else "generation"
    page.heading("Policies", f"  {what}; useful: trained tokens per second; length: trained/all")
    name_width = max(page.width - 4 - sum(w for _, w in _COLUMNS), 20)
    head = "".join(pad(name, w, right=True) for name, w in _COLUMNS)
    page.row((f"  {pad('', name_width)}{head}", "dim"))
    for p in shown:
        mark = "*" if p.pareto else "-" if not p.within_limits else " "
        style = "bold" if p.pareto else "dim" if not p.within_limits else ""
        page.row((f"{mark} {pad(label(p), name_width)}{_cells(p)}", style))
    page.row(("* nothing gains more at as little off-policy share and bias", "dim"), indent=2)
    if any(not p.within_limits for p in shown):
        page.row(("- beyond --max-off-policy or --max-bias", "dim"), indent=2)


def _cells(p: PolicyResult) -> str:
    ends = p.range or p.interval
    decimals = 2 if ends is None else min(max(interval_decimals(*ends), 2), 2)
    between = "" if ends is None or p.name == "baseline" else f"{ends[0]:.{decimals}f}–{ends[1]:.{decimals}f}"
    words = (
        "" if p.speedup is None else f"{p.speedup:.2f}x",
        f"{between}{'?' if p.range and between else ''}",
        "" if p.useful_gain is None else f"{p.useful_gain:.2f}x",
        "" if p.off_policy_share is None else percent(p.off_policy_share),
        "" if p.dropped_share is None else percent(p.dropped_share),
        "" if p.length_bias is None else f"{p.length_bias:.2f}",
    )
    return "".join(pad(word, w, right=True) for word, (_, w) in zip(words, _COLUMNS, strict=True))


def _missing(page: Page, found: WhatIf) -> None:
    for words in unanswered(found.policies):
        page.add((f"  {words}", "dim"), hang=6)


def _advice(page: Page, found: WhatIf, *, full: bool) -> None:
    page.heading("What would fix this run")
    for i, item in enumerate(found.advice):
        page.add(f"{i}. " if i else "", item.text, indent=2, hang=5)
        shown = item.enable if full else {k: v for k, v in item.enable.items() if k == found.framework}
        for framework, option in shown.items():
            page.add(("→ ", "cyan"), f"{framework}: {option}", indent=5, hang=7)
    if len(found.advice) == 1:
        page.add(NO_REMEDY, indent=2)


def _notes(page: Page, found: WhatIf, *, full: bool) -> None:
    page.heading("Taken for granted")
    for note in found.notes:
        page.add((note, "dim"), indent=2, hang=4)
    if full:
        for p in found.policies:
            for note in p.notes:
                page.add((f"{label(p)}: {note}", "dim"), indent=2, hang=4)
