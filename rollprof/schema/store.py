"""A dataset directory: written atomically, read back as a `Dataset`.

The rollouts pass through twice. Workers hand over batches in file order, which are spooled as they
come; once every step is complete the batches are finished (see `Finish`) and written as Parquet. Memory
stays flat: one batch at a time.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollprof.errors import DatasetProblem, UsageProblem
from rollprof.schema.exchange import exchange
from rollprof.schema.ledger import Ledger
from rollprof.schema.tables import (
    BY_NAME,
    ROLLOUTS,
    RUN_KEY,
    SCHEMA_VERSION,
    TABLES,
    TEXT_COLUMNS,
    VERSION_KEY,
    Column,
    Table,
    arrow_schema,
    arrow_type,
)

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

LEDGER_FILE = "ledger.json"
PARTS_FOLDER = "parts"
IGNORE_FILE = ".gitignore"
ROWS_PER_GROUP = 250_000

Finish = Callable[["pa.Table"], "pa.Table"]
"""Turns a spooled batch of rollouts into its final form (token counts filled in)."""


@dataclass(frozen=True)
class Dataset:
    """A dataset on disk. `meta` is the JSON of the `rollprof.run` metadata."""

    path: Path
    meta: Mapping[str, Any]
    ledger: Ledger = field(default_factory=Ledger)

    def scan(self, table: str) -> pl.LazyFrame:
        """The named table as a polars LazyFrame with the columns of `schema.tables`."""
        import polars as pl

        return pl.scan_parquet(self.path / BY_NAME[table].filename)

    @property
    def rollouts(self) -> pl.LazyFrame:
        return self.scan("rollouts")

    @property
    def segments(self) -> pl.LazyFrame:
        return self.scan("segments")

    @property
    def steps(self) -> pl.LazyFrame:
        return self.scan("steps")

    @property
    def metrics(self) -> pl.LazyFrame:
        return self.scan("metrics")

    @property
    def engines(self) -> pl.LazyFrame:
        return self.scan("engines")

    @property
    def gpus(self) -> pl.LazyFrame:
        return self.scan("gpus")


def is_dataset(path: str | Path) -> bool:
    """True for a directory that holds a dataset (of whatever version)."""
    return (Path(path) / ROLLOUTS.filename).is_file() and (Path(path) / "steps.parquet").is_file()


def load(path: str | Path) -> Dataset:
    """Open a dataset. Raises DatasetProblem when it is none, damaged, or of a newer schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = Path(path)
    if not is_dataset(folder):
        raise DatasetProblem(
            f"{folder} is not a rollprof dataset", hint="make one with `rollprof analyze RUN`"
        )
    meta: dict[str, Any] = {}
    for table in TABLES:
        file = folder / table.filename
        try:
            schema = pq.read_schema(file)
        except FileNotFoundError:
            raise DatasetProblem(
                f"{folder} lacks {table.filename}", hint="write it anew with `rollprof convert`"
            ) from None
        except (OSError, pa.ArrowException) as error:
            raise DatasetProblem(
                f"{file} cannot be read: {str(error).splitlines()[0][:120]}",
                hint="write it anew with `rollprof convert`",
            ) from None
        found = _version_of(schema.metadata or {}, file)
        if found > SCHEMA_VERSION:
            raise DatasetProblem(
                f"{file} has schema version {found}; this rollprof reads up to {SCHEMA_VERSION}",
                hint="upgrade rollprof",
            )
        lacking = [c for c in table.column_names if c not in schema.names]
        if lacking:
            raise DatasetProblem(
                f"{file} lacks the columns {', '.join(lacking[:5])}",
                hint="write it anew with `rollprof convert`",
            )
        if table is ROLLOUTS:
            meta = _json_of(schema.metadata[RUN_KEY], file)
    return Dataset(folder, meta, _read_ledger(folder / LEDGER_FILE))


