"""`explain` and `schema`: the registry and the tables, readable and whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from subprocess import CompletedProcess

import jsonschema
import pytest

from rollprof.analyzers.registry import REGISTRY
from rollprof.schema.tables import TABLES

Rollprof = Callable[..., "CompletedProcess[str]"]


def test_every_figure_is_listed(rollprof: Rollprof) -> None:
    listed = [line.split()[0] for line in rollprof("explain").stdout.splitlines()]
    assert listed == list(REGISTRY)


@pytest.mark.parametrize("name", ["slot_idle", "gini_length", "generate_s"])
def test_a_figure_is_explained(rollprof: Rollprof, name: str) -> None:
    text = " ".join(rollprof("explain", name).stdout.split())
    spec = REGISTRY[name]
    assert text.startswith(name)
    for part in (spec.doc, spec.formula, spec.aggregation, spec.source):
        assert " ".join(part.split()) in text
    for basis, rule in spec.basis_rules:
        assert " ".join(f"{basis}: {rule}".split()) in text


def test_every_column_is_shown(rollprof: Rollprof) -> None:
    text = rollprof("schema", env={"COLUMNS": "140"}).stdout
    for table in TABLES:
        block = re.split(rf"\n{table.filename}", text)[1].split("\n\n")[0]
        assert all(f"\n  {column.name} " in block for column in table)


def test_schema_json_is_a_json_schema_with_the_tables(rollprof: Rollprof) -> None:
    document = json.loads(rollprof("schema", "--json").stdout)
    jsonschema.Draft202012Validator.check_schema(document)
    assert document["properties"]["format"] == {"const": 1}
    tables = document["x-rollprof-dataset"]["tables"]
    assert [len(t["columns"]) for t in tables] == [len(t.columns) for t in TABLES]
