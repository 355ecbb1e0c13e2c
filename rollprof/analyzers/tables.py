"""What analyzers work on: the tables of a dataset, and the user's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one run as lazy frames with the columns of `schema.tables`, and its metadata.

    `meta` is the JSON of the dataset's `rollprof.run` (framework, facts, sources, clock, alarms, notes,
    brings), with the ledger under `ledger`.
    """

    rollouts: pl.LazyFrame
    steps: pl.LazyFrame
    metrics: pl.LazyFrame
    engines: pl.LazyFrame
    gpus: pl.LazyFrame
    segments: pl.LazyFrame
    meta: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for.

    `idle_figure` names the headline instead of the one chosen by the rules; with `allow_modelled` it gets
    the upper end of its bracket as value where only lengths are known. `reward` names the component to
    use for difficulty. `steps` is an inclusive range. `resamples` and `seed` are for bootstraps.
    """

    idle_figure: str | None = None
    allow_modelled: bool = False
    reward: str | None = None
    split: Literal["train", "eval"] = "train"
    gpu_hour_cost: float | None = None
    steps: tuple[int | None, int | None] | None = None
    seed: int = 20_251
    resamples: int = 1000
