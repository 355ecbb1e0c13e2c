"""Parquet files -> rows as plain dicts, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

if TYPE_CHECKING:
    import pyarrow.parquet as pq

MAX_ROWS = 1024
BATCH_BYTES = 4 << 20
"""Uncompressed bytes that a batch of rows should stay near, so that rows of long token lists fit."""


def open_parquet(path: str, name: str) -> pq.ParquetFile:
    """The opened file. Raises InputProblem, one line, where it is damaged or cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise InputProblem(
            f"{name} is a damaged Parquet file: {_line(error)}", hint="was the run killed while it wrote it?"
        ) from None


def read_parquet(
    file: SniffedFile, ledger: Ledger, groups: range | None = None, columns: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of the given row groups (all without `groups`) as dicts of plain Python values, with all
    columns or those named.

    Each row counts as one line read. A damaged row group is skipped with its place in the ledger; a file
    that cannot be opened at all raises InputProblem.
    """
    import pyarrow as pa

    with open_parquet(file.path, file.name) as opened:
        count = opened.num_row_groups
        for group in range(count)[groups.start : groups.stop] if groups is not None else range(count):
            rows = opened.metadata.row_group(group).num_rows
            done = 0
            try:
                for batch in opened.iter_batches(
                    _batch_rows(opened, group), row_groups=[group], columns=columns
                ):
                    for row in batch.to_pylist():
                        done += 1
                        ledger.read += 1
                        yield row
            except (OSError, ValueError, pa.ArrowException) as error:
                offset = _offset(opened, group)
                reason = f"row group {group} is damaged: {_line(error)}"
                ledger.skip(file.name, offset, reason, lines=rows - done)


def group_sizes(file: SniffedFile) -> list[int]:
    """Bytes of each row group in the file. Raises InputProblem where it is damaged."""
    with open_parquet(file.path, file.name) as opened:
        groups = [opened.metadata.row_group(i) for i in range(opened.num_row_groups)]
        return [sum(g.column(c).total_compressed_size for c in range(g.num_columns)) for g in groups]


def _batch_rows(opened: pq.ParquetFile, group: int) -> int:
    info = opened.metadata.row_group(group)
    per_row = max(1, info.total_byte_size // max(1, info.num_rows))
    return int(max(1, min(MAX_ROWS, BATCH_BYTES // per_row)))


def _offset(opened: pq.ParquetFile, group: int) -> int:
    info = opened.metadata.row_group(group)
    return int(info.column(0).data_page_offset) if info.num_columns else 0


def _line(error: Exception) -> str:
    return (str(error).splitlines() or ["unreadable"])[0][:120]
