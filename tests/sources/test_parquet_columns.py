"""Single columns, and files that hold the same values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollprof.errors import InputProblem
from rollprof.sources.parquet_columns import digest_column, float_columns, read_columns, same_values
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

ROWS: list[dict[str, Any]] = [
    {"step": 1, "text": "a" * 40, "chat": [{"role": "user", "content": f"q{i}"}], "score": i / 7}
    for i in range(50)
]


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> SniffedFile:
    path = folder / name
    pq.write_table(pa.Table.from_pylist(rows), path)
    return sniff(str(path), name)


def test_columns_as_plain_values(tmp_path: Path) -> None:
    file = write(tmp_path, "a.parquet", ROWS)
    found = read_columns(file, ["score", "nothing", "chat"])
    assert list(found) == ["score", "chat"]
    assert found["chat"][3] == [{"role": "user", "content": "q3"}]
    assert float_columns(file) == ["score"]


def test_only_the_ignored_column_may_differ(tmp_path: Path) -> None:
    one = write(tmp_path, "a.parquet", ROWS)
    later = write(tmp_path, "b.parquet", [{**r, "step": 2} for r in ROWS])
    other = write(tmp_path, "c.parquet", [{**r, "score": r["score"] + (i == 30)} for i, r in enumerate(ROWS)])
    same_size = write(tmp_path, "d.parquet", [{**r, "text": "b" * 40} for r in ROWS])
    assert same_values(one, later, ignoring=("step",))
    assert not same_values(one, later)
    assert not same_values(one, other, ignoring=("step",))
    assert not same_values(one, same_size, ignoring=("step",))
    assert not same_values(one, write(tmp_path, "e.parquet", ROWS[:-1]), ignoring=("step",))


def test_a_digest_follows_the_values_of_its_column(tmp_path: Path) -> None:
    one = write(tmp_path, "a.parquet", ROWS)
    other = write(tmp_path, "b.parquet", [{**r, "score": 0.5} for r in ROWS])
    assert digest_column(one, "text") == digest_column(other, "text")
    assert digest_column(one, "chat") == digest_column(other, "chat")
    assert digest_column(one, "score") != digest_column(other, "score")


def test_damage_is_one_line(tmp_path: Path) -> None:
    file = write(tmp_path, "a.parquet", ROWS)
    path = Path(file.path)
    path.write_bytes(path.read_bytes()[:-30])
    for ask in (
        lambda: read_columns(file, ["score"]),
        lambda: digest_column(file, "score"),
        lambda: float_columns(file),
    ):
        with pytest.raises(InputProblem, match="damaged Parquet"):
            ask()
