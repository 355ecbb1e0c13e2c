"""Single columns of Parquet files: their values, and whether two files hold the same ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rollprof.errors import InputProblem
from rollprof.sources.parquet import open_parquet
from rollprof.sources.records import SniffedFile

if TYPE_CHECKING:
    import pyarrow.parquet as pq

Span = tuple[str, int, int]


def read_columns(file: SniffedFile, names: Sequence[str]) -> dict[str, list[Any]]:
    """The values of the named columns that the file has, as plain Python values.

    Raises InputProblem for a damaged file.
    """
    import pyarrow as pa

    with open_parquet(file.path, file.name) as opened:
        known = [n for n in names if n in opened.schema_arrow.names]
        try:
            table = opened.read(columns=known)
        except (OSError, ValueError, pa.ArrowException) as error:
            line = (str(error).splitlines() or ["unreadable"])[0][:120]
            raise InputProblem(f"{file.name} is a damaged Parquet file: {line}") from None
        return {name: table[name].to_pylist() for name in known}


def float_columns(file: SniffedFile) -> list[str]:
    """Names of the columns of floating-point numbers, in order. Raises InputProblem for a damaged file."""
    import pyarrow.types as types

    with open_parquet(file.path, file.name) as opened:
        return [field.name for field in opened.schema_arrow if types.is_floating(field.type)]


def same_values(a: SniffedFile, b: SniffedFile, *, ignoring: Collection[str] = ()) -> bool:
    """Whether two files hold the same bytes in every column but those ignored.

    Meant for files of one writer, which stores equal columns in equal bytes. The footers decide in most
    cases; only where they agree the columns' bytes are read. Raises InputProblem for a damaged file.
    """
    if a.rows != b.rows or a.columns != b.columns:
        return False
    with open_parquet(a.path, a.name) as first, open_parquet(b.path, b.name) as second:
        left, right = _spans(first, ignoring), _spans(second, ignoring)
    if [(name, length) for name, _, length in left] != [(name, length) for name, _, length in right]:
        return False
    return all(
        _bytes(a.path, at_a, length) == _bytes(b.path, at_b, length)
        for (_, at_a, length), (_, at_b, _) in zip(left, right, strict=True)
    )


def digest_column(file: SniffedFile, name: str) -> str:
    """A digest of a column's bytes as stored: equal for equal values of one writer.

    Raises InputProblem for a damaged file.
    """
    with open_parquet(file.path, file.name) as opened:
        others = [n for n in opened.schema_arrow.names if n != name]
        spans = _spans(opened, others)
    digest = blake2b(digest_size=16)
    for _, start, length in spans:
        digest.update(_bytes(file.path, start, length))
    return digest.hexdigest()


def _spans(opened: pq.ParquetFile, ignoring: Collection[str]) -> list[Span]:
    """(path, first byte, bytes) of every column chunk that is not ignored."""
    spans: list[Span] = []
    for group in range(opened.num_row_groups):
        info = opened.metadata.row_group(group)
        for number in range(info.num_columns):
            chunk = info.column(number)
            if chunk.path_in_schema.split(".")[0] in ignoring:
                continue
            start = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
                start = min(start, chunk.dictionary_page_offset)
            spans.append((chunk.path_in_schema, start, chunk.total_compressed_size))
    return spans


def _bytes(path: str, start: int, length: int) -> bytes:
    with Path(path).open("rb") as file:
        file.seek(start)
        return file.read(length)
