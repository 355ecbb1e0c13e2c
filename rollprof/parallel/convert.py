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
from rollprof.sources.lines import BATCH_LINES, JsonBatch, read_json_batches, read_json_lines
from rollprof.sources.parquet import read_parquet
from rollprof.sources.sniffing import keys_of

LONGEST_REASON = 200


def convert_chunk(task: ChunkTask) -> ChunkResult:
    """Read the task's records and turn them into rollouts.

    A record that its mapper cannot use is skipped with the mapper's reason; a value that a column cannot
    hold is left empty and remarked on. Raises RollprofError where the file cannot be read at all or an
    extra is missing.
    """
    ledger = Ledger()
    rows = _Rows(task, ledger)
    if task.file.kind in ("json_lines", "empty") and COLUMNAR not in task.claim.hints:
        for batch in read_json_batches(task.file, ledger, task.lo, task.hi):
            rows.take_batch(batch)
    elif task.file.kind == "parquet" and COLUMNAR not in task.claim.hints:
        for batch in _row_batches(_records(task, ledger)):
            rows.take_batch(batch)
    else:
        for data, offset in records(task, ledger):
            rows.take(data, offset)
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
        self._seen = 0

    def take_batch(self, batch: JsonBatch) -> None:
        """All rows at once where the mapper can, else one by one."""
        if batch.whole and self._by_columns is not None and len(batch.objects) > 1:
            columns = self._by_columns(batch.objects)
            if columns is not None:
                self.batches.add_batch(columns, batch.offsets)
                return
        for data, offset in zip(batch.objects, batch.offsets, strict=True):
            self._take(data, offset, as_it_stood=batch.whole)

    def take(self, data: dict[str, Any], offset: int) -> None:
        """A record that was just read."""
        as_it_stood = self._ledger.read != self._seen  # its line was counted as read
        self._take(data, offset, as_it_stood=as_it_stood and self._task.file.kind != "json_document")
        self._seen = self._ledger.read

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


def _row_batches(rows: Iterator[tuple[dict[str, Any], int]]) -> Iterator[JsonBatch]:
    """Rows of a table, each of which was counted as read, many at a time."""
    while some := list(islice(rows, BATCH_LINES)):
        yield JsonBatch([data for data, _ in some], [number for _, number in some], whole=True)


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


def records(task: ChunkTask, ledger: Ledger) -> Iterator[tuple[dict[str, Any], int]]:
    """(record, byte offset) of the task; of a Parquet file, the number of the row among the task's."""
    if COLUMNAR in task.claim.hints:
        return ((row, offset) for record, offset in _records(task, ledger) for row in rows_of(record))
    return _records(task, ledger)


def _records(task: ChunkTask, ledger: Ledger) -> Iterator[tuple[dict[str, Any], int]]:
    file = task.file
    if file.kind in ("json_lines", "empty"):
        return read_json_lines(file, ledger, task.lo, task.hi)
    if file.kind == "json_document":
        return read_json_document(file, ledger, task.hi)
    if file.kind == "parquet":
        groups = range(task.lo, 1 << 62 if task.hi is None else task.hi)
        return ((row, number) for number, row in enumerate(read_parquet(file, ledger, groups)))
    raise InputProblem(f"{file.name} is neither JSON nor Parquet: it holds no rollout records")


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
