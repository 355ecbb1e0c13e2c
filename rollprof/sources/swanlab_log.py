"""SwanLab's own log, `run-ID.swanlab`, read without SwanLab: the same framing as wandb's, other messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from rollprof.schema.ledger import Ledger
from rollprof.sources.framed_log import read_framed
from rollprof.sources.records import MetricRecord, SniffedFile
from rollprof.sources.sinks import MAX_KEYS, ScalarRun
from rollprof.sources.wire import DamagedMessage, fields, message, signed, text, timestamp

RUN, SCALAR, CONSOLE = 10, 13, 16
FLOAT = 1
FIRST_SCALARS = 2000


def read_swanlab(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """The run in the file. Settings stand in a file beside it (`files/config.yaml`)."""
    run = ScalarRun("swanlab", f"swanlab:{file.stem.removeprefix('run-')}", file.stem.removeprefix("run-"))
    for offset, record in read_framed(file, ledger):
        try:
            for number, value in fields(record):
                if number == SCALAR:
                    scalar = _scalar(message(value), offset)
                    if scalar is not None:
                        run.records.append(scalar)
                elif number == RUN:
                    for inner, part in fields(message(value)):
                        if inner == 10:
                            run.run_id, run.name = f"swanlab:{text(part)}", text(part)
        except (DamagedMessage, struct.error) as problem:
            ledger.skip(file.name, offset, f"damaged record: {problem}", lines=0)
    return [run]


def keys(file: SniffedFile) -> tuple[str, ...]:
    """Keys of the first scalars."""
    seen: dict[str, None] = {}
    count = 0
    for offset, record in read_framed(file, Ledger()):
        try:
            for number, value in fields(record):
                if number == SCALAR and (scalar := _scalar(message(value), offset)) is not None:
                    seen[scalar.key] = None
                    count += 1
        except (DamagedMessage, struct.error):
            continue
        if count >= FIRST_SCALARS or len(seen) >= MAX_KEYS:
            break
    return tuple(seen)


def console_chunks(file: SniffedFile) -> Iterator[tuple[int, float | None, str]]:
    """(offset, epoch seconds, text) of what the run wrote to its console, line by line."""
    for offset, record in read_framed(file, Ledger()):
        try:
            for number, value in fields(record):
                if number == CONSOLE:
                    inner = dict(fields(message(value)))
                    yield offset, timestamp(message(inner.get(3, b""))), text(inner.get(1, b"")) + "\n"
        except DamagedMessage:
            continue


def _scalar(data: bytes, offset: int) -> MetricRecord | None:
    """A scalar; None for a picture, text or table that was logged under its key."""
    key, step, time, value = "", 0, None, None
    for number, part in fields(data):
        if number == 1:
            key = text(part)
        elif number == 2 and isinstance(part, int):
            step = signed(part)
        elif number == 3 and part != FLOAT:
            return None
        elif number == 4:
            time = timestamp(message(part))
        elif number == 5:
            held = next((v for n, v in fields(message(part)) if n == 1), b"")
            value = float(struct.unpack("<d", held)[0]) if isinstance(held, bytes) and len(held) == 8 else 0.0
    return MetricRecord(step, key, value, time, offset) if key and value is not None else None
