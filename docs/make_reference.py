"""Writes docs/figures.md and docs/dataset.md from the code that they describe.

python docs/make_reference.py            # write them
python docs/make_reference.py --check    # say whether they are up to date
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.analyzers.registry import COLUMN_FIGURES, REGISTRY
from rollprof.schema.tables import SCHEMA_VERSION, TABLES, Column, Table

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/make_reference.py; edit the code it reads instead. -->"

FIGURES_HEAD = """\
# Figures

Every figure has one name, one formula and one unit, and the name is the same in Python, Parquet, JSON, the
terminal and `rollprof check`. `rollprof explain NAME` prints what stands here.

Beside each value stands its basis, how well it is known. The weaker one wins when figures are combined:

| basis | means |
|---|---|
| measured | a clock saw it: start and end of each rollout, samples of the engines, GPU telemetry |
| logged | the framework logged the aggregate |
| calibrated | lengths replayed on a decode cost that was fitted to this run's own times, with skill |
| modelled | computed from lengths under a stated assumption |

A figure that the log cannot give is absent, with the option of the framework that would bring it.

In the formulas, rollout `i` has `L_i` response tokens, starts at `d_i` and completes at `f_i`; `N` rollouts
make a step, whose generation ends at `T`; `E` engines serve them.
"""

DATASET_HEAD = """\
`rollprof analyze` and `rollprof convert` write a folder of plain Parquet files (zstd) that DuckDB, pandas,
polars or Spark read without rollprof. Absent knowledge is null, durations are seconds, and absolute times are
seconds since the Unix epoch (UTC). `rollprof schema` prints these tables.

Each file carries two key-value entries: `rollprof.schema_version`, and `rollprof.run`, a JSON document with
the framework, the facts of the run and how each is known, and the sources with their sizes and hashes.

Text of prompts and responses is hashed and measured, never stored, unless `--keep-text` asks for it."""


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def row(*cells: str) -> str:
    """One line of a Markdown table."""
    return "| " + " | ".join(cell(c) for c in cells) + " |"


def figure_section(spec: FigureSpec) -> list[str]:
    """Heading, formula and rules of one figure."""
    lines = [f"## `{spec.name}`", "", " ".join(spec.doc.split()), ""]
    lines += [f"- formula: `{' '.join(spec.formula.split())}`", f"- unit: {spec.unit or 'none'}"]
    lines.append(f"- over the run: {' '.join(spec.aggregation.split())}")
    lines.append(f"- per step: {'yes' if spec.per_step else 'no'}")
    lines.extend(f"- {basis}: {' '.join(rule.split())}" for basis, rule in spec.basis_rules)
    if spec.source:
        lines.append(f"- source: {spec.source}")
    return [*lines, ""]


def figures_page() -> str:
    """docs/figures.md."""
    named = [spec for name, spec in REGISTRY.items() if name not in COLUMN_FIGURES]
    lines = [NOTE, "", FIGURES_HEAD, row("figure", "unit", "per step", "over the run"), "|---|---|---|---|"]
    for spec in named:
        link = f"[`{spec.name}`](#{spec.name})"
        lines.append(row(link, spec.unit, "yes" if spec.per_step else "no", spec.aggregation))
    lines.append("")
    for spec in named:
        lines += figure_section(spec)
    lines += ["## Columns of steps.parquet", ""]
    lines += ["Each is a figure too: the median over the steps that have it, as logged.", ""]
    lines += [row("figure", "unit", "meaning"), "|---|---|---|"]
    steps = next(table for table in TABLES if table.name == "steps")
    lines += [row(f"`{name}`", steps[name].unit, steps[name].doc) for name in COLUMN_FIGURES]
    return "\n".join(lines) + "\n"


def column_row(column: Column) -> str:
    """One column of a table of the dataset."""
    kind = f"{column.type}: {', '.join(column.values)}" if column.values else column.type
    return row(f"`{column.name}`", kind, column.unit, column.doc)


def table_section(table: Table) -> list[str]:
    """One file of the dataset."""
    lines = [f"## {table.filename}", "", f"{table.doc[0].upper()}{table.doc[1:]}.", ""]
    lines += [row("column", "type", "unit", "meaning"), "|---|---|---|---|"]
    return [*lines, *map(column_row, table.columns), ""]


def dataset_page() -> str:
    """docs/dataset.md."""
    lines = [NOTE, "", f"# The dataset, version {SCHEMA_VERSION}", ""]
    lines += [DATASET_HEAD, ""]
    for table in TABLES:
        lines += table_section(table)
    return "\n".join(lines).rstrip("\n") + "\n"


PAGES: dict[str, Callable[[], str]] = {"figures.md": figures_page, "dataset.md": dataset_page}


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check return 1 when one is not what the code says."""
    stale = []
    for name, page in PAGES.items():
        path, text = HERE / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    sys.stdout.write("".join(f"{'stale' if '--check' in arguments else 'written'}: {n}\n" for n in stale))
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
