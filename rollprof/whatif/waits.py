"""Waits for tools and environments where only the generation calls of each rollout are logged."""

from __future__ import annotations

import numpy as np
import polars as pl

from rollprof.model.schedule import Floats, Ints


def waits_between_turns(segments: pl.LazyFrame, rows: Ints) -> Floats | None:
    """Seconds that each of the `rows` of rollouts.parquet waited between the end of a turn's generation and
    the start of the next one's (n,); None where no rollout has two turns with times.

    Gaps within a turn are interruptions, not tools.
    """
    columns = {"rollout": pl.Int64, "turn": pl.Int64, "started_at": pl.Float64, "completed_at": pl.Float64}
    if not set(columns) <= set(segments.collect_schema().names()):
        return None
    table = (
        segments.select([pl.col(c).cast(t, strict=False) for c, t in columns.items()])
        .drop_nulls()
        .sort("rollout", "turn", "started_at")
        .with_columns(
            gap=pl.when(pl.col("turn") != pl.col("turn").shift(1).over("rollout")).then(
                pl.col("started_at") - pl.col("completed_at").shift(1).over("rollout")
            )
        )
        .filter(pl.col("gap").is_finite())
        .group_by("rollout")
        .agg(pl.col("gap").clip(0.0).sum())
        .collect()
    )
    if not len(table):
        return None
    found = np.zeros(len(rows))
    order = np.argsort(rows)
    at = np.minimum(np.searchsorted(rows[order], table["rollout"].to_numpy()), len(rows) - 1)
    known = rows[order][at] == table["rollout"].to_numpy()
    found[order[at[known]]] = table["gap"].to_numpy()[known]
    return found if (found > 0).any() else None
