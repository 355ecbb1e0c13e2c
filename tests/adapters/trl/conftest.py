"""Logs and dumps in TRL's own forms, made on the spot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rollprof.adapters.base import Claim, Evidence, Interpretation, MetricPart, RolloutSummary
from rollprof.adapters.trl import ADAPTER
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

Make = Callable[..., SniffedFile]
Read = Callable[..., tuple[list[MetricPart], Ledger]]
Dump = Callable[..., SniffedFile]
Arrange = Callable[..., tuple[list[tuple[SniffedFile, Claim]], Ledger]]
Interpret = Callable[..., Interpretation]


@pytest.fixture
def read(make: Make) -> Read:
    """`read(content, name="run.log")` reads a file as TRL's: its parts and the ledger."""

    def run(content: str | bytes, name: str = "run.log") -> tuple[list[MetricPart], Ledger]:
        file, ledger = make(content, name), Ledger()
        claim = ADAPTER.claim(file)
        assert claim is not None, name
        return ADAPTER.read(file, claim, ledger), ledger

    return run


@pytest.fixture
def dump(tmp_path: Path) -> Dump:
    """`dump(step, rows)` writes a completions file the way TRL's pandas does."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def write(step: int, rows: Sequence[Mapping[str, Any]], folder: str = "completions") -> SniffedFile:
        path = tmp_path / folder / f"completions_{step:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist([{"step": step, **row} for row in rows]), path)
        return sniff(str(path), f"{folder}/{path.name}")

    return write


@pytest.fixture
def arrange() -> Arrange:
    """`arrange(files, config)` is the adapter's order of a dump's files, and the ledger."""

    def run(
        files: Sequence[SniffedFile], config: Mapping[str, Any] | None = None
    ) -> tuple[list[tuple[SniffedFile, Claim]], Ledger]:
        ledger = Ledger()
        claimed = []
        for file in files:
            claim = ADAPTER.claim(file)
            assert claim is not None, file.name
            claimed.append((file, claim))
        return ADAPTER.arrange(claimed, config or {}, ledger), ledger

    return run


@pytest.fixture
def interpret() -> Interpret:
    """`interpret({step: {key: value}}, config, …)` is TRL's reading of those metrics."""

    def run(
        metrics: Mapping[int, Mapping[str, float]],
        config: Mapping[str, Any] | None = None,
        hints: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
        rollouts: Mapping[tuple[int, str], RolloutSummary] | None = None,
    ) -> Interpretation:
        return ADAPTER.interpret(
            Evidence(metrics, {}, config or {}, hints or {}, overrides or {}, rollouts or {})
        )

    return run
