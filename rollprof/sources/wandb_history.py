"""Exports of a wandb history: rows as Parquet, JSON lines or CSV, and the CSV of a chart."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollprof.schema.ledger import Ledger
from rollprof.sources.lines import read_json
from rollprof.sources.opening import open_bytes
from rollprof.sources.parquet import read_parquet
from rollprof.sources.records import MetricRecord, SniffedFile
from rollprof.sources.sinks import ScalarRun

STEP, TIME = "_step", "_timestamp"
OWN = (STEP, TIME, "_runtime")
MAX_FIELD = 1 << 20

_CHART = re.compile(r"^(?P<run>.+) - (?P<key>\S.*?)(?P<extreme>__MIN|__MAX)?$")


def is_history(keys: Sequence[str]) -> bool:
    """True for columns of rows of a history."""
    return STEP in keys and len(keys) > 2


def header_of(head: bytes) -> tuple[str, ...]:
    """The columns of a CSV that wandb exported; empty for any other text."""
    first = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    if b"," not in first or (b"_step" not in first and b"__MIN" not in first):
        return ()
    try:
        columns = tuple(next(csv.reader([first.decode("utf-8", "replace").strip("\r")])))
    except (csv.Error, StopIteration):
        return ()
    return columns if is_history(columns) or _is_chart(columns) else ()


def _is_chart(columns: Sequence[str]) -> bool:
    named = [m for c in columns[1:] if (m := _CHART.match(c)) is not None]
    return len(named) == len(columns) - 1 and any(m["extreme"] for m in named)


def chart_keys(columns: Sequence[str]) -> tuple[str, ...]:
    """Keys that the columns of a CSV stand for."""
    if not _is_chart(columns):
        return tuple(columns)
    return (columns[0], *dict.fromkeys(m["key"] for c in columns[1:] if (m := _CHART.match(c)) is not None))


def read_history(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """The run of an export; a chart's CSV has several runs side by side."""
    if file.kind == "text" and _is_chart(header_of(file.head)):
        return _chart(file, ledger)
    stem = file.name.rpartition("/")[2].split(".", 1)[0]
    run = ScalarRun("history", f"wandb-export:{file.name}", stem, own_steps=True)
    for offset, row in enumerate(_rows(file, ledger)):
        step, time = _step(row.get(STEP)), _number(row.get(TIME))
        for key, held in row.items():
            value = _number(held)
            if value is not None and key not in OWN and step is not None:
                run.records.append(MetricRecord(step, key, value, time, offset))
    return [run]


def _rows(file: SniffedFile, ledger: Ledger) -> Iterator[Mapping[str, Any]]:
    if file.kind == "parquet":
        yield from read_parquet(file, ledger)
    elif file.kind == "text":
        columns, rows = _csv(file, ledger)
        for cells in rows:
            yield dict(zip(columns, cells, strict=False))
    else:
        yield from (record.data for record in read_json(file, ledger))


def _csv(file: SniffedFile, ledger: Ledger) -> tuple[list[str], Iterator[list[str]]]:
    csv.field_size_limit(MAX_FIELD)
    with open_bytes(file.path, file.compression) as stream:
        text = io.StringIO(stream.read().decode("utf-8-sig", "replace"), newline="")
    reader = csv.reader(text)
    columns = next(reader)
    ledger.ok()

    def rows() -> Iterator[list[str]]:
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as problem:
                ledger.skip(file.name, 0, f"row {reader.line_num}: {problem}")
                continue
            if len(cells) == len(columns):
                ledger.ok()
                yield cells
            elif cells:
                ledger.skip(file.name, 0, f"row {reader.line_num} has {len(cells)} of {len(columns)} columns")

    return columns, rows()


def _chart(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """A chart's CSV: one column per run (and its extremes in the sample, which are left out)."""
    columns, rows = _csv(file, ledger)
    named = [(i, m) for i, c in enumerate(columns) if i and (m := _CHART.match(c)) and not m["extreme"]]
    runs: dict[str, ScalarRun] = {}
    for offset, cells in enumerate(rows):
        step = _step(cells[0])
        for i, match in named:
            value = _number(cells[i])
            if step is None or value is None:
                continue
            name = match["run"]
            run = runs.setdefault(
                name,
                ScalarRun("history", f"wandb-chart:{name}", name, own_steps=columns[0] == "Step"),
            )
            run.records.append(MetricRecord(step, match["key"], value, None, offset))
    return list(runs.values())


def _number(held: Any) -> float | None:
    """A cell that is a number; pandas' empty cells (NaN in Parquet) count as empty."""
    if isinstance(held, str):
        try:
            held = float(held) if held and "_" not in held else None
        except ValueError:
            return None
    if isinstance(held, bool | int | float):
        return float(held) if held == held else None
    return None


def _step(held: Any) -> int | None:
    number = _number(held)
    return int(number) if number is not None and math.isfinite(number) else None
