"""mlflow's file store and its SQLite database, read without mlflow.

File store: `mlruns/EXPERIMENT/RUN/` with one text file per metric (`milliseconds value step` a line, a key's
slashes as folders) and one per parameter. Both keep every digit.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.databases import open_database, tables
from rollprof.sources.gpu_keys import GpuRow, is_system, mlflow_gpus
from rollprof.sources.records import MetricRecord, SniffedFile
from rollprof.sources.redaction import without_secrets
from rollprof.sources.sinks import MAX_KEYS, ScalarRun

METRICS, PARAMS = "metrics", "params"
ANCHOR = "meta.yaml"
MAX_PARAM = 64 << 10

_RUN_ID = re.compile(rb"^run_(?:id|uuid): '?([\w-]{1,64})'?\s*$", re.MULTILINE)
_RUN_NAME = re.compile(rb"^run_name: '?([^'\r\n]{1,200}?)'?\s*$", re.MULTILINE)

Point = tuple[str, float, float, int]
"""key, milliseconds, value, step"""


def is_run_folder(folder: Path) -> bool:
    """True for the folder of one run in a file store."""
    return (folder / ANCHOR).is_file() and (folder / METRICS).is_dir()


def run_keys(anchor: Path) -> tuple[str, ...]:
    """Keys of a run in a file store: the names of its metric files."""
    return tuple(islice((key for key, _ in _metric_files(anchor.parent)), MAX_KEYS))


def read_mlflow_run(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """The run whose `meta.yaml` the file is."""
    folder = Path(file.path).parent
    head = Path(file.path).read_bytes()[: 64 << 10]
    named = _RUN_ID.search(head), _RUN_NAME.search(head)
    run_id = named[0][1].decode() if named[0] else folder.name
    run = ScalarRun(
        "mlflow_run", f"mlflow:{run_id}", named[1][1].decode("utf-8", "replace") if named[1] else run_id
    )
    ledger.ok(head.count(b"\n"))
    shown = file.name.rpartition("/")[0]
    points = [
        point
        for key, path in _metric_files(folder)
        for point in _points(key, path, f"{shown}/{METRICS}/{key}".lstrip("/"), ledger)
    ]
    _fill(run, points)
    run.config = without_secrets(dict(_params(folder)))
    return [run]


def _metric_files(folder: Path) -> Iterator[tuple[str, Path]]:
    root = folder / METRICS
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(root).as_posix(), path


def _points(key: str, path: Path, shown: str, ledger: Ledger) -> Iterator[Point]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        ledger.skip(shown, 0, f"cannot be read: {error.strerror or error}")
        return
    offset = 0
    for line in lines:
        parts = line.split()
        try:
            if parts:
                yield key, float(parts[0]), float(parts[1]), int(parts[2])
                ledger.ok()
        except (ValueError, IndexError):
            ledger.skip(shown, offset, "no time, value and step")
        offset += len(line) + 1


def _params(folder: Path) -> Iterator[tuple[str, object]]:
    root = folder / PARAMS
    for path in sorted(root.rglob("*")) if root.is_dir() else ():
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_PARAM:
            yield path.relative_to(root).as_posix(), _plain(path.read_text("utf-8", "replace"))


def is_mlflow(schema: dict[str, set[str]]) -> bool:
    """True for the tables that mlflow makes."""
    return {"key", "value", "timestamp", "run_uuid", "step"} <= schema.get("metrics", set())


def keys(connection: sqlite3.Connection) -> tuple[str, ...]:
    """Keys of all metrics."""
    return tuple(
        str(key) for (key,) in connection.execute(f"SELECT DISTINCT key FROM metrics LIMIT {MAX_KEYS}")
    )


def read_mlflow(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """The runs in a database, in order of their first metric."""
    runs: list[ScalarRun] = []
    try:
        with open_database(file.path, file.name) as connection:
            schema = tables(connection)
            names = _names(connection, schema)
            params = _database_params(connection, schema)
            nan = "is_nan" if "is_nan" in schema["metrics"] else "0"
            query = f"SELECT run_uuid, key, timestamp, value, step, {nan} FROM metrics ORDER BY timestamp"
            points: dict[str, list[Point]] = {}
            for run_id, key, when, value, step, is_nan in connection.execute(query):
                if not (isinstance(step, int) and isinstance(when, int | float)):
                    ledger.skip(file.name, 0, f"a row of {key!r} without a time and a step")
                    continue
                number = float(value) if isinstance(value, int | float) and not is_nan else math.nan
                points.setdefault(str(run_id), []).append((str(key), float(when), number, step))
                ledger.ok()
            for run_id, found in points.items():
                run = ScalarRun("mlflow", f"mlflow:{run_id}", names.get(run_id) or run_id)
                _fill(run, found)
                run.config = without_secrets(params.get(run_id, {}))
                runs.append(run)
    except (InputProblem, sqlite3.Error, ValueError, TypeError) as problem:
        ledger.skip(file.name, 0, getattr(problem, "message", str(problem)))
    return runs


def _names(connection: sqlite3.Connection, schema: dict[str, set[str]]) -> dict[str, str]:
    if not {"run_uuid", "name"} <= schema.get("runs", set()):
        return {}
    return {str(i): str(n) for i, n in connection.execute("SELECT run_uuid, name FROM runs") if n}


def _database_params(
    connection: sqlite3.Connection, schema: dict[str, set[str]]
) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    if {"run_uuid", "key", "value"} <= schema.get("params", set()):
        for run_id, key, value in connection.execute("SELECT run_uuid, key, value FROM params"):
            found.setdefault(str(run_id), {})[str(key)] = _plain(str(value))
    return found


def _fill(run: ScalarRun, points: Iterable[Point]) -> None:
    """Records in the order of time; scalars of one moment and step are one row."""
    system: dict[float, dict[str, float]] = {}
    rows: dict[tuple[float, int], int] = {}
    for key, when, value, step in sorted(points, key=lambda p: (p[1], p[3])):
        if is_system(key):
            system.setdefault(when, {})[key] = value
            continue
        row = rows.setdefault((when, step), len(rows))
        run.records.append(MetricRecord(step, key, value, when / 1000, row))
    samples: list[GpuRow] = [(when / 1000, values) for when, values in system.items()]
    run.gpus = mlflow_gpus(samples)


def _plain(text: str) -> object:
    """A parameter, which mlflow keeps as the text of a Python value."""
    stripped = text.strip()
    if stripped in ("True", "False", "None"):
        return {"True": True, "False": False}.get(stripped)
    for kind in (int, float):
        try:
            return kind(stripped) if "_" not in stripped else stripped
        except ValueError:
            continue
    return stripped
