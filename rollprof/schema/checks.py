"""Invariants of a dataset. A broken one is an error with the table, the column and the row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rollprof.errors import DatasetProblem
from rollprof.schema.tables import BY_NAME, TABLES, Column, arrow_type

if TYPE_CHECKING:
    from rollprof.schema.store import Dataset

NON_NEGATIVE = (
    "prompt_tokens",
    "response_tokens",
    "generated_tokens",
    "prompt_chars",
    "response_chars",
    "queue_s",
    "tool_s",
    "turns",
)


def validate(dataset: Dataset) -> None:
    """Check every table: columns and types, enum values, ranges, keys. Raises DatasetProblem.

    Reads the columns it checks one at a time, so memory is bounded by one column.
    """
    import pyarrow.parquet as pq

    for table in TABLES:
        file = pq.ParquetFile(dataset.path / table.filename)
        schema = file.schema_arrow
        for column in table:
            stored, wanted = schema.field(column.name).type, arrow_type(column)
            if not _same_type(stored, wanted):
                raise DatasetProblem(f"{table.filename}: column {column.name} is {stored}, not {wanted}")
            if column.values:
                _check_values(dataset, table.name, column)
    for name in NON_NEGATIVE:
        _check_rows(dataset, "rollouts", name, f"negative {name}")
    _check_times(dataset)
    _check_step_keys(dataset)


def _same_type(stored: Any, wanted: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(wanted):
        stored = stored.value_type if pa.types.is_dictionary(stored) else stored
        return bool(pa.types.is_string(stored) or pa.types.is_large_string(stored))
    return bool(stored == wanted)


def _read(dataset: Dataset, table: str, *columns: str) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(dataset.path / BY_NAME[table].filename, columns=list(columns))


def _check_values(dataset: Dataset, table: str, column: Column) -> None:
    import pyarrow.compute as pc

    seen = pc.unique(_read(dataset, table, column.name)[column.name].cast("string")).to_pylist()
    strange = sorted(str(v) for v in seen if v is not None and v not in column.values)
    if strange:
        raise DatasetProblem(
            f"{table}.parquet: column {column.name} holds {strange[0]!r}, "
            f"which is none of {', '.join(column.values)}"
        )


def _check_rows(dataset: Dataset, table: str, column: str, what: str) -> None:
    import pyarrow.compute as pc

    _raise_at(pc.less(_read(dataset, table, column)[column], 0), f"{table}.parquet: {what}")


def _check_times(dataset: Dataset) -> None:
    import pyarrow.compute as pc

    times = _read(dataset, "rollouts", "started_at", "completed_at")
    early = pc.less(times["completed_at"], times["started_at"])
    _raise_at(early, "rollouts.parquet: completed before it started")


def _check_step_keys(dataset: Dataset) -> None:
    keys = _read(dataset, "steps", "step", "split")
    seen: set[tuple[Any, Any]] = set()
    for row, key in enumerate(zip(keys["step"].to_pylist(), keys["split"].to_pylist(), strict=True)):
        if key in seen:
            raise DatasetProblem(f"steps.parquet: step {key[0]} ({key[1]}) appears twice (row {row})")
        seen.add(key)


def _raise_at(broken: Any, what: str) -> None:
    import pyarrow.compute as pc

    row = pc.index(pc.fill_null(broken, False), True).as_py()
    if row >= 0:
        raise DatasetProblem(f"{what} (row {row})")
