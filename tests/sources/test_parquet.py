"""Parquet: rows, row groups, damage in the foot and in a page."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.parquet import group_sizes, read_parquet
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

ROWS = [
    {"prompt": f"p{i // 2}", "completion": "word " * i, "reward": i / 10, "tokens": list(range(i % 5))}
    for i in range(100)
]


@pytest.fixture
def file(tmp_path: Path) -> SniffedFile:
    path = tmp_path / "completions.log"
    table = pa.Table.from_pylist(ROWS).replace_schema_metadata({"made_by": "test"})
    pq.write_table(table, path, row_group_size=30)
    return sniff(str(path), "completions.log")


def test_what_it_is(file: SniffedFile) -> None:
    assert (file.kind, file.rows) == ("parquet", 100)
    assert file.columns == ("prompt", "completion", "reward", "tokens")
    assert file.metadata["made_by"] == "test"
    assert len(group_sizes(file)) == 4


def test_rows(file: SniffedFile) -> None:
    ledger = Ledger()
    assert list(read_parquet(file, ledger)) == ROWS
    assert (ledger.read, ledger.clean) == (100, True)


def test_row_groups(file: SniffedFile) -> None:
    def rows(groups: range) -> list[object]:
        return list(read_parquet(file, Ledger(), groups))

    assert rows(range(1, 3)) == ROWS[30:90]
    assert rows(range(3, 1 << 62)) == ROWS[90:]
    assert rows(range(4, 9)) == []


def test_a_damaged_foot_is_one_line(file: SniffedFile) -> None:
    path = Path(file.path)
    path.write_bytes(path.read_bytes()[:-20])
    again = sniff(str(path), "c.parquet")
    assert (again.kind, again.columns, again.rows) == ("parquet", (), None)
    with pytest.raises(InputProblem, match=r"^c\.parquet is a damaged Parquet file: ") as problem:
        list(read_parquet(again, Ledger()))
    assert "\n" not in problem.value.message


def test_a_damaged_row_group_costs_only_itself(file: SniffedFile) -> None:
    with pq.ParquetFile(file.path) as opened:
        column = opened.metadata.row_group(1).column(1)
        start = column.dictionary_page_offset or column.data_page_offset
        size = column.total_compressed_size
    path = Path(file.path)
    data = bytearray(path.read_bytes())
    data[start : start + size] = b"\xff" * size
    path.write_bytes(bytes(data))
    ledger = Ledger()
    assert list(read_parquet(file, ledger)) == ROWS[:30] + ROWS[60:]
    assert (ledger.read, ledger.skipped) == (70, 30)
    assert ledger.problems[0].reason.startswith("row group 1 is damaged")
