"""A comparison as Markdown, for a pull request or an issue."""

from __future__ import annotations

from rollprof.compare.comparison import Comparison
from rollprof.compare.decomposition import Decomposition
from rollprof.render.comparison import words
from rollprof.render.verdict.markdown import escape


def render(comparison: Comparison, *, full: bool = False) -> str:
    """Headings and tables. `full` shows all figures."""
    names = [escape(name) for name in words.labels(comparison)]
    lines = [f"### {' against '.join(names[::-1]) if len(names) == 2 else ', '.join(names)}", ""]
    for name, found in zip(names[1:], comparison.generation, strict=True):
        lines += [f"**{name}**: {escape(words.generation(found))}", ""]
        if isinstance(found, Decomposition):
            lines += _parts(found)
    lines += _figures(comparison, names, full)
    if comparison.lengths is not None:
        lines += _lengths(comparison, names)
    lines += _settings(comparison, names)
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    marks = ["---", *("---:" for _ in head[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (head, marks, *rows)] + [""]


def _parts(found: Decomposition) -> list[str]:
    rows = [[escape(cell) for cell in words.part(one)] for one in found.parts]
    rows = [
        [f"**{r[0]}**" if one.name == found.main else r[0], *r[1:]]
        for r, one in zip(rows, found.parts, strict=True)
    ]
    return [*_table(["part of the change", "a step", "90 % interval"], rows), escape(words.remark(found)), ""]


def _figures(comparison: Comparison, names: list[str], full: bool) -> list[str]:
    head = ["figure", *names]
    for name in names[1:]:
        head += [f"change to {name}" if len(names) > 2 else "change", ""]
    rows = []
    for row in words.rows(comparison, full=full):
        cells = [f"`{row.name}`", *(escape(words.value(f, row.unit)) for f in row.figures)]
        for change in row.changes:
            cells += [escape(words.difference(change)), escape(words.word(change))]
        rows.append(cells)
    return _table(head, rows)


def _lengths(comparison: Comparison, names: list[str]) -> list[str]:
    assert comparison.lengths is not None
    rows = [[name, *values] for name, values in words.quantile_rows(comparison)]
    return _table([f"response length, {comparison.lengths.unit}", *names], rows)


def _settings(comparison: Comparison, names: list[str]) -> list[str]:
    if not comparison.settings:
        return ["Nothing that the logs tell changed in the configuration."]
    rows = [
        [escape(one.name), *(escape(words.setting(value)) for value in one.values)]
        for one in comparison.settings
    ]
    return _table(["configuration", *names], rows)
