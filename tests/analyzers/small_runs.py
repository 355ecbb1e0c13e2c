"""Small runs as tables, from rows written out in the test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from rollprof.analyzers.analyze import analyze
from rollprof.analyzers.results import Analysis
from rollprof.analyzers.run_data import RunData, load_run
from rollprof.analyzers.tables import Settings, Tables
from rollprof.schema.tables import BY_NAME, Table, arrow_type

Row = Mapping[str, Any]


def frame(table: Table, rows: Sequence[Row]) -> pl.LazyFrame:
    """Rows of a table with every column of the schema, typed as stored."""
    unknown = {k for row in rows for k in row} - set(table.column_names)
    assert not unknown, unknown
    columns = {}
    for column in table:
        values = [row.get(column.name) for row in rows]
        plain = pa.string() if column.type == "category" else arrow_type(column)
        columns[column.name] = pa.array(values, plain).cast(arrow_type(column))
    found = pl.from_arrow(pa.table(columns))
    assert isinstance(found, pl.DataFrame)
    return found.lazy()


def facts(**values: Any) -> dict[str, dict[str, Any]]:
    return {k: {"value": v, "origin": "config", "how": "said in the test"} for k, v in values.items()}


def tables(
    rollouts: Sequence[Row] = (), steps: Sequence[Row] = (), *, fact: Row | None = None, **meta: Any
) -> Tables:
    """Tables of a run; rows are of the training split unless they say otherwise."""
    return Tables(
        rollouts=frame(BY_NAME["rollouts"], [{"split": "train", **r} for r in rollouts]),
        steps=frame(BY_NAME["steps"], [{"split": "train", **s} for s in steps]),
        metrics=frame(BY_NAME["metrics"], []),
        engines=frame(BY_NAME["engines"], []),
        gpus=frame(BY_NAME["gpus"], []),
        segments=frame(BY_NAME["segments"], []),
        meta={"framework": "generic", "clock": "epoch", **meta, "facts": facts(**(fact or {}))},
    )


def analyzed(
    rollouts: Sequence[Row] = (),
    steps: Sequence[Row] = (),
    *,
    fact: Row | None = None,
    settings: Settings | None = None,
    **meta: Any,
) -> Analysis:
    return analyze(tables(rollouts, steps, fact=fact, **meta), settings or Settings(resamples=50))


def run_of(
    rollouts: Sequence[Row] = (),
    steps: Sequence[Row] = (),
    *,
    fact: Row | None = None,
    settings: Settings | None = None,
    **meta: Any,
) -> RunData:
    return load_run(tables(rollouts, steps, fact=fact, **meta), settings or Settings(), "train")


def timed_rows(
    lengths: Sequence[float],
    finish: Sequence[float],
    start: Sequence[float] | None = None,
    *,
    step: int = 1,
    t0: float = 1.7e9,
    **more: Sequence[Any],
) -> list[dict[str, Any]]:
    """Rollouts of one step that start and complete at these seconds of it."""
    begin = start if start is not None else [0.0] * len(finish)
    return [
        {
            "step": step,
            "response_tokens": int(L),
            "token_basis": "exact",
            "started_at": t0 + s,
            "completed_at": t0 + f,
            **{k: v[i] for k, v in more.items()},
        }
        for i, (L, s, f) in enumerate(zip(lengths, begin, finish, strict=True))
    ]


def length_rows(lengths: Sequence[int], *, step: int = 1, **more: Any) -> list[dict[str, Any]]:
    """Rollouts of one step of which only lengths are known."""
    return [{"step": step, "response_tokens": int(L), "token_basis": "exact", **more} for L in lengths]


def straggler_512() -> list[dict[str, Any]]:
    """512 responses, 500 done at 2 s and 12 at 30 s: the worked example of the definitions."""
    return timed_rows([100] * 500 + [1500] * 12, [2.0] * 500 + [30.0] * 12)


def engine_requests(corpus: Path, name: str, *, times: bool = True) -> list[dict[str, Any]]:
    """Requests of a real vLLM engine in the words of the schema."""
    rows = []
    for line in (corpus / "engine" / "vllm_0.32_cpu" / f"{name}_requests.jsonl").read_text().splitlines():
        r = json.loads(line)
        row = {
            "step": r["step"],
            "response_tokens": r["response_len"],
            "prompt_tokens": r["prompt_len"],
            "token_basis": "exact",
        }
        if times:
            row |= {"started_at": r["start"], "completed_at": r["end"]}
        rows.append(row)
    return rows
