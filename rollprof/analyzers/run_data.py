"""One run as the analyzers see it: steps, their columns, their rollouts and the facts, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.facts import Facts, read_facts
from rollprof.analyzers.rollout_arrays import RolloutArrays, load_rollouts
from rollprof.analyzers.tables import Settings, Tables
from rollprof.schema.tables import STEPS

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Split = Literal["train", "eval"]

COLUMNS: tuple[str, ...] = tuple(c.name for c in STEPS if c.name not in ("step", "split"))


@dataclass(frozen=True, slots=True)
class RunData:
    """Steps of one split in order, shape (S,).

    `columns[name]` (S,) is NaN where the step lacks it; columns without any value are not kept.
    `slices[i]` is where the rollouts of `steps[i]` lie in `rollouts`, for the steps that have any.
    """

    steps: Ints
    columns: Mapping[str, Floats]
    rollouts: RolloutArrays
    slices: Mapping[int, slice]
    facts: Facts
    settings: Settings
    meta: Mapping[str, Any]
    _unknown: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # asked for some twenty times a step: a new one each time would take steps x steps
        object.__setattr__(self, "_unknown", np.full(len(self.steps), np.nan))
        self._unknown.flags.writeable = False

    def __len__(self) -> int:
        return len(self.steps)

    def column(self, name: str) -> Floats:
        """A column of steps (S,), to be read only; all NaN where no step has it."""
        return self.columns.get(name, self._unknown)

    def has(self, name: str) -> bool:
        """Whether any step has a value in this column."""
        return name in self.columns

    def row(self, i: int) -> dict[str, float]:
        """The columns of `steps[i]` that are not null."""
        return {name: float(v[i]) for name, v in self.columns.items() if not np.isnan(v[i])}

    def counts(self) -> Floats:
        """Rollouts of each step (S,): rows of rollouts, else as logged, else NaN."""
        found = self.column("rollouts").copy()
        for i, at in self.slices.items():
            found[i] = at.stop - at.start
        return found


def load_run(tables: Tables, settings: Settings, split: Split) -> RunData:
    """Read what analyzers need of one split. Steps outside `settings.steps` are left out."""
    facts = read_facts(tables.meta)
    rollouts = load_rollouts(tables.rollouts, split, settings.steps, facts.response_cap)
    logged, columns = _step_columns(tables.steps, split, settings.steps)
    placed = rollouts.steps
    if rollouts.one_step and len(logged):
        # rollouts that name no step belong to the only step there is, or to none
        placed = logged if len(logged) == 1 else placed[:0]
    steps = np.union1d(logged, placed).astype(np.int64)
    at = np.searchsorted(steps, logged)
    wide = {name: _spread(values, at, len(steps)) for name, values in columns.items()}
    spans = [s for _, s in rollouts.slices()]
    slices = {int(np.searchsorted(steps, s)): span for s, span in zip(placed, spans, strict=False)}
    seen = _engines_seen(rollouts)
    return RunData(
        steps=steps,
        columns=wide,
        rollouts=rollouts,
        slices=slices,
        facts=read_facts(tables.meta, seen) if seen else facts,
        settings=settings,
        meta=tables.meta,
    )


def _step_columns(
    frame: pl.LazyFrame, split: Split, steps: tuple[int | None, int | None] | None
) -> tuple[Ints, dict[str, Floats]]:
    import polars as pl

    names = set(frame.collect_schema().names())
    if "step" not in names:
        return np.empty(0, np.int64), {}
    chosen = frame.filter(pl.col("step").is_not_null())
    if "split" in names:
        is_eval = (pl.col("split").cast(pl.String) == "eval").fill_null(value=False)
        chosen = chosen.filter(is_eval if split == "eval" else ~is_eval)
    elif split == "eval":
        chosen = chosen.filter(pl.lit(value=False))
    first, last = steps or (None, None)
    if first is not None:
        chosen = chosen.filter(pl.col("step") >= first)
    if last is not None:
        chosen = chosen.filter(pl.col("step") <= last)
    wanted = [c for c in COLUMNS if c in names]
    columns = [pl.col(c).cast(pl.Float64, strict=False) for c in wanted]
    table = chosen.select(pl.col("step").cast(pl.Int64), *columns).collect()
    table = table.unique("step", keep="last", maintain_order=True).sort("step")
    found: dict[str, Floats] = {}
    for name in wanted:
        values = np.array(table[name].to_numpy(), dtype=np.float64)
        values[~np.isfinite(values)] = np.nan
        if not np.isnan(values).all():
            found[name] = values
    return table["step"].to_numpy().astype(np.int64), found


def _spread(values: Floats, at: NDArray[np.intp], n: int) -> Floats:
    wide = np.full(n, np.nan)
    wide[at] = values
    return wide


def _engines_seen(rollouts: RolloutArrays) -> int:
    """The most engines that served rollouts of one step."""
    if rollouts.engine is None:
        return 0
    counts = [len(np.unique(rollouts.engine[span])) for _, span in rollouts.slices()]
    some_unknown = int((rollouts.engine < 0).any())
    return max(0, max(counts, default=0) - some_unknown)
