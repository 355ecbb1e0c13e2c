"""The verdict in the terminal: one line a rule with what was found and the limit, then how sure that is."""

from __future__ import annotations

from rollprof.gate.verdict import Outcome, Verdict
from rollprof.render.summary.page import Page, Span, joined
from rollprof.render.verdict import words

_STYLES = {"broken": "red", "no value": "red", "warning": "yellow", "undecided": "yellow", "holds": "green"}
_STATUS_WIDTH = 10


def render(
    verdict: Verdict, *, root: str = "", width: int = 100, color: bool = False, unicode: bool = True
) -> str:
    """Rules in their order, then the count of each outcome. Without `color` no escape sequence."""
    page = Page(max(width, 60))
    for outcome in verdict.outcomes:
        _rule(page, outcome, root)
    page.add(*_last(verdict))
    return page.text(color=color, unicode=unicode)


def _rule(page: Page, outcome: Outcome, root: str) -> None:
    status = words.status(outcome)
    style = _STYLES.get(status, "dim")
    page.add(
        (f"{status:<{_STATUS_WIDTH}}", style),
        (outcome.figure, "bold"),
        f"  {words.comparison(outcome)}",
        hang=_STATUS_WIDTH,
    )
    page.add((joined(words.details(outcome)), "dim"), indent=_STATUS_WIDTH)
    if status not in ("holds", "skipped"):
        page.add((words.place(outcome, root), "dim"), indent=_STATUS_WIDTH)


def _last(verdict: Verdict) -> tuple[Span, ...]:
    tally = (words.tally(verdict), "bold")
    if verdict.failed and verdict.policy.exit_zero:
        return tally, "; exit 0 as --exit-zero asks"
    return (tally,)
