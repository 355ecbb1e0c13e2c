"""The diagnosis on a terminal and as JSON."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest
from rich.cells import cell_len

from rollprof import api
from rollprof.doctor.results import Diagnosis, Source, Stranger, Trap
from rollprof.render.diagnosis.as_json import SCHEMA, document, dumps
from rollprof.render.diagnosis.files import together
from rollprof.render.diagnosis.terminal import render

LOGS = ("verl", "openrlhf", "trl", "straggler_512.jsonl")


@pytest.fixture(scope="module")
def diagnoses(root: Path) -> dict[str, Diagnosis]:
    one = api.OpenOptions(workers=1)
    return {name: api.diagnose([str(root / "sample_logs" / name)], options=one) for name in LOGS}


@pytest.mark.parametrize("name", LOGS)
def test_json_fits_its_schema(diagnoses: dict[str, Diagnosis], name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    text = dumps(diagnoses[name])
    read = json.loads(text)
    jsonschema.validate(read, SCHEMA)
    assert set(read) == {"format", "rollprof", *(f.name for f in fields(Diagnosis))}
    assert text == dumps(diagnoses[name])
    assert text.isascii()


def test_the_schema_refuses_what_is_not_there(diagnoses: dict[str, Diagnosis]) -> None:
    wrong = document(diagnoses["verl"])
    wrong["remedies"][0]["fits"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", LOGS)
def test_lines_fit(diagnoses: dict[str, Diagnosis], name: str, width: int) -> None:
    found = diagnoses[name]
    code = found.snippet.code.splitlines() if found.snippet else []
    lines = render(found, width=width).splitlines()
    assert [x for x in lines if cell_len(x) > width and x.strip() not in {c.strip() for c in code}] == []
    for line in code:  # to be copied: whole, as it stands
        assert f"  {line}" in lines
    assert "\x1b" not in render(found, width=width)
    assert render(found, width=width, unicode=False).isascii()


@pytest.mark.parametrize("name", LOGS)
def test_everything_is_said(diagnoses: dict[str, Diagnosis], name: str) -> None:
    found = diagnoses[name]
    text = " ".join(render(found, width=160, full=True).split())
    said = [f.figure for f in found.figures] + [m.figure for m in found.missing]
    assert [figure for figure in said if figure not in text] == []
    assert [f.name for f in found.facts if f"{f.name} = " not in text] == []
    assert [r.option for r in found.remedies if " ".join(r.option.split()) not in text] == []
    assert found.title in text


def test_a_dump_stands_on_one_line(diagnoses: dict[str, Diagnosis]) -> None:
    lines = together(diagnoses["verl"].sources)
    assert len(lines) == 3
    assert lines[2].name == "rollouts/1.jsonl … 12.jsonl"
    assert "12 steps, 1 to 12" in lines[2].what.replace("\u00a0", " ")


def test_evil_names_are_harmless(diagnoses: dict[str, Diagnosis]) -> None:
    found = diagnoses["straggler_512.jsonl"]
    evil = "\x1b]0;title\x07\x1b[31mred\u202e.jsonl"
    source: Source = replace(found.sources[0], path=evil, why=evil)
    worse = replace(
        found,
        sources=[source],
        strangers=[Stranger(evil, 1, "text", evil, [evil])],
        traps=[Trap("x", evil, False)],
        notes=[evil],
        problem=evil,
    )
    text = render(worse, width=80)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "red.jsonl" in text


def test_a_release_without_the_option_is_said(diagnoses: dict[str, Diagnosis]) -> None:
    text = " ".join(render(diagnoses["verl"], width=100).split())
    assert "not in the release that wrote this log (>=0.8)" in text


def test_a_clean_ledger_is_said(diagnoses: dict[str, Diagnosis]) -> None:
    tail = render(diagnoses["straggler_512.jsonl"], width=80).rstrip().splitlines()[-1]
    assert tail == "512 lines read as they stood"
