"""CSV and Parquet with their texts replaced."""

from __future__ import annotations

import csv
from io import BytesIO, StringIO
from typing import Any

from rollprof.doctor.anonymous.masking import Masks
from rollprof.doctor.anonymous.vocabulary import TOKEN_KEYS, holds_text, is_harmless, is_key


def mask_csv(text: str, masks: Masks) -> str:
    """A table with a line of column names: names that are no keys and cells that are text are replaced."""
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    rows = csv.reader(StringIO(text), delimiter=delimiter)
    out = StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    names = next(rows, [])
    writer.writerow([_named(name, masks) for name in names])
    for row in rows:
        columns = [*names, *([""] * max(len(row) - len(names), 0))]
        writer.writerow([_cell(name, cell, masks) for name, cell in zip(columns, row, strict=False)])
    return out.getvalue()


def _named(name: str, masks: Masks) -> str:
    """wandb writes `RUN - KEY`: the run's name is somebody's own."""
    run, separator, key = name.rpartition(" - ")
    named = key if is_key(key) else masks.text(key)
    return f"{masks.text(run)}{separator}{named}"


def _cell(name: str, cell: str, masks: Masks) -> str:
    return cell if is_harmless(cell) and not holds_text(name) else masks.text(cell)


def mask_parquet(content: bytes, masks: Masks) -> bytes:
    """A Parquet file with the same columns and rows. Its own metadata, which names whoever wrote it, goes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(BytesIO(content))
    names = [_named(str(name), masks) for name in table.column_names]
    columns = [
        pa.array([_value(name, value, masks) for value in column.to_pylist()], column.type)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    fields = [pa.field(name, column.type) for name, column in zip(names, columns, strict=True)]
    out = BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, schema=pa.schema(fields)), out)
    return out.getvalue()


def _value(key: str, value: Any, masks: Masks) -> Any:
    if isinstance(value, str):
        return value if is_harmless(value) and not holds_text(key) else masks.text(value)
    if isinstance(value, bytes):
        return bytes(len(value))
    if isinstance(value, dict):
        return {name: _value(name, inner, masks) for name, inner in value.items()}
    if isinstance(value, list):
        return [_value(key, inner, masks) for inner in value]
    if isinstance(value, tuple):
        return tuple(_value(key, inner, masks) for inner in value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and TOKEN_KEYS.search(key) and key.lower().endswith("ids"):
        return int(masks.number(str(abs(value))))
    return value
