"""A what-if in the terminal: what it stands on, the table with its Pareto front, and the advice."""

from __future__ import annotations

from collections.abc import Sequence

from rollprof.render.numbers import percent, plural, seconds
from rollprof.render.summary.page import Page, joined, pad
from rollprof.render.whatif_words import (
    NO_REMEDY,
    best_of_each,
    calibrated,
    label,
    steps_replayed,
    switch,
    unanswered,
)
from rollprof.whatif.results import PolicyResult, WhatIf

MIN_WIDTH, MAX_WIDTH = 60, 160
_Columns = tuple[tuple[str, int], ...]
_COLUMNS: _Columns = (
    ("speed-up", 9),
    ("95 %", 12),
    ("useful", 7),
    ("off-pol", 8),
    ("dropped", 8),
    ("length", 7),
)
_MORE: _Columns = (("oldest", 8), ("KS", 6), ("eff. idle", 11), ("step idle", 11), ("step", 10))
"""Where there is room: versions that the oldest trained token lies back, distance of trained and all
lengths, effective idle, idle of all GPUs over the step, seconds of a step."""
_LEAST_NAME = 26


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
                steps_replayed(found),
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
    labels = [label(p, short=not full) for p in shown]
    columns = _columns(page.width - 2, max(map(len, labels)), shown)
    name_width = min(page.width - 2 - sum(w for _, w in columns), max(*map(len, labels), _LEAST_NAME))
    page.row((f"  {pad('', name_width)}{''.join(pad(name, w, right=True) for name, w in columns)}", "dim"))
    for p, name in zip(shown, labels, strict=True):
        mark = "*" if p.pareto else "-" if not p.within_limits else " "
        style = "bold" if p.pareto else "dim" if not p.within_limits else ""
        if len(name) > name_width:  # parameters that do not fit stand above their figures
            page.row((f"{mark} {name}", style))
            mark, name = " ", ""
        page.row((f"{mark} {pad(name, name_width)}{_cells(p, columns)}", style))
    page.add(("* nothing gains more at as little off-policy share and bias", "dim"), indent=2, hang=4)
    if any(not p.within_limits for p in shown):
        page.add(("- beyond --max-off-policy or --max-bias", "dim"), indent=2, hang=4)
    if any(p.range is not None for p in shown):
        page.add(("? range over what the log leaves open, not an interval", "dim"), indent=2, hang=4)
    if len(columns) > len(_COLUMNS):
        page.add(
            ("oldest: versions a trained token lies back; KS: trained against all lengths", "dim"),
            indent=2,
            hang=4,
        )


def _columns(room: int, longest: int, shown: Sequence[PolicyResult]) -> _Columns:
    """The columns that stand beside names of this length; the last ones only where there is room for them,
    and something to say."""
    found = _COLUMNS
    for more in _MORE:
        if not any(_cells(p, (more,)).strip() for p in shown):
            continue
        if sum(w for _, w in (*found, more)) + max(longest, _LEAST_NAME) <= room:
            found = (*found, more)
    return found


def _cells(p: PolicyResult, columns: _Columns) -> str:
    ends = p.range or p.interval
    between = "" if ends is None or p.name == "baseline" else f"{ends[0]:.2f}–{ends[1]:.2f}"
    words = {
        "speed-up": "" if p.speedup is None else f"{p.speedup:.2f}x",
        "95 %": f"{between}{'?' if p.range and between else ''}",
        "useful": "" if p.useful_gain is None else f"{p.useful_gain:.2f}x",
        "off-pol": _share(p.off_policy_share),
        "dropped": _share(p.dropped_share),
        "length": "" if p.length_bias is None else f"{p.length_bias:.2f}",
        "oldest": "" if p.staleness_max is None else f"{p.staleness_max:,}",
        "KS": "" if p.length_ks is None else f"{p.length_ks:.2f}",
        "eff. idle": _share(p.effective_idle),
        "step idle": _share(p.step_idle),
        "step": "" if p.step_s is None else seconds(p.step_s),
    }
    return "".join(pad(words[name], w, right=True) for name, w in columns)


def _share(value: float | None) -> str:
    """A share in whole per cent: beside intervals as wide as these, more digits say nothing."""
    return "" if value is None else f"{100 * value:.0f} %"


def _missing(page: Page, found: WhatIf) -> None:
    for words in unanswered(found.policies):
        page.add((f"  {words}", "dim"), hang=6)


def _advice(page: Page, found: WhatIf, *, full: bool) -> None:
    page.heading("What would fix this run")
    for i, item in enumerate(found.advice):
        page.add(f"{i}. " if i else "", item.text, indent=2, hang=5)
        lines = [f"{k}: {v}" for k, v in item.enable.items()] if full else switch(item, found.framework)
        for line in lines:
            page.add(("→ ", "cyan"), line, indent=5, hang=7)
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
