"""The verdict as Markdown: for the summary of a GitHub job, or a comment."""

from __future__ import annotations

import re

from rollprof.gate.verdict import Outcome, Verdict
from rollprof.render.text import clean
from rollprof.render.verdict import words

_MARKS = {
    "broken": "❌ broken",
    "no value": "❌ no value",
    "warning": "⚠️ warning",
    "undecided": "⚠️ undecided",
    "holds": "✅ holds",
    "skipped": "➖ skipped",
}


def render(verdict: Verdict) -> str:
    """A heading and a table, worst first; ends with an empty line, so that more may follow."""
    head = ["### rollprof check", "", words.tally(verdict) + ".", ""]
    rows = ["| | figure | found | limit | details |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows, *(_row(o) for o in verdict.worst_first)]) + "\n\n"


def _row(outcome: Outcome) -> str:
    nothing = outcome.status in ("unknown", "skipped")
    cells = (
        _MARKS[words.status(outcome)],
        f"`{outcome.figure}`",
        "–" if nothing else f"{outcome.rule.aggregate or 'run'} {words.found(outcome)}",
        words.limit(outcome),
        "; ".join(([words.comparison(outcome)] if nothing else []) + words.details(outcome)),
    )
    return f"| {' | '.join([cells[0], cells[1], *(escape(cell) for cell in cells[2:])])} |"


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~@&])")


def escape(text: str) -> str:
    """Text as Markdown shows it literally, on one line: no markup, link, mention or cell comes of it."""
    return _SPECIAL.sub(r"\\\1", clean(text))
