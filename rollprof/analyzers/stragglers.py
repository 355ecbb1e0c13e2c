"""The last rollout of each step: prompt, length, reward, how it ended, and why it was last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.results import Straggler
from rollprof.analyzers.run_data import RunData
from rollprof.analyzers.waits import Wait

if TYPE_CHECKING:
    import polars as pl


def stragglers(run: RunData, frame: pl.LazyFrame, found: Sequence[Wait]) -> list[Straggler]:
    """One per generation phase whose rollouts are in the log; `frame` is the rollouts table.

    `wait_s` is what the average rollout of the step waited for it; None where no time is known.
    """
    cases = [w for w in found if w.last is not None]
    at = np.array([w.last for w in cases], dtype=np.int64)
    details = _details(frame, run.rollouts.row[at])
    result = []
    for k, w in enumerate(cases):
        length = float(run.rollouts.length[at[k]])
        wait = w.figures.get("straggler_wait_mean_s")
        result.append(
            Straggler(
                step=int(run.steps[w.generation.index]),
                prompt_id=details["prompt_id"][k],
                length=None if np.isnan(length) else length,
                reward=details["reward"][k],
                finish_reason=details["finish_reason"][k],
                wait_s=None if wait is None else wait.value,
                why=w.why,
            )
        )
    return result


def _details(frame: pl.LazyFrame, rows: NDArray[np.int64]) -> dict[str, list[Any]]:
    """Prompt, reward and finish reason of these rows of rollouts, None where unknown."""
    import polars as pl

    names = set(frame.collect_schema().names())
    types = {"prompt_id": pl.UInt64, "reward": pl.Float64, "finish_reason": pl.String}
    found: dict[str, list[Any]] = {}
    for column, kind in types.items():
        if column not in names or not len(rows):
            found[column] = [None] * len(rows)
            continue
        values = frame.select(pl.col(column).gather(rows).cast(kind)).collect().to_series().to_list()
        found[column] = [None if isinstance(v, float) and not np.isfinite(v) else v for v in values]
    return found
