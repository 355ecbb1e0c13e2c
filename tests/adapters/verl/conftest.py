"""verl's files read, and metrics interpreted, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from rollprof.adapters.base import Evidence, Interpretation, MetricPart, RolloutSummary
from rollprof.adapters.verl import ADAPTER
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile


@pytest.fixture
def read(make: Callable[..., SniffedFile]) -> Callable[..., tuple[list[MetricPart], Ledger]]:
    """`read(content, name="run.log")` reads a verl file: its parts and the ledger."""

    def run(content: str | bytes, name: str = "run.log") -> tuple[list[MetricPart], Ledger]:
        file, ledger = make(content, name), Ledger()
        claim = ADAPTER.claim(file)
        assert claim is not None
        return ADAPTER.read(file, claim, ledger), ledger

    return run


@pytest.fixture
def interpret() -> Callable[..., Interpretation]:
    """`interpret({step: {key: value}}, …)` is verl's reading of those metrics."""

    def run(
        metrics: Mapping[int, Mapping[str, float]],
        config: Mapping[str, Any] | None = None,
        hints: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
        rollouts: Mapping[tuple[int, str], RolloutSummary] | None = None,
        times: Mapping[int, float] | None = None,
    ) -> Interpretation:
        return ADAPTER.interpret(
            Evidence(metrics, times or {}, config or {}, hints or {}, overrides or {}, rollouts or {})
        )

    return run
