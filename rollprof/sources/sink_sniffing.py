"""Which tracker wrote a file, told by its first bytes, its tables or its columns; and the keys in it."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rollprof.errors import InputProblem
from rollprof.sources.records import SniffedFile

_SQLITE = b"SQLite format 3\0"
_WANDB, _SWANLAB = (b":W&B", 0xBEE1), (b":SWL", 0xE1D6)
_EVENT_VERSION = re.compile(rb"^.{12}\x09.{8}\x1a.brain\.Event:", re.DOTALL)
_MLFLOW_RUN = re.compile(rb"^run_(?:id|uuid): ", re.MULTILINE)
_MAX_FIRST_EVENT = 1 << 10


def as_sink(file: SniffedFile) -> SniffedFile:
    """The file with `metadata["sink"]` and the keys of its scalars as `columns`, where a tracker wrote it."""
    if file.kind == "binary":
        return _binary(file)
    if file.kind == "parquet":
        return _marked(file, "history", file.columns) if _is_history(file.columns) else file
    if file.kind == "json_lines":
        columns = tuple(dict.fromkeys(key for obj in file.objects for key in obj))
        return _marked(file, "history", columns) if _is_history(columns) else file
    if file.kind == "text":
        return _text(file)
    return file


def _marked(file: SniffedFile, sink: str, keys: tuple[str, ...]) -> SniffedFile:
    return replace(file, columns=keys, metadata={**file.metadata, "sink": sink})


def _is_history(columns: tuple[str, ...]) -> bool:
    return "_step" in columns and len(columns) > 2


def _binary(file: SniffedFile) -> SniffedFile:
    head = file.head
    if head.startswith(_SQLITE) and file.compression == "none":
        return _database(file)
    if is_events(head):
        from rollprof.sources import tfevents

        return _looked(file, "tfevents", tfevents.keys)
    for sink, (ident, magic) in (("wandb", _WANDB), ("swanlab", _SWANLAB)):
        if head.startswith(ident) and len(head) >= 7 and struct.unpack_from("<H", head, 4)[0] == magic:
            from rollprof.sources import swanlab_log, wandb_log

            return _looked(file, sink, (wandb_log if sink == "wandb" else swanlab_log).keys)
    return file


def is_events(head: bytes) -> bool:
    """True for the start of an event file: a record whose first field is a wall time and which says the
    version of the format."""
    if len(head) < 24 or struct.unpack_from("<Q", head)[0] > _MAX_FIRST_EVENT:
        return False
    return _EVENT_VERSION.match(head) is not None


def _looked(file: SniffedFile, sink: str, keys: Callable[[SniffedFile], tuple[str, ...]]) -> SniffedFile:
    try:
        return _marked(file, sink, keys(file))
    except (ValueError, struct.error):
        return file


def _database(file: SniffedFile) -> SniffedFile:
    from rollprof.sources import mlflow, trackio
    from rollprof.sources.databases import open_database, tables

    try:
        with open_database(file.path, file.name) as connection:
            schema = tables(connection)
            if trackio.is_trackio(schema):
                return _marked(file, "trackio", trackio.keys(connection))
            if mlflow.is_mlflow(schema):
                return _marked(file, "mlflow", mlflow.keys(connection))
    except InputProblem as problem:
        return replace(file, metadata={"problem": problem.message})
    return file


def _text(file: SniffedFile) -> SniffedFile:
    if _MLFLOW_RUN.search(file.head[:4096]):
        from rollprof.sources import mlflow

        anchor = Path(file.path)
        if anchor.name == mlflow.ANCHOR and mlflow.is_run_folder(anchor.parent):
            return _marked(file, "mlflow_run", mlflow.run_keys(anchor))
    if b"," in file.head[:256]:
        from rollprof.sources.wandb_history import chart_keys, header_of

        columns = header_of(file.head)
        if columns:
            return _marked(file, "history", chart_keys(columns))
    return file
