"""wandb's own log, `run-ID.wandb`, read without wandb: history, settings, GPU samples and console lines.

The format has been the same since 2020: framed protocol buffers (`wandb_internal.proto`). Field numbers here
are those of its public schema.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from rollprof.schema.ledger import Ledger
from rollprof.sources.framed_log import read_framed
from rollprof.sources.gpu_keys import GpuRow, wandb_gpus
from rollprof.sources.records import MetricRecord, SniffedFile
from rollprof.sources.redaction import without_secrets
from rollprof.sources.sinks import MAX_KEYS, ScalarRun
from rollprof.sources.wire import DamagedMessage, fields, message, signed, text, timestamp

HISTORY, OUTPUT, CONFIG, STATS, OUTPUT_RAW, RUN = 2, 4, 5, 7, 13, 17
FIRST_ROWS = 64
"""Rows of history that are looked at to learn the keys."""

OWN = ("_step", "_timestamp", "_runtime")
_NO_NUMBERS = ("{", "[", '"', "n")


def read_wandb(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """The run in the file. A log that ends before its run record is named after its file."""
    run = ScalarRun("wandb", "", "", own_steps=True)
    host, left_out, gpu_rows = "", 0, list[GpuRow]()
    for offset, record in read_framed(file, ledger):
        try:
            for number, value in fields(record):
                data = message(value)
                if number == HISTORY:
                    left_out += _history(data, offset, run)
                elif number == STATS:
                    gpu_rows.append(_stats(data))
                elif number == CONFIG:
                    _update(run.config, data)
                elif number == RUN:
                    host = _run(data, run) or host
        except (DamagedMessage, ValueError) as problem:
            ledger.skip(file.name, offset, f"damaged record: {problem}", lines=0)
    if left_out:
        ledger.note(file.name, 0, f"{left_out} values that are no numbers (tables, lists, text) left out")
    stem = file.stem.removeprefix("run-")
    run.run_id = run.run_id or f"wandb:{stem}"
    run.name = run.name or stem
    run.config = without_secrets(run.config)
    run.gpus = wandb_gpus(gpu_rows, host)
    return [run]


def keys(file: SniffedFile) -> tuple[str, ...]:
    """Keys of the first rows of the history."""
    seen: dict[str, None] = {}
    rows = 0
    for offset, record in read_framed(file, Ledger()):
        try:
            for number, value in fields(record):
                if number == HISTORY:
                    run = ScalarRun("wandb", "", "")
                    _history(message(value), offset, run)
                    seen.update((r.key, None) for r in run.records)
                    rows += 1
        except (DamagedMessage, ValueError):
            continue
        if rows >= FIRST_ROWS or len(seen) >= MAX_KEYS:
            break
    return tuple(seen)


def console_chunks(file: SniffedFile) -> Iterator[tuple[int, float | None, str]]:
    """(offset, epoch seconds, text) of what the run wrote to its console, in pieces as it was written."""
    for offset, record in read_framed(file, Ledger()):
        try:
            for number, value in fields(record):
                if number in (OUTPUT_RAW, OUTPUT):
                    yield (offset, *_output(message(value), ends=number == OUTPUT))
        except DamagedMessage:
            continue


def _output(data: bytes, *, ends: bool) -> tuple[float | None, str]:
    time, line = None, ""
    for number, value in fields(data):
        if number == 2:
            time = timestamp(message(value))
        elif number == 3:
            line = text(value)
    return time, line + "\n" if ends and not line.endswith("\n") else line


def _items(data: bytes, field: int) -> Iterator[tuple[str, str]]:
    """(key, JSON text) of the items of a history, settings or statistics record; nested keys with dots."""
    for number, value in fields(data):
        if number != field:
            continue
        key, nested, held = "", list[str](), ""
        for inner, part in fields(message(value)):
            if inner == 1:
                key = text(part)
            elif inner == 2:
                nested.append(text(part))
            elif inner == 16:
                held = text(part)
        yield key or ".".join(nested), held


def _history(data: bytes, offset: int, run: ScalarRun) -> int:
    """Add a row; returns how many of its values are no numbers."""
    own: dict[str, float] = {}
    row: list[tuple[str, float]] = []
    left_out = 0
    items = list(_items(data, 1))
    objects = tuple(key.removesuffix("_type") for key, _ in items if key.endswith("._type"))
    for key, held in items:
        if objects and key.startswith(objects):  # the parts of a table, a picture or a histogram
            left_out += key.endswith("._type")
            continue
        value = _number(held)
        if key in OWN:
            own[key] = value if value is not None else math.nan
        elif value is not None:
            row.append((key, value))
        else:
            left_out += 1
    step, time = own.get("_step", math.nan), own.get("_timestamp", math.nan)
    if not math.isfinite(step):
        step = float(_row_step(data))
    when = time if math.isfinite(time) else None
    run.records += [MetricRecord(int(step), key, value, when, offset) for key, value in row]
    return left_out


def _row_step(data: bytes) -> int:
    for number, value in fields(data):
        if number == 2:
            return next((signed(v) for n, v in fields(message(value)) if n == 1 and isinstance(v, int)), 0)
    return 0


def _number(held: str) -> float | None:
    """A number, a switch, or a number that JSON cannot say ("NaN"); None for anything else."""
    if held in ('"NaN"', '"Infinity"', '"-Infinity"', '"inf"', '"-inf"'):
        return float(held.strip('"'))
    if held in ("true", "false"):
        return float(held == "true")
    if not held or held.startswith(_NO_NUMBERS):
        return None
    try:
        return float(held)
    except ValueError:
        return None


def _stats(data: bytes) -> GpuRow:
    time = next((timestamp(message(v)) for n, v in fields(data) if n == 2), None)
    return time, {k: v for k, held in _items(data, 3) if (v := _number(held)) is not None}


def _update(config: dict[str, Any], data: bytes) -> None:
    """Settings of a config record. Dots of nested keys stay."""
    for key, held in _items(data, 1):
        if key != "_wandb":
            try:
                config[key] = json.loads(held)
            except (ValueError, RecursionError):
                continue


def _run(data: bytes, run: ScalarRun) -> str:
    """Identity and settings; returns the host."""
    host = ""
    for number, value in fields(data):
        if number == 1:
            run.run_id = f"wandb:{text(value)}"
            run.name = run.name or text(value)
        elif number == 4:
            _update(run.config, message(value))
        elif number == 13:
            host = text(value)
    return host
