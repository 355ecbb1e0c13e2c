"""`rollprof schema`: the Parquet tables as text, or the JSON Schema of what `--json` prints."""

from __future__ import annotations

import json as json_module
import os
import sys
from typing import Annotated

import typer

from rollprof.cli.output import emit, screen

EPILOG = """\b
Examples:
  rollprof schema
  rollprof schema --json > rollprof.schema.json
"""
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="JSON Schema of --json output; the tables under x-rollprof-dataset, the output of "
        "doctor and whatif under x-rollprof-doctor and x-rollprof-whatif.",
    ),
]


def schema(json: AsJson = False) -> None:
    """Print the columns of a dataset, or JSON Schema."""
    if json:
        from rollprof.render.diagnosis.as_json import SCHEMA as DIAGNOSIS
        from rollprof.render.json_schema import SCHEMA, described_tables
        from rollprof.render.whatif_schema import SCHEMA as WHATIF

        document = {
            **SCHEMA,
            "x-rollprof-dataset": described_tables(),
            "x-rollprof-doctor": DIAGNOSIS,
            "x-rollprof-whatif": WHATIF,
        }
        emit(json_module.dumps(document, indent=2, sort_keys=True) + "\n")
        return
    from rollprof.render.summary.page import Page
    from rollprof.schema.tables import SCHEMA_VERSION, TABLES

    size = screen(sys.stdout, os.environ)
    page = Page(min(max(size.width, 60), 140))
    page.add(f"Dataset schema, version {SCHEMA_VERSION}. Every column may be null: absent knowledge.")
    for table in TABLES:
        page.heading(table.filename, (f"  {table.doc}", "dim"))
        widest = max(len(column.name) for column in table)
        for column in table:
            doc = f"{column.doc} ({', '.join(column.values)})" if column.values else column.doc
            lead = f"{column.name:<{widest}}  {column.type:<8} {column.unit:<10} "
            page.add((lead, ""), (doc, "dim"), indent=2, hang=len(lead) + 2)
    emit(page.text(color=size.color, unicode=size.unicode))
