"""How work is cut."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollprof.parallel import tasks
from rollprof.parallel.convert import convert_chunk
from rollprof.parallel.tasks import ConvertOptions, plan
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import keys_of, sniff

from .rollout_tasks import claim, rows_of

AsFile = Callable[..., SniffedFile]
ROWS: list[dict[str, Any]] = [
    {"input": "p", "output": "w" * (1 + i % 90), "score": 1, "step": i} for i in range(300)
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, use_mapper: Callable[[Any], None]) -> None:
    """Chunks of 1,000 to 5,000 bytes."""
    monkeypatch.setattr(tasks, "SMALLEST_CHUNK", 1000)
    monkeypatch.setattr(tasks, "LARGEST_CHUNK", 5000)


def test_ranges_touch_and_cover(as_file: AsFile) -> None:
    file = as_file(ROWS)
    for workers in (None, 1, 2, 16):
        cut = plan([(file, claim(), 4)], ConvertOptions(), workers=workers)
        assert cut[0].lo == 0
        assert cut[-1].hi is None
        assert [a.hi for a in cut[:-1]] == [b.lo for b in cut[1:]]
        assert sum(t.weight for t in cut) == file.size
        assert max(t.weight for t in cut) <= 5000
        assert {t.source for t in cut} == {4}
        assert [row["step"] for t in cut for row in rows_of(convert_chunk(t))] == list(range(300))
    assert len(plan([(file, claim(), 0)], ConvertOptions(), workers=16)) > 12


def test_order_is_that_of_the_files(as_file: AsFile) -> None:
    inputs = [(as_file(ROWS[:90], f"{i}.jsonl"), claim(), i) for i in (2, 10, 1)]
    cut = plan(inputs, ConvertOptions(), workers=2)
    assert list(dict.fromkeys(t.file.name for t in cut)) == ["2.jsonl", "10.jsonl", "1.jsonl"]
    assert list(dict.fromkeys(t.source for t in cut)) == [2, 10, 1]
    assert len(cut) > 3


@pytest.mark.parametrize("kind", ["gz", "document", "hinted", "small"])
def test_read_whole(as_file: AsFile, kind: str) -> None:
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
    file = {
        "gz": lambda: as_file(gzip.compress(lines, 0)),
        "document": lambda: as_file(json.dumps(ROWS).encode()),
        "hinted": lambda: as_file(ROWS),
        "small": lambda: as_file(ROWS[:5]),
    }[kind]()
    (one,) = plan(
        [(file, claim(whole_file="1") if kind == "hinted" else claim(), 0)], ConvertOptions(), workers=8
    )
    assert (one.lo, one.hi, one.weight) == (0, None, file.size)
    assert len(rows_of(convert_chunk(one))) == (5 if kind == "small" else 300)


def test_parquet_by_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=50, compression="none")
    file = sniff(str(path), "x.parquet")
    monkeypatch.setattr(tasks, "LARGEST_CHUNK", file.size // 3)
    cut = plan([(file, claim(), 0)], ConvertOptions())
    assert 3 <= len(cut) <= 6
    assert [a.hi for a in cut[:-1]] == [b.lo for b in cut[1:]]
    assert (cut[0].lo, cut[-1].hi) == (0, None)
    assert [row["step"] for t in cut for row in rows_of(convert_chunk(t))] == list(range(300))


def test_tasks_are_light(as_file: AsFile) -> None:
    file = as_file(ROWS)
    (one,) = plan([(replace(file, size=10), claim(), 0)], ConvertOptions())
    assert (one.file.head, len(one.file.objects)) == (b"", 1)
    assert keys_of(one.file) == keys_of(file)
