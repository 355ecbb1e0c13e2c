"""Engine logs written out for tests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rollprof.adapters import registry
from rollprof.adapters.base import MetricPart
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff


def stats(
    time: float,
    running: int,
    waiting: int = 0,
    *,
    prompt: float = 0.0,
    generation: float = 0.0,
    engine: str = "Engine 000: ",
    prefix: str = "",
    more: str = "",
) -> str:
    """A line of vLLM's statistics as version 0.32 writes it; `more` stands before the KV cache."""
    stamp = datetime.fromtimestamp(time, UTC).strftime("%m-%d %H:%M:%S")
    return (
        f"{prefix}INFO {stamp} [loggers.py:271] {engine}Avg prompt throughput: {prompt:.1f} tokens/s, "
        f"Avg generation throughput: {generation:.1f} tokens/s, Running: {running} reqs, "
        f"Waiting: {waiting} reqs{more}, GPU KV cache usage: {running / 10:.1f}%, "
        "Prefix cache hit rate: 0.0%"
    )


def write(path: Path, lines: Sequence[str], *, written: float | None = None) -> SniffedFile:
    """The lines as a file that was last changed at `written`."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if written is not None:
        os.utime(path, (written, written))
    return sniff(str(path), path.name)


def read(file: SniffedFile, adapter: str) -> tuple[MetricPart, Ledger]:
    """What an adapter reads from a file that it claims."""
    found = registry.load(adapter)
    claim = found.claim(file)
    assert claim is not None
    ledger = Ledger()
    (part,) = found.read(file, claim, ledger)
    return part, ledger
