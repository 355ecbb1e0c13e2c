"""A small adapter of our own, and tasks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollprof.adapters.base import Claim, Dropped, Row
from rollprof.parallel.tasks import ChunkTask, ConvertOptions
from rollprof.sources.records import SniffedFile

COLUMNS = ("step", "prompt", "response", "reward", "correct")


class Mapper:
    """input, output, score, step, acc -> columns; empty outputs are padding, rows without one unusable."""

    columns = COLUMNS

    def __call__(self, record: dict[str, Any]) -> Row | Dropped:
        if "output" not in record:
            raise ValueError("no output")
        if record["output"] == "":
            return Dropped("padding row")
        return tuple(record.get(key) for key in ("step", "input", "output", "score", "acc"))


class Given:
    """Every key that is asked for, as it stands."""

    def __init__(self, *columns: str) -> None:
        self.columns = columns

    def __call__(self, record: dict[str, Any]) -> Row | Dropped:
        return tuple(record.get(key) for key in self.columns)


def claim(**hints: str) -> Claim:
    return Claim("fake", "rollouts", 1.0, "made for a test", hints=hints)


def task(
    file: SniffedFile, *, lo: int = 0, hi: int | None = None, source: int = 0, **options: Any
) -> ChunkTask:
    return ChunkTask(file, claim(), source, ConvertOptions(**options), lo, hi, file.size)


def rows_of(result: Any) -> list[Mapping[str, Any]]:
    """The rollouts of a result as dicts."""
    return [row for batch in result.batches() for row in batch.to_pylist()]


ADAPTER_SOURCE = """
import os, signal, sys
from rollprof.adapters.base import Dropped

class Mapper:
    columns = ("step", "prompt", "response", "reward", "engine")
    def __call__(self, record):
        order = record.get("order")
        if order == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if order == "print":
            print("an adapter that talks", flush=True)
        if order == "sleep":
            import time
            time.sleep(record["seconds"])
        if record.get("output") == "":
            return Dropped("padding row")
        loaded = [m for m in ("polars", "scipy", "plotly", "rich", "typer") if m in sys.modules]
        return (record.get("step"), record.get("input"), record.get("output"), record.get("score"),
                " ".join([str(os.getpid()), *loaded]))

class Fake:
    name, title, brings = "fake", "Fake", {}
    def claim(self, file): return None
    def mapper(self, context):
        if context.hints.get("order") == "refuse":
            from rollprof.errors import InputProblem
            raise InputProblem("this mapper refuses", hint="ask another")
        if context.hints.get("order") == "break":
            raise ZeroDivisionError("a bug")
        return Mapper()
    def read(self, file, claim, ledger): return []
    def interpret(self, evidence): raise NotImplementedError

ADAPTER = Fake()
"""
"""The adapter as another package would bring it, for tests with real worker processes."""
