"""The report as Markdown: the same sections, plots as the sentence and the numbers behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rollprof import __version__
from rollprof.analyzers.results import Analysis
from rollprof.render import bars
from rollprof.render.report.content import content
from rollprof.render.report.model import (
    Block,
    Cell,
    Content,
    Definition,
    Extras,
    Headline,
    Items,
    Paragraph,
    Plot,
    Quote,
    Section,
    Table,
)
from rollprof.render.report.waiting import Texts
from rollprof.render.summary.page import NBSP
from rollprof.render.text import clean

MARK = "<!-- rollprof report"
"""How a Markdown file begins that is one of ours."""
_BAR = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#!|~$&^]|^\s*[-=.\d])")


def render(analysis: Analysis, *, texts: Texts | None = None, extras: Extras | None = None) -> str:
    """GitHub-flavoured Markdown. Text from the log is escaped: it cannot become markup or HTML."""
    made = content(analysis, texts, extras)
    return "\n".join(line for part in _parts(made) for line in (*part, "")) + f"{_END}\n"


_END = f"---\n\nWritten by rollprof {__version__}."


def _parts(made: Content) -> Iterator[list[str]]:
    yield [f"{MARK} {__version__} -->", f"# {_text(made.title)}"]
    yield [" · ".join(f"{_text(label)} **{_text(value)}**" for label, value in made.facts)]
    yield from _headline(made.headline)
    for section in made.sections:
        yield from _section(section)
    yield ["## Definitions"]
    for definition in made.definitions:
        yield _definition(definition)


def _text(text: str) -> str:
    """Text from anywhere as Markdown that shows exactly it."""
    return _SPECIAL.sub(lambda m: re.sub(r"([^\w\s])", r"\\\1", m.group(0)), clean(text).replace(NBSP, " "))


def _code(text: str) -> str:
    """A code span, with a fence longer than any run of backticks inside."""
    text = clean(text)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|") if text else ""


def _headline(top: Headline) -> Iterator[list[str]]:
    basis = f" ({top.basis})" if top.basis else ""
    yield [f"## GPU-idle fraction: {_text(top.value)}"]
    yield [f"{_code(top.figure)}{basis}. {_text(top.sentence)}"]
    if top.sure:
        yield [_text(f"How sure: {top.sure}" if top.basis else top.sure)]
    if top.split is not None:
        yield [_text(top.split.text)]
    yield _table(top.ladder)


def _section(section: Section) -> Iterator[list[str]]:
    yield [f"## {_text(section.title)}"]
    yield [f"_{_text(section.question)}_"]
    for block in section.blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[list[str]]:
    if isinstance(block, Plot):
        yield [f"**{_text(block.title)}.** {_text(block.text)}"]
        if block.numbers is not None and block.numbers.rows:
            yield _table(block.numbers)
    elif isinstance(block, Table):
        yield _table(block)
    elif isinstance(block, Items):
        yield [_item(i.severity, i.text, i.next) for i in block.items]
    elif isinstance(block, Quote):
        yield [f"**{_text(block.title)}**", "", *(f"    {clean(line)}" for line in block.text.splitlines())]
    elif isinstance(block, Paragraph):
        yield [_text(block.text)]


def _item(severity: str, text: str, what_next: str) -> str:
    return f"- **{_text(severity)}**: {_text(text)}" + (f" → {_text(what_next)}" if what_next else "")


def _table(table: Table) -> list[str]:
    rows = table.rows
    aligned = ["---:" if rows and rows[0][i].kind == "number" else "---" for i in range(len(table.head))]
    lines = [f"**{_text(table.caption)}**", ""]
    lines.append(f"| {' | '.join(_text(title) or ' ' for title in table.head)} |")
    lines.append(f"| {' | '.join(aligned)} |")
    lines += [f"| {' | '.join(_cell(c) or ' ' for c in row)} |" for row in rows]
    if table.more:
        lines += ["", _text(table.more)]
    return lines


def _cell(cell: Cell) -> str:
    if cell.kind in ("figure", "code"):
        return _code(cell.text)
    if cell.bar is None:
        return _text(cell.text)
    low, high = cell.bar
    picture = bars.bar(high, _BAR) if low <= 0 else bars.span(low, high, _BAR)
    return f"{_text(cell.text)} `{picture}`"


def _definition(d: Definition) -> list[str]:
    rules = "".join(f" {word}: {rule}." for word, rule in d.basis)
    source = f" Source: {d.source}." if d.source else ""
    unit = f" ({_text(d.unit)})" if d.unit else ""
    words = _text(f"{d.doc} Over the run: {d.aggregation}.{rules}{source}")
    return [f"**{_code(d.name)}**{unit}: {_code(d.formula)}. {words}"]
