"""JSON lines: every kind of damage, every byte range, every line in the ledger once."""

from __future__ import annotations

import gzip
import itertools
import json
import tracemalloc
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources import splitting
from rollprof.sources.lines import read_json, read_json_lines
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

from .rollout_lines import CASES, LINES, ROWS, SPOILED, WHOLE, in_output, physical_lines, with_row

AsFile = Callable[..., SniffedFile]


def read(file: SniffedFile, **span: Any) -> tuple[list[dict[str, Any]], Ledger]:
    ledger = Ledger()
    return [record.data for record in read_json_lines(file, ledger, **span)], ledger


@pytest.mark.parametrize("case", CASES)
def test_damage_costs_no_more_than_it_must(as_file: AsFile, case: str) -> None:
    data, rows, repaired, skipped = CASES[case]
    records, ledger = read(as_file(data, kind="json_lines"))
    assert (len(records), ledger.repaired, ledger.skipped) == (rows, repaired, skipped)
    assert ledger.lines == physical_lines(data)
    assert len(ledger.problems) == repaired + skipped
    if rows:
        assert {i for i, row in enumerate(ROWS) if row not in records} <= {SPOILED, 19}


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("null", "not a JSON object: null"),
        ("list", "not a JSON object: a list"),
        ("number", "not a JSON object: a number"),
        ("half_line", "half a line"),
        ("truncated_tail", "half a line (truncated tail)"),
        ("log_text", "text that is no JSON"),
        ("deep", "nested too deeply"),
        ("two_on_one_line", "2 records on one line, all recovered"),
        ("text_after_a_record", "1 record recovered from a damaged line"),
        ("invalid_utf8", "invalid UTF-8 replaced"),
        ("raw_lone_surrogate", "lone surrogate in the text"),
        ("raw_tab", "raw control characters in a string"),
        ("nuls_before_a_line", "NUL bytes around the record"),
        ("byte_order_mark", "byte order mark"),
    ],
)
def test_reasons_can_be_understood_and_say_where(as_file: AsFile, case: str, reason: str) -> None:
    data = CASES[case][0]
    _, ledger = read(as_file(data, "1.jsonl", kind="json_lines"))
    (problem,) = ledger.problems
    lines_before = 0 if case == "byte_order_mark" else 19 if case == "truncated_tail" else SPOILED
    offset = sum(len(line) + 1 for line in LINES[:lines_before])
    assert (problem.file, problem.offset, problem.reason) == ("1.jsonl", offset, reason)


def test_reasons_hold_nothing_of_the_text(as_file: AsFile) -> None:
    secret = b"hunter2"
    for line in (secret, b'{"input": "' + secret, b'{"a": ' + secret + b"}", b"[" + secret + b"]"):
        _, ledger = read(as_file(with_row(line), kind="json_lines"))
        assert ledger.problems
        assert not any("hunter" in p.reason for p in ledger.problems)


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("large_integer", 2**70),
        ("escaped_lone_surrogate", "a\ud800b"),
        ("escaped_nul", "a\x00b"),
        ("repeated_key", 99.0),
    ],
)
def test_values_survive(as_file: AsFile, case: str, value: Any) -> None:
    records, _ = read(as_file(CASES[case][0], kind="json_lines"))
    assert value in records[SPOILED].values()


def test_lone_surrogates_can_be_hashed(as_file: AsFile) -> None:
    for raw in (b"\xed\xa0\x80", b"\\ud800"):
        records, _ = read(as_file(with_row(in_output(raw)), kind="json_lines"))
        text = records[SPOILED]["output"]
        assert text.startswith("Let \ud800")
        assert blake2b(text.encode("utf-8", "surrogatepass")).digest()


def test_offsets_point_at_the_objects(as_file: AsFile) -> None:
    data = b"\xef\xbb\xbf" + WHOLE.replace(LINES[3] + b"\n", "因".encode() + LINES[3])
    found = [r.offset for r in read_json_lines(as_file(data, kind="json_lines"), Ledger())]
    assert [data[o : o + 9] for o in found] == [b'{"input":'] * 20
    assert len(set(found)) == 20


@pytest.mark.parametrize("block", [1, 7, 4096, 1 << 20])
def test_ranges_give_every_line_once(as_file: AsFile, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(splitting, "BLOCK", block)
    data = b"\n".join(LINES[:4]) + b"\n\n" + LINES[4][:30] + b"\n" + LINES[5]
    file = as_file(data, kind="json_lines")
    rows, whole = read(file)
    assert len(rows) == 5
    for cut in range(0, len(data) + 1, 1 if block > 100 else 29):
        left, first = read(file, lo=0, hi=cut)
        right, second = read(file, lo=cut)
        assert left + right == rows
        assert first.lines + second.lines == whole.lines


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_any_number_of_ranges_is_the_same_file(as_file: AsFile, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from([*LINES[:3], b"", b"{", b"\r", b"null", b"\0"]), max_size=12))
    content = b"\n".join(lines) + data.draw(st.sampled_from([b"", b"\n"]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content) + 3), max_size=5)))
    file = as_file(content, kind="json_lines")
    rows, whole = read(file)
    bounds = [0, *cuts, None]
    merged = Ledger()
    pieces = []
    for lo, hi in itertools.pairwise(bounds):
        part, ledger = read(file, lo=lo, hi=hi)
        pieces += part
        merged.merge(ledger)
    assert pieces == rows
    assert merged.as_dict() == whole.as_dict()


