"""Damage never gives a traceback, and every physical line is accounted for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollprof.adapters.base import Claim, Dropped, Evidence, MapperContext
from rollprof.adapters.trl import ADAPTER
from rollprof.adapters.trl.completions import COLUMNS
from rollprof.assemble import merge
from rollprof.schema.ledger import Ledger
from rollprof.schema.tables import STEPS
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

from .log_text import metrics, panel, redrawn, v4, v5

quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

LOG = "\n".join(
    [
        "some text",
        *(redrawn(s, 6, f"00:{s:02}", (v4 if s % 2 else v5)(metrics(s), s / 6)) for s in range(1, 6)),
        panel(5),
        "{'train_runtime': 9.0, 'train_loss': 0.1, 'epoch': 1.0}",
        v4(metrics(1), 0.1).replace(", '", ",\n '"),
        "",
    ]
).encode()

PIECES = st.one_of(
    st.binary(max_size=30),
    st.sampled_from(
        [
            b"\n",
            b"\r",
            b"\0",
            b"\xff",
            b"{'loss': ",
            b"}",
            b"'",
            b"9/9 [00:01<",
            "╭── Step 7 ──╮".encode(),
            b"nan",
        ]
    ),
)


def written(tmp_path: Path, content: bytes, kind: str) -> SniffedFile:
    path = tmp_path / "run.log"
    path.write_bytes(content)
    found = sniff(str(path), "run.log")
    return SniffedFile(found.path, found.name, found.size, kind, found.compression, found.head, found.objects)  # type: ignore[arg-type]


def understood(file: SniffedFile, role: Any) -> Ledger:
    """Read and interpret a file as far as it goes."""
    ledger = Ledger()
    for part in ADAPTER.read(file, Claim("trl", role, 0.9, ""), ledger):
        merged = merge.merge([part])
        found = ADAPTER.interpret(Evidence(merged.metrics, merged.times, merged.config, merged.hints, {}, {}))
        for row in found.steps:
            assert set(row) <= {*STEPS.column_names, "generations"}
            assert row["split"] in ("train", "eval")
    return ledger


@quick
@given(at=st.integers(0, len(LOG)), piece=PIECES, cut=st.integers(0, len(LOG)), keep=st.booleans())
def test_console_logs(tmp_path: Path, at: int, piece: bytes, cut: int, keep: bool) -> None:
    content = LOG[:at] + piece + (LOG[at:] if keep else LOG[max(at, cut) :])
    if not content:
        return
    ledger = understood(written(tmp_path, content, "text"), "console")
    assert ledger.lines == content.count(b"\n") + (not content.endswith(b"\n"))


@quick
@given(lines=st.permutations(LOG.split(b"\n")))
def test_lines_in_any_order(tmp_path: Path, lines: list[bytes]) -> None:
    understood(written(tmp_path, b"\n".join(lines), "text"), "console")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [*metrics(1), "step", "eval_reward", "eval_completions/mean_length", "perf/step_s", "train_loss"]
)


@quick
@given(history=st.lists(st.dictionaries(KEYS, JSON, max_size=8) | JSON, max_size=6), top=JSON)
def test_histories_of_anything(tmp_path: Path, history: list[Any], top: Any) -> None:
    import json

    content = json.dumps({"global_step": top, "log_history": history, "logging_steps": top, "max_steps": top})
    understood(written(tmp_path, content.encode(), "json_document"), "metrics")


@quick
@given(
    st.dictionaries(st.sampled_from(["step", "prompt", "completion", "advantage", "exact"]), JSON),
    st.dictionaries(st.sampled_from(["group_size", "engine_rows", "train_rows", "eval_rows"]), st.just("3")),
)
def test_rows_of_anything(record: dict[str, Any], hints: dict[str, str]) -> None:
    mapper = ADAPTER.mapper(
        MapperContext("c.parquet", "c", "train", {}, hints, ("step", "prompt", "completion", "exact"))
    )
    row = mapper(record)
    assert not isinstance(row, Dropped)
    assert len(row) == len(COLUMNS)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{}", b"[1, 2]", b'{"log_history": {"a": 1}, "global_step": 1}']
)
def test_small_files_claim_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert ADAPTER.claim(sniff(str(path), "x")) is None
