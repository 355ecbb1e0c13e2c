"""One task -> rows of `rollouts`: reads the records, maps them, digests prompts and responses.

Runs in worker processes: loads neither polars nor scipy, and keeps one batch of rows in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from rollprof.adapters.base import BatchMapper, Dropped, MapperContext, RowMapper
from rollprof.errors import InputProblem
from rollprof.parallel.columns import RowBatches
from rollprof.parallel.digests import storable
from rollprof.parallel.tasks import ChunkResult, ChunkTask, Remark
from rollprof.schema.ledger import Ledger
from rollprof.sources.columnar import COLUMNAR, rows_of
from rollprof.sources.documents import read_json_document
from rollprof.sources.lines import JsonBatch, read_json_batches
from rollprof.sources.parquet import read_parquet
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import keys_of

LONGEST_REASON = 200
TABLE_ROWS = 512
"""Rows of a table that are mapped together."""


def convert_chunk(task: ChunkTask) -> ChunkResult:
    """Read the task's records and turn them into rollouts.

    A record that its mapper cannot use is skipped with the mapper's reason; a value that a column cannot
    hold is left empty and remarked on. Raises RollprofError where the file cannot be read at all or an
    extra is missing.
    """
    ledger = Ledger()
    rows = _Rows(task, ledger)
    for batch in _batches(task, ledger):
        rows.take(batch)
    return ChunkResult(
        task=task,
        ipc=rows.batches.finish(),
        totals=rows.batches.totals(),
        ledger=ledger,
        rows=rows.batches.rows,
        remarks=rows.remarks,
    )


class _Rows:
    """Records -> rows, through the mapper of the task's adapter."""

    def __init__(self, task: ChunkTask, ledger: Ledger) -> None:
        self.remarks: dict[str, Remark] = {}
        self._mapper = mapper_for(task)
        self.batches = RowBatches(task, self._mapper.columns, self.remarks)
        self._by_columns = self._mapper.batch if isinstance(self._mapper, BatchMapper) else None
        self._task = task
        self._ledger = ledger

    def take(self, batch: JsonBatch) -> None:
        """All rows at once where the mapper can, else one by one."""
        if batch.whole and self._by_columns is not None and len(batch.objects) > 1:
            columns = self._by_columns(batch.objects)
            if columns is not None:
                self.batches.add_batch(columns, batch.offsets)
                return
        for data, offset in zip(batch.objects, batch.offsets, strict=True):
            self._take(data, offset, as_it_stood=batch.whole)

    def _take(self, data: dict[str, Any], offset: int, *, as_it_stood: bool) -> None:
        try:
            row = self._mapper(data)
        except Exception as error:  # whatever a mapper trips over, the other rows are worth having
            reason = f"unusable record: {_line(error)}"
            if as_it_stood:
                self._ledger.read -= 1
                self._ledger.skip(self._task.file.name, offset, reason)
            else:
                self._ledger.note(self._task.file.name, offset, reason)
            return
        if not isinstance(row, Dropped):
            self.batches.add(row, offset)
        elif row.reason:
            self._ledger.dropped += 1
            remark(self.remarks, f"left out: {storable(row.reason)}", offset)


def mapper_for(task: ChunkTask) -> RowMapper:
    """The row mapper of the adapter that claimed the task's file."""
    from rollprof.adapters import registry

    return registry.load(task.claim.adapter).mapper(
        MapperContext(
            name=task.file.name,
            stem=task.file.stem,
            split=task.claim.split,
            columns=task.options.columns,
            hints={**task.options.hints, **task.claim.hints},
            keys=keys_of(task.file),
        )
    )


def _batches(task: ChunkTask, ledger: Ledger) -> Iterator[JsonBatch]:
    """The task's records with their byte offsets; of Parquet, the number of the row among the task's."""
    file = task.file
    if file.kind in ("json_lines", "empty"):
        found = read_json_batches(file, ledger, task.lo, task.hi)
    elif file.kind == "json_document":
        found = (
            JsonBatch([data], [offset], whole=False)
            for data, offset in read_json_document(file, ledger, task.hi)
        )
    elif file.kind == "parquet":
        found = _rows_of_groups(file, ledger, range(task.lo, 1 << 62 if task.hi is None else task.hi))
    else:
        raise InputProblem(f"{file.name} is neither JSON nor Parquet: it holds no rollout records")
    return _unfolded(found) if COLUMNAR in task.claim.hints else found


def _rows_of_groups(file: SniffedFile, ledger: Ledger, groups: range) -> Iterator[JsonBatch]:
    """Rows of a table, each of which was counted as read."""
    rows = enumerate(read_parquet(file, ledger, groups))
    while some := list(islice(rows, TABLE_ROWS)):
        yield JsonBatch([data for _, data in some], [number for number, _ in some], whole=True)


def _unfolded(batches: Iterator[JsonBatch]) -> Iterator[JsonBatch]:
    """The rows of records that are tables; a record was counted once, whatever its rows."""
    for batch in batches:
        for record, offset in zip(batch.objects, batch.offsets, strict=True):
            for at, row in enumerate(rows_of(record)):
                yield JsonBatch([row], [offset], whole=batch.whole and at == 0)


def remark(remarks: dict[str, Remark], text: str, offset: int) -> None:
    """Count `text` once more; the first offset stays."""
    known = remarks.get(text)
    if known is None:
        remarks[text] = Remark(1, offset)
    else:
        known.count += 1


def _line(error: Exception) -> str:
    said = (str(error).splitlines() or [""])[0]
    text = said if isinstance(error, ValueError) and said else f"{type(error).__name__} {said}".strip()
    return storable(text[:LONGEST_REASON])
