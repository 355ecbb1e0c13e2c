"""The idle figures one under another, from what is truly dark to what is merely empty, and the phases."""

from __future__ import annotations

from rich.cells import cell_len

from rollprof.analyzers.results import Analysis, Figure
from rollprof.render import bars
from rollprof.render.numbers import ABSENT, figure_percent, percent
from rollprof.render.summary.headline import is_known, why
from rollprof.render.summary.page import Page, joined, pad
from rollprof.render.summary.waiting import wait_bases

LADDER: tuple[tuple[str, str], ...] = (
    ("engine_idle", "engines with nothing to run"),
    ("effective_idle", "what stragglers cost"),
    ("slot_idle", "decode slots without work"),
    ("throughput_idle", "capacity not used"),
    ("rollout_idle", "rollout side paused"),
    ("trainer_idle", "trainer waiting"),
    ("gpu_util_idle", "GPU samples below 5 %"),
    ("recoverable", "what balance could win back"),
)
"""Idle figures in the order they are shown, each with its reading in few words."""
CORE = ("engine_idle", "effective_idle", "slot_idle")
"""Shown even when absent."""
_STEP_TIME = "Step time: "


def ladder(page: Page, analysis: Analysis) -> None:
    """One line a figure: name, bar, value, basis, reading; then what the words for the basis mean."""
    reasons = {item.figure: why(item) for item in analysis.missing}
    shown = []
    for name, reading in LADDER:
        figure = analysis.figures.get(name)
        if name == analysis.headline:
            continue
        if figure is not None and is_known(figure):
            shown.append(figure)
            _rung(page, figure, reading)
        elif name in CORE:
            page.row(pad(name, 15), (joined((ABSENT, reasons.get(name, "")), ": "), "dim"), indent=2)
    page.legend([*(figure.basis for figure in shown), *wait_bases(analysis)], indent=2)


def _rung(page: Page, figure: Figure, reading: str) -> None:
    width = max(10, min(40, page.width - 70))
    if figure.value is None and figure.interval is not None:
        picture = bars.span(*figure.interval, width)
    else:
        picture = bars.bar(figure.value or 0.0, width)
    page.row(
        pad(figure.name, 15),
        (picture, "cyan"),
        pad(figure_percent(figure), 10, right=True),
        "  ",
        pad(figure.basis or "", 11),
        (reading, "dim"),
        indent=2,
    )


def phases(page: Page, analysis: Analysis) -> None:
    """Where the time of a step goes, largest first, as many as fit on one line."""
    shares = [(f.value, name, f.note) for name, f in analysis.phases.items() if f.value]
    ranked = sorted(shares, key=lambda item: -item[0])
    line = ""
    for share, name, note in ranked:
        longer = joined((line, _phase(name, share, note)))
        if cell_len(longer) > page.width - 2 - len(_STEP_TIME):
            break
        line = longer
    if line:
        page.row(_STEP_TIME, line, indent=2)


def _phase(name: str, share: float, note: str) -> str:
    words = name.removeprefix("phase_share_").removesuffix("_s").replace("_", " ")
    return f"{words} {percent(share, 0)}" + (" beside it" if note.startswith("beside") else "")
