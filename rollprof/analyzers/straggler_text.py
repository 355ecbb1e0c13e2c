"""What the last rollouts said: private text, fetched only for those who ask for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rollprof.analyzers.results import Straggler

if TYPE_CHECKING:
    import polars as pl

TEXT = ("prompt", "response")


def has_text(frame: pl.LazyFrame) -> bool:
    """Whether the rollouts were converted with their text."""
    return bool(set(TEXT) & set(frame.collect_schema().names()))


def straggler_texts(
    frame: pl.LazyFrame, last: Sequence[Straggler], *, split: str = "train", limit: int = 4000
) -> dict[int, tuple[str | None, str | None]]:
    """Prompt and response of the last rollouts by step, each cut to `limit` characters.

    A rollout is known by its step, prompt and length; where several agree in all three the first is
    taken. Empty without the text columns of `--keep-text`.
    """
    import polars as pl

    names = frame.collect_schema().names()
    text = [name for name in TEXT if name in names]
    wanted = [s for s in last if s.prompt_id is not None]
    if not text or not wanted:
        return {}
    keys = pl.LazyFrame(
        {
            "step": [s.step for s in wanted],
            "prompt_id": [s.prompt_id for s in wanted],
            "length": [s.length for s in wanted],
        },
        schema={"step": pl.Int64, "prompt_id": pl.UInt64, "length": pl.Float64},
    )
    rows = frame.filter(pl.col("split").cast(pl.String) == split).select(
        pl.col("step").cast(pl.Int64),
        pl.col("prompt_id").cast(pl.UInt64),
        *(pl.col(name).cast(pl.String).str.slice(0, limit) for name in text),
        length=pl.coalesce("response_tokens", "response_chars").cast(pl.Float64),
    )
    on = ["step", "prompt_id", "length"]
    found = rows.join(keys, on=on, how="inner", nulls_equal=True).unique(
        on, keep="first", maintain_order=True
    )
    return {
        int(row["step"]): (row.get("prompt"), row.get("response"))
        for row in found.collect().iter_rows(named=True)
    }