edits = st.lists(
    st.tuples(
        st.integers(0, len(WHOLE)),
        st.integers(0, 40),
        st.one_of(
            st.binary(max_size=12), st.sampled_from([b"\n", b"\0\0", b"{", b'"', b"}\n{", b"\\", b"\xff"])
        ),
    ),
    max_size=6,
)


def edited(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """`data` with bytes deleted and inserted: (where, how many go, what comes)."""
    for position, gone, come in changes:
        data = data[:position] + come + data[position + gone :]
    return data


@settings(max_examples=120, deadline=None)
@given(edits)
def test_no_edit_raises_and_every_line_is_accounted_for(
    as_file: AsFile, changes: list[tuple[int, int, bytes]]
) -> None:
    data = edited(WHOLE, changes)
    records, ledger = read(as_file(data, kind="json_lines"))
    assert ledger.read + ledger.repaired + ledger.skipped == physical_lines(data)
    assert all(isinstance(record, dict) for record in records)
    assert {p.kind for p in ledger.problems} <= {"repaired", "skipped"}


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_at_all(as_file: AsFile, data: bytes) -> None:
    file = as_file(data)
    assume(file.compression == "none")
    if file.kind in ("json_lines", "json_document", "empty"):
        ledger = Ledger()
        list(read_json(file, ledger))
        assert ledger.lines == physical_lines(data)
    _, ledger = read(as_file(data, kind="json_lines"))
    assert ledger.lines == physical_lines(data)


@settings(max_examples=100, deadline=None)
@given(st.sets(st.integers(0, 19), max_size=8), st.sampled_from([b"\0", b"\xff", b"Killed", b"[1]"]))
def test_foreign_lines_cost_no_record(as_file: AsFile, places: set[int], foreign: bytes) -> None:
    lines = [part for i, line in enumerate(LINES) for part in ([foreign, line] if i in places else [line])]
    records, ledger = read(as_file(b"\n".join(lines), kind="json_lines"))
    assert records == ROWS
    assert ledger.skipped == len(places)


def test_a_line_of_50_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    long = json.dumps({**ROWS[5], "output": "y" * 50_000_000}).encode()
    path.write_bytes(b"\n".join([*LINES[:5], long, *LINES[6:]]) + b"\n")
    del long
    file = sniff(str(path), "long.jsonl")
    ledger = Ledger()
    tracemalloc.start()
    lengths = [len(record.data["output"]) for record in read_json(file, ledger)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lengths == [len(row["output"]) if i != 5 else 50_000_000 for i, row in enumerate(ROWS)]
    assert (ledger.read, ledger.clean) == (20, True)
    assert peak < 180e6  # the pieces, the line, the text: three times 50 MB at most


def test_a_line_too_long_to_hold_is_skipped(as_file: AsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "BLOCK", 64)
    monkeypatch.setattr(splitting, "LONGEST", 5000)
    for end in (b"\n" + LINES[1], b""):
        data = LINES[0] + b"\n" + b'{"input": "' + b"y" * 9000 + b'"}' + end
        records, ledger = read(as_file(data, kind="json_lines"))
        assert records == [ROWS[0], *([ROWS[1]] if end else [])]
        assert ledger.skipped == 1
        assert "MiB" in ledger.problems[0].reason


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    with path.open("wb") as out:
        for _ in range(1000):
            out.write(WHOLE)
    file = sniff(str(path), "many.jsonl")
    ledger = Ledger()
    tracemalloc.start()
    assert sum(1 for _ in read_json(file, ledger)) == 20_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6 < file.size


def test_a_gzip_stream_that_ends_early_keeps_what_was_read(as_file: AsFile) -> None:
    lines = b"\n".join(LINES * 30) + b"\n"
    packed = gzip.compress(lines, mtime=0)
    whole, ledger = read(as_file(packed))
    assert (len(whole), ledger.clean) == (600, True)
    records, ledger = read(as_file(packed[: len(packed) * 2 // 3], kind=None))
    assert 200 < len(records) < 600
    assert records == (ROWS * 30)[: len(records)]
    notes = [p for p in ledger.problems if p.kind == "note"]
    assert [n.reason for n in notes] == ["gzip stream ends early: the rest is lost"]
    assert ledger.lines in (len(records), len(records) + 1)


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    file = SniffedFile(str(tmp_path / "gone.jsonl"), "gone.jsonl", 0, "json_lines")
    with pytest.raises(InputProblem, match=r"cannot read .*gone\.jsonl: No such file"):
        list(read_json_lines(file, Ledger()))


def test_corpus_of_damaged_lines(corpus: Path) -> None:
    lossy = {"trunc_last", "corrupt_mid", "corrupt_garbage", "null_row", "array_row"}
    for path in sorted((corpus / "edge_jsonl").glob("*.jsonl")):
        ledger = Ledger()
        rows = list(read_json(sniff(str(path), path.name), ledger))
        expected = 0 if path.stem in ("empty", "only_newline") else 20 - (path.stem in lossy)
        assert (path.stem, len(rows)) == (path.stem, expected)
        assert (path.stem, ledger.skipped) == (path.stem, int(path.stem in lossy))
        assert ledger.lines == physical_lines(path.read_bytes())
