"""Records that hold many rows: wandb's tables (`{"columns": […], "data": [[…], …]}`), and objects whose
values are lists of one length, a row at each position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

COLUMNAR = "columnar"
"""Hint of a claim: the file's records are such."""


def is_table(record: Mapping[str, Any]) -> bool:
    """True for a table of wandb's."""
    columns, data = record.get("columns"), record.get("data")
    return (
        isinstance(columns, list)
        and isinstance(data, list)
        and all(isinstance(c, str) for c in columns)
        and all(isinstance(row, list) for row in data)
    )


def rows_of(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows. Columns of another length than the first one's are cut to the rows that all have."""
    if is_table(record):
        for row in record["data"]:
            yield dict(zip(record["columns"], row, strict=False))
        return
    lists = {key: value for key, value in record.items() if isinstance(value, list)}
    count = min((len(value) for value in lists.values() if value), default=0)
    for i in range(count):
        yield {key: value[i] for key, value in lists.items() if value}
