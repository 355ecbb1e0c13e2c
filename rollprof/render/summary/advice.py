"""What to look at next: findings with their next step, then what this log cannot say."""

from __future__ import annotations

from collections.abc import Sequence

from rollprof.analyzers.results import Analysis, Finding, Missing
from rollprof.render.numbers import plural
from rollprof.render.summary.headline import is_known, reason
from rollprof.render.summary.page import Page, joined

_ORDER = ("alarm", "high", "medium", "low", "info")
_MARK = {"alarm": ("!!", "bold red"), "high": ("! ", "yellow"), "medium": ("- ", ""), "low": ("- ", "dim")}


def advice(page: Page, analysis: Analysis, limit: int) -> None:
    """The `limit` most severe findings; a healthy run is told so."""
    page.heading("What to look at next")
    found = sorted(analysis.findings, key=lambda f: _ORDER.index(f.severity))
    if not found:
        known = is_known(analysis.figures.get(analysis.headline))
        page.add("Nothing stands out." if known else "The log says too little to tell.", indent=2)
    for finding in found[:limit]:
        _finding(page, finding)


def _finding(page: Page, finding: Finding) -> None:
    mark, style = _MARK.get(finding.severity, ("- ", "dim"))
    page.add((mark, style), " ", finding.text, indent=2, hang=5)
    if finding.next:
        page.add(("→ ", "cyan"), finding.next, indent=5, hang=7)


def missing(page: Page, analysis: Analysis, limit: int, *, full: bool) -> None:
    """Absent figures with the reason and the option that would bring them, one line a reason."""
    groups = _grouped(analysis.missing)[:limit]
    if groups:
        page.heading("Not in this log")
    for names, item in groups:
        page.add(_names(names), (f": {reason(item, full=full)}", "dim"), indent=2, hang=4)


def left_out(page: Page, analysis: Analysis, *, findings: int, absent: int) -> None:
    """The line that says what a page with these limits does not show."""
    more = len(analysis.findings) - findings
    figures = sum(len(names) for names, _ in _grouped(analysis.missing)[absent:])
    words = joined(
        (
            plural(more, "more finding") if more > 0 else "",
            f"{plural(figures, 'more figure' if absent else 'figure')} not in this log" if figures else "",
        ),
        " and ",
    )
    if words:
        page.row((f"--verbose shows {words}", "dim"))


def _grouped(items: Sequence[Missing]) -> list[tuple[list[str], Missing]]:
    """Figures that are absent for the same reason share a line; those with a remedy come first."""
    groups: dict[tuple[str, str], tuple[list[str], Missing]] = {}
    for item in items:
        groups.setdefault((item.why, item.enable), ([], item))[0].append(item.figure)
    return sorted(groups.values(), key=lambda group: not group[1].enable)


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
