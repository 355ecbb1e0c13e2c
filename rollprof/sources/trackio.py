"""trackio's database, `PROJECT.db`, read without trackio: one file holds the runs of a project."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.databases import open_database, tables
from rollprof.sources.gpu_keys import GpuRow, trackio_gpus
from rollprof.sources.records import MetricRecord, SniffedFile
from rollprof.sources.redaction import without_secrets
from rollprof.sources.sinks import MAX_KEYS, ScalarRun

FIRST_ROWS = 512


def is_trackio(schema: dict[str, set[str]]) -> bool:
    """True for the tables that trackio makes."""
    return {"run_name", "metrics", "timestamp", "step"} <= schema.get("metrics", set())


def read_trackio(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """The runs in order of their first row. `step` is trackio's own count wherever the program gave none."""
    runs: dict[str, ScalarRun] = {}
    try:
        with open_database(file.path, file.name) as connection:
            schema = tables(connection)
            identity = "run_id" if "run_id" in schema["metrics"] else "run_name"
            query = f"SELECT id, {identity}, run_name, timestamp, step, metrics FROM metrics ORDER BY id"
            for row, run_id, name, when, step, held in connection.execute(query):
                values = _object(held)
                if values is None or not isinstance(step, int):
                    ledger.skip(file.name, 0, f"row {row} of metrics is no JSON object with a step")
                    continue
                ledger.ok()
                run = runs.setdefault(str(run_id), _run(str(run_id), str(name)))
                time = _epoch(when)
                run.records += [
                    MetricRecord(step, key, value, time, int(row)) for key, value in _numbers(values)
                ]
            _settings(connection, schema, identity, runs)
            _system(connection, schema, identity, runs)
    except (InputProblem, sqlite3.Error) as problem:
        ledger.skip(file.name, 0, getattr(problem, "message", str(problem)))
    return list(runs.values())


def keys(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Keys of the first rows."""
    seen: dict[str, None] = {}
    for (held,) in connection.execute(f"SELECT metrics FROM metrics ORDER BY id LIMIT {FIRST_ROWS}"):
        seen.update((key, None) for key, _ in _numbers(_object(held) or {}))
        if len(seen) >= MAX_KEYS:
            break
    return tuple(seen)


def _run(run_id: str, name: str) -> ScalarRun:
    return ScalarRun("trackio", f"trackio:{run_id}", name, own_steps=True)


def _object(held: Any) -> dict[str, Any] | None:
    text = held.decode("utf-8", "replace") if isinstance(held, bytes) else held
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _numbers(values: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for key, value in values.items():
        if isinstance(value, bool | int | float) or value in ("NaN", "Infinity", "-Infinity"):
            yield key, float(value)


def _epoch(when: Any) -> float | None:
    try:
        moment = datetime.fromisoformat(str(when))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _settings(
    connection: sqlite3.Connection, schema: dict[str, set[str]], identity: str, runs: dict[str, ScalarRun]
) -> None:
    if not {identity, "config"} <= schema.get("configs", set()):
        return
    for run_id, held in connection.execute(f"SELECT {identity}, config FROM configs"):
        run = runs.get(str(run_id))
        if run is not None:
            run.config = without_secrets(_object(held) or {})


def _system(
    connection: sqlite3.Connection, schema: dict[str, set[str]], identity: str, runs: dict[str, ScalarRun]
) -> None:
    if not {identity, "timestamp", "metrics"} <= schema.get("system_metrics", set()):
        return
    rows: dict[str, list[GpuRow]] = {}
    for run_id, when, held in connection.execute(
        f"SELECT {identity}, timestamp, metrics FROM system_metrics"
    ):
        rows.setdefault(str(run_id), []).append((_epoch(when), dict(_numbers(_object(held) or {}))))
    for run_id, found in rows.items():
        if run_id in runs:
            runs[run_id].gpus = trackio_gpus(found)