def _version_of(metadata: Mapping[bytes, bytes], file: Path) -> int:
    try:
        return int(metadata[VERSION_KEY])
    except (KeyError, ValueError):
        raise DatasetProblem(
            f"{file} carries no rollprof.schema_version", hint="it was not written by rollprof"
        ) from None


def _json_of(raw: bytes, file: Path) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise DatasetProblem(f"{file}: the rollprof.run metadata is damaged")
    return value


def _read_ledger(file: Path) -> Ledger:
    try:
        return Ledger.from_dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError, AttributeError):
        return Ledger()


def check_target(target: Path, *, force: bool) -> None:
    """Refuse to replace anything but an absent, empty or rollprof dataset directory (unless `force`).

    Even `force` does not remove the folder we stand in, one above it, or the home folder: a slip of the
    hand there costs more than a dataset.
    """
    here = Path.cwd().resolve()
    if target.exists() and target.resolve() in (Path.home().resolve(), here, *here.parents):
        raise UsageProblem(f"{target} is not replaced", hint="choose a directory of its own with -o DIR")
    if not target.exists() or force:
        return
    if not target.is_dir():
        raise UsageProblem(f"{target} is a file, not a directory", hint="choose another with -o DIR")
    if is_dataset(target) or not any(target.iterdir()):
        return
    raise UsageProblem(
        f"{target} holds something else; rollprof will not replace it",
        hint="choose another directory with -o DIR, or --force",
    )


class DatasetWriter:
    """Collects a run and writes it as a dataset in one move.

    Use as a context manager: leaving it without `commit` removes everything it wrote. Two runs of
    rollprof that write the same target do not mix: each has a directory of its own until the rename.
    """

    def __init__(self, target: str | Path, *, keep_text: bool = False, force: bool = False) -> None:
        self.target = Path(target)
        check_target(self.target, force=force)
        self._extra: tuple[Column, ...] = TEXT_COLUMNS if keep_text else ()
        parent = self.target.resolve().parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
            self._work = Path(tempfile.mkdtemp(prefix=f".{self.target.name}.tmp-", dir=parent))
        except OSError as error:
            raise UsageProblem(
                f"cannot write to {parent}: {error.strerror}", hint="choose another place with -o DIR"
            ) from None
        self._spool_file = self._work / "rollouts.spool"
        self._spool: Any = None
        self._sink: Any = None

    @property
    def parts(self) -> tuple[Path, Path]:
        """Where the parts of the dataset that is there are, and where those of the new one go."""
        return self.target / PARTS_FOLDER, self._work / PARTS_FOLDER

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_spool()
        shutil.rmtree(self._work, ignore_errors=True)

    def spool(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Take batches of rollouts as they come (categories as plain strings are fine)."""
        import pyarrow as pa

        for batch in batches:
            if self._spool is None:
                self._sink = pa.OSFile(str(self._spool_file), "wb")
                options = pa.ipc.IpcWriteOptions(compression="lz4")
                self._spool = pa.ipc.new_file(self._sink, batch.schema, options=options)
            self._spool.write_batch(batch)

    def spooled(self) -> Iterator[pa.Table]:
        """The spooled rollouts, a batch at a time, as written."""
        import pyarrow as pa

        self._close_spool()
        if not self._spool_file.exists():
            return
        with pa.OSFile(str(self._spool_file), "rb") as source:
            reader = pa.ipc.open_file(source)
            for i in range(reader.num_record_batches):
                yield pa.Table.from_batches([reader.get_batch(i)])

    def write_rollouts(self, meta: Mapping[str, Any], finish: Finish) -> int:
        """Finish and write the spooled rollouts; returns how many there are."""
        rows = 0
        schema = self._schema(ROLLOUTS, meta, self._extra)
        with _parquet_writer(self._work / ROLLOUTS.filename, schema) as writer:
            pending: list[pa.Table] = []
            waiting = 0
            for table in self.spooled():
                pending.append(_conform(finish(table), schema))
                waiting += pending[-1].num_rows
                if waiting >= ROWS_PER_GROUP:
                    rows += _flush(writer, pending)
                    waiting = 0
            rows += _flush(writer, pending)
        self._spool_file.unlink(missing_ok=True)
        return rows

    def write_rows(self, table: Table, meta: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a small table from row mappings; absent keys are null."""
        import pyarrow as pa

        schema = self._schema(table, meta)
        columns = [
            pa.array([row.get(c.name) for row in rows], type=_plain_type(c)).cast(arrow_type(c))
            for c in table
        ]
        with _parquet_writer(self._work / table.filename, schema) as writer:
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))

    def write_columns(
        self, table: Table, meta: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]
    ) -> None:
        """Write a table from equally long columns; absent columns are null."""
        import pyarrow as pa

        schema = self._schema(table, meta)
        n = max((len(v) for v in columns.values()), default=0)
        arrays = [
            pa.array(columns.get(c.name, [None] * n), type=_plain_type(c)).cast(arrow_type(c)) for c in table
        ]
        with _parquet_writer(self._work / table.filename, schema) as writer:
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))

    def read_rollouts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The named columns of the rollouts written so far, a row group at a time."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self._work / ROLLOUTS.filename) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=list(columns))

    def commit(self, ledger: Ledger) -> Dataset:
        """Put the dataset in its place with one rename; whatever was there is gone afterwards."""
        text = json.dumps(ledger.as_dict(), indent=1, sort_keys=True, ensure_ascii=True)
        (self._work / LEDGER_FILE).write_text(text + "\n", encoding="utf-8")
        (self._work / IGNORE_FILE).write_text("*\n", encoding="utf-8")
        self._work.chmod(0o755)
        _replace(self._work, self.target)
        return load(self.target)

    def _schema(self, table: Table, meta: Mapping[str, Any], extra: tuple[Column, ...] = ()) -> pa.Schema:
        run = json.dumps(meta, sort_keys=True, ensure_ascii=True, default=str)
        return arrow_schema(table, extra).with_metadata(
            {VERSION_KEY: str(SCHEMA_VERSION).encode(), RUN_KEY: run.encode()}
        )

    def _close_spool(self) -> None:
        if self._spool is not None:
            self._spool.close()
            self._sink.close()
            self._spool = self._sink = None


