"""What to do next, what the log could not tell, and how whole it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.analyzers.results import Analysis, Missing
from rollprof.render.numbers import number, plural
from rollprof.render.report.model import Block, Cell, Item, Items, Paragraph, Section, Table
from rollprof.render.summary.header import ledger_words
from rollprof.render.summary.headline import is_known, why

MOST_PROBLEMS = 200
MOST_SOURCES = 50
_ORDER = ("alarm", "high", "medium", "low", "info")


def findings(analysis: Analysis) -> Section:
    """Findings with their next step, most severe first; a healthy run is told so."""
    ranked = sorted(analysis.findings, key=lambda f: _ORDER.index(f.severity))
    question = "What stands out in this run, and what to try about it."
    if not ranked:
        known = is_known(analysis.figures.get(analysis.headline))
        words = "Nothing stands out." if known else "The log says too little to tell."
        return Section("findings", "Findings and next steps", question, (Paragraph(words),))
    items = tuple(Item(f.severity, f.text, f.next) for f in ranked)
    return Section("findings", "Findings and next steps", question, (Items(items),))


def missing(analysis: Analysis) -> Section | None:
    """Figures that this log cannot give, why, and the framework's option that would bring each."""
    if not analysis.missing:
        return None
    groups: dict[tuple[str, str], list[str]] = {}
    for item in analysis.missing:
        groups.setdefault(_key(item), []).append(item.figure)
    ranked = sorted(groups.items(), key=lambda group: not group[0][1])
    rows = tuple(
        (Cell(", ".join(names)), Cell(reason), Cell(enable or "–", "quiet"))
        for (reason, enable), names in ranked
    )
    table = Table(
        ("figures", "why they are absent", "how to get them"),
        rows,
        "Absent figures, by what would bring them",
    )
    question = "An absent figure is not a zero. Where an option of the framework would bring it, here it is."
    return Section("missing", "What this log could not tell", question, (table,))


def _key(item: Missing) -> tuple[str, str]:
    return why(item), item.enable


def quality(analysis: Analysis) -> Section:
    """The ledger of the input, the facts with where they come from, and the files."""
    ledger = analysis.ledger
    words = ledger_words(ledger)
    read = plural(int(ledger.get("read", 0)), "line")
    found: list[Block] = [
        Paragraph(f"{words}." if words else f"Every line was read as it stood: {read}, nothing left out.")
    ]
    problems = list(ledger.get("problems") or ())
    if problems:
        found.append(_problems(problems, int(ledger.get("unlisted", 0))))
    if analysis.run.facts:
        found.append(_facts(analysis.run.facts))
    if analysis.run.sources:
        found.append(_sources(analysis.run.sources))
    question = "Logs of killed runs are damaged. Nothing is left out silently: this is the ledger."
    return Section("quality", "Data quality", question, tuple(found))


def _problems(problems: Sequence[Mapping[str, Any]], unlisted: int) -> Table:
    rows = tuple(
        (
            Cell(str(p.get("kind", ""))),
            Cell(str(p.get("file", "")), "code"),
            Cell(number(p["offset"]) if isinstance(p.get("offset"), int) else "–", "number"),
            Cell(str(p.get("reason", "")), "quiet"),
        )
        for p in problems[:MOST_PROBLEMS]
    )
    left = len(problems) + unlisted - len(rows)
    more = f"{left:,} more were counted." if left > 0 else ""
    return Table(
        ("kind", "file", "byte", "what was wrong"), rows, "Problems of the input", more, len(rows) > 12
    )


def _facts(facts: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            Cell(name, "code"),
            Cell(str(fact.get("value", "")), "number"),
            Cell(str(fact.get("origin", ""))),
            Cell(str(fact.get("how", "")), "quiet"),
        )
        for name, fact in sorted(facts.items())
    )
    return Table(("fact", "value", "origin", "how it is known"), rows, "Facts that figures rest on")


def _sources(sources: Sequence[Mapping[str, Any]]) -> Table:
    rows = tuple(
        (
            Cell(str(s.get("name") or s.get("path") or ""), "code"),
            Cell(number(s["size"]) if isinstance(s.get("size"), int) else "–", "number"),
        )
        for s in sources[:MOST_SOURCES]
    )
    left = len(sources) - len(rows)
    more = f"{left:,} more files." if left > 0 else ""
    return Table(("file", "bytes"), rows, "Files that were read", more, folded=True)
