"""JSON arrays and pretty-printed objects: whole, damaged, longer than what is held."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.schema.ledger import Ledger
from rollprof.sources import documents
from rollprof.sources.documents import read_json_document
from rollprof.sources.records import SniffedFile

from .rollout_lines import LINES, ROWS, physical_lines
from .test_lines import edited, edits

AsFile = Callable[..., SniffedFile]

NESTED = [{**row, "extra": {"calls": [{"input": 1}, {}], "text": '}{][\n"' + "\\"}} for row in ROWS]
FORMS = {
    "array": json.dumps(NESTED),
    "array_of_lines": "[\n" + ",\n".join(json.dumps(r) for r in NESTED) + "\n]\n",
    "pretty_array": json.dumps(NESTED, indent=2, ensure_ascii=False),
    "flat_array": json.dumps(NESTED, indent=0),
    "pretty_objects": "\n".join(json.dumps(r, indent=4) for r in NESTED) + "\n",
    "blank_between": "\n\n".join(json.dumps(r, indent="\t") for r in NESTED),
}
DATA = {name: text.encode() for name, text in FORMS.items()}


def read(file: SniffedFile, hi: int | None = None) -> tuple[list[dict[str, Any]], Ledger, list[int]]:
    ledger = Ledger()
    found = list(read_json_document(file, ledger, hi))
    return [r.data for r in found], ledger, [r.offset for r in found]


@pytest.mark.parametrize("block", [64, 1000, 1 << 20])
@pytest.mark.parametrize("form", DATA)
def test_whole_documents(as_file: AsFile, monkeypatch: pytest.MonkeyPatch, form: str, block: int) -> None:
    monkeypatch.setattr(documents, "BLOCK", block)
    file = as_file(DATA[form])
    assert file.kind == "json_document"
    records, ledger, offsets = read(file)
    assert records == NESTED
    assert (ledger.read, ledger.clean) == (physical_lines(DATA[form]), True)
    assert all(DATA[form][o : o + 1] == b"{" for o in offsets)


@pytest.mark.parametrize("block", [64, 1 << 20])
@pytest.mark.parametrize("form", DATA)
@pytest.mark.parametrize("damage", ["cut", "lost quote", "lost brace", "junk", "hole"])
def test_damage_costs_one_object(
    as_file: AsFile, monkeypatch: pytest.MonkeyPatch, form: str, block: int, damage: str
) -> None:
    monkeypatch.setattr(documents, "BLOCK", block)
    data = DATA[form]
    tenth = data.index(b"Question 5: what is 10")
    inside = data.index(b'"extra"', tenth)
    brace = data.index(b"{", inside)
    data = {
        "cut": data[:inside],
        "lost quote": data[: tenth - 6] + data[tenth - 6 :].replace(b'"', b"", 1),
        "lost brace": data[:brace] + data[brace + 1 :],
        "junk": data[:inside] + b"\xff\x00{" + data[inside:],
        "hole": data[:inside] + data[data.index(b"Question 5: what is 11") - 6 :],
    }[damage]
    records, ledger, _ = read(as_file(data, kind="json_document"))
    lost = {"cut": range(10, 20), "hole": range(10, 12)}.get(damage, range(10, 11))
    assert records == [row for i, row in enumerate(NESTED) if i not in lost]
    assert ledger.lines == physical_lines(data)
    assert ledger.skipped + ledger.repaired > 0
    (problem,) = ledger.problems
    assert problem.kind == "skipped"
    assert problem.reason == ("half an object (truncated tail)" if damage == "cut" else "a damaged object")
    assert data[problem.offset : problem.offset + 1] == b"{"


def test_repairs_inside_an_object(as_file: AsFile) -> None:
    data = DATA["pretty_objects"].replace(b"Question 5", b"Question \xff5", 1).replace(b"7", b"NaN", 1)
    records, ledger, _ = read(as_file(data, kind="json_document"))
    assert len(records) == 20
    assert [p.reason for p in ledger.problems] == ["invalid UTF-8 replaced"]
    assert ledger.lines == physical_lines(data)
    assert (ledger.skipped, ledger.repaired > 0) == (0, True)


def test_text_between_objects_is_skipped_by_line(as_file: AsFile) -> None:
    data = b"\n".join([*LINES[:3], b"Traceback", b"  File x", *LINES[3:6]]) + b"\n"
    records, ledger, _ = read(as_file(data, kind="json_document"))
    assert records == ROWS[:6]
    assert (ledger.read, ledger.skipped) == (6, 2)
    assert ledger.problems[0].reason == "text between the objects"


def test_reading_can_stop_early(as_file: AsFile) -> None:
    data = DATA["array"]
    records, _, _ = read(as_file(data), hi=len(data) // 2)
    assert records == NESTED[: len(records)]
    assert 5 < len(records) < 15


def test_no_objects_at_all(as_file: AsFile) -> None:
    for data in (b"[]", b"[\n]\n", b"[1, 2,\n 3]", b"", b"{", b'{"a": 1', b"]["):
        records, ledger, _ = read(as_file(data, kind="json_document"))
        assert records == []
        assert ledger.lines == physical_lines(data)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(list(DATA)), edits)
def test_no_edit_raises_and_every_line_is_accounted_for(
    as_file: AsFile, form: str, changes: list[tuple[int, int, bytes]]
) -> None:
    data = edited(DATA[form], changes)
    records, ledger, _ = read(as_file(data, kind="json_document"))
    assert ledger.lines == physical_lines(data)
    assert len(records) >= 20 - 4 * len(changes)


def test_memory_holds_one_object(as_file: AsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "BLOCK", 4 << 10)
    file = as_file(json.dumps(ROWS * 500).encode())
    ledger = Ledger()
    tracemalloc.start()
    count = sum(1 for _ in read_json_document(file, ledger))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 10_000
    assert peak < 1.2e6 < file.size / 5  # a buffer of 1 MiB and an object