def _plain_type(column: Column) -> pa.DataType:
    import pyarrow as pa

    return pa.string() if column.type == "category" else arrow_type(column)


def _parquet_writer(file: Path, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(file, schema, compression="zstd")


def _conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly the schema's columns and types; absent columns are null."""
    import pyarrow as pa

    columns = [
        table[f.name].cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type)
        for f in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _flush(writer: Any, pending: list[pa.Table]) -> int:
    import pyarrow as pa

    if not pending:
        return 0
    # Batches of different chunks have dictionaries of their own; one row group wants one.
    table = pa.concat_tables(pending).unify_dictionaries()
    writer.write_table(table, row_group_size=ROWS_PER_GROUP)
    pending.clear()
    return int(table.num_rows)


def _replace(work: Path, target: Path) -> None:
    """Move `work` to `target`, in one move where the system can exchange two names. Elsewhere the old one
    steps aside first, because a directory cannot be renamed over a full one."""
    if target.is_symlink():
        target = target.resolve()
    if not target.exists():
        os.rename(work, target)  # noqa: PTH104 - both names matter here
        return
    if exchange(work, target):
        _remove(work)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.old-", dir=target.parent))
    aside.rmdir()
    os.rename(target, aside)  # noqa: PTH104
    try:
        os.rename(work, target)  # noqa: PTH104
    except BaseException:  # also Ctrl-C: the old one goes back
        with suppress(OSError):
            os.rename(aside, target)  # noqa: PTH104
        raise
    _remove(aside)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()
