"""Rollouts of one split as numpy arrays, sorted by step: read once, column by column, sliced per step.

Ten million rollouts in ten thousand steps must fit in memory, so columns that are all null are not kept,
each column is read by itself, and no Python object is made per rollout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rollprof.schema.tables import TOKEN_BASES

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.int8]
"""1 yes, 0 no, -1 unknown."""

Unit = Literal["tokens", "characters"]


@dataclass(frozen=True, slots=True)
class RolloutArrays:
    """Columns of rollouts in step order; NaN (or -1) where a rollout lacks the value, None where all do.

    `steps[i]` owns the slice `offsets[i]:offsets[i+1]`. `length` is in `unit`; `decoded` counts only what
    the policy produced, where the log tells it apart. `duration` is queue + generation + tools. `row` is
    the position in rollouts.parquet.
    """

    steps: Ints
    offsets: Ints
    row: Ints
    length: Floats
    unit: Unit
    token_basis: str | None
    prompt: Floats | None = None
    decoded: Floats | None = None
    start: Floats | None = None
    finish: Floats | None = None
    duration: Floats | None = None
    queue: Floats | None = None
    tool: Floats | None = None
    engine: NDArray[np.int32] | None = None
    truncated: Flags | None = None
    aborted: Flags | None = None
    unplaced: int = 0
    """Rollouts that name no step while others do; they are left out."""
    one_step: bool = False
    """No rollout names a step: all are taken as one."""

    def __len__(self) -> int:
        return len(self.length)

    def slices(self) -> Sequence[tuple[int, slice]]:
        """(step, slice) for every step, in order."""
        at = self.offsets
        return [(int(s), slice(int(at[i]), int(at[i + 1]))) for i, s in enumerate(self.steps)]

    @property
    def exact(self) -> bool:
        """Lengths are counts of tokens, not characters nor scaled from them."""
        return self.token_basis in ("exact", "tokenized", None) and self.unit == "tokens"


def load_rollouts(
    frame: pl.LazyFrame,
    split: Literal["train", "eval"],
    steps: tuple[int | None, int | None] | None = None,
    cap: float | None = None,
) -> RolloutArrays:
    """Read the rollouts of `split`, of steps `a..b` (inclusive, either end open). `cap` in tokens."""
    reader = _Reader(frame)
    order, step_of, unplaced, one_step = _order(reader, split, steps)
    reader.order = order
    if not len(order):
        return _no_rollouts()
    length, unit, basis = _lengths(reader)
    found, first = np.unique(step_of, return_index=True)
    queue, tool = reader.floats("queue_s"), reader.floats("tool_s")
    truncated, aborted = _ends(reader, length, unit, basis, cap)
    decoded = reader.floats("generated_tokens") if unit == "tokens" else None
    if decoded is not None and np.array_equal(decoded, length, equal_nan=True):
        decoded = None
    return RolloutArrays(
        steps=found.astype(np.int64),
        offsets=np.append(first, len(step_of)).astype(np.int64),
        row=order.astype(np.int64, copy=False),
        length=length,
        unit=unit,
        token_basis=basis,
        prompt=reader.floats("prompt_tokens"),
        decoded=decoded,
        start=reader.floats("started_at"),
        finish=reader.floats("completed_at"),
        duration=_duration(reader.floats("generate_s"), queue, tool),
        queue=queue,
        tool=tool,
        engine=reader.codes("engine"),
        truncated=truncated,
        aborted=aborted,
        unplaced=unplaced,
        one_step=one_step,
    )


def _no_rollouts() -> RolloutArrays:
    none = np.empty(0, np.int64)
    return RolloutArrays(none, np.zeros(1, np.int64), none, np.empty(0), "tokens", None)


class _Reader:
    """One column at a time, in the order of the steps."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self.frame = frame
        self.names = frozenset(frame.collect_schema().names())
        self.order: NDArray[np.intp] | None = None

    def expression(self, needs: str, expression: pl.Expr) -> pl.Series | None:
        """The values of `expression`; None where the column `needs` is absent or all null."""
        if needs not in self.names:
            return None
        series = self.frame.select(expression.alias(needs)).collect().to_series()
        return None if series.null_count() == len(series) else series

    def floats(self, name: str) -> Floats | None:
        """A numeric column, NaN for null and for what is not finite."""
        import polars as pl

        series = self.expression(name, pl.col(name).cast(pl.Float64, strict=False))
        if series is None:
            return None
        values = self._sorted(series.to_numpy())
        if not np.isfinite(values).all():
            values = np.where(np.isfinite(values), values, np.nan)
        return None if np.isnan(values).all() else values

    def codes(self, name: str) -> NDArray[np.int32] | None:
        """A column of few distinct strings as dense codes, -1 for null."""
        import polars as pl

        series = self.expression(name, pl.col(name).cast(pl.String).cast(pl.Categorical).to_physical())
        if series is None:
            return None
        values = self._sorted(series.cast(pl.Int64).fill_null(-1).to_numpy())
        _, dense = np.unique(values, return_inverse=True)
        return (dense - int((values < 0).any())).astype(np.int32)

    def flags(self, name: str, yes: str, unknown: Sequence[str]) -> Flags | None:
        """1 where the column says `yes`, -1 where it is null or `unknown`, 0 otherwise."""
        import polars as pl

        column = pl.col(name)
        if self.expression(name, column.drop_nulls().head(1)) is None:
            return None
        wanted = (column == yes).cast(pl.Int8).fill_null(-1)
        for word in unknown:
            wanted = pl.when((column == word).fill_null(value=False)).then(-1).otherwise(wanted)
        wanted = wanted.cast(pl.Int8)
        series = self.expression(name, wanted)
        return None if series is None else self._sorted(series.to_numpy())

    def _sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        if self.order is None or _is_identity(self.order, len(values)):
            return values
        return values[self.order]


def _is_identity(order: NDArray[np.intp], n: int) -> bool:
    return len(order) == n and (
        n == 0 or (order[0] == 0 and order[-1] == n - 1 and bool((np.diff(order) == 1).all()))
    )


def _order(
    reader: _Reader, split: str, steps: tuple[int | None, int | None] | None
) -> tuple[NDArray[np.intp], Ints, int, bool]:
    """Rows of the split in step order, the step of each, rows without a step, and whether none has one."""
    import polars as pl

    n = int(reader.frame.select(pl.len()).collect().item())
    keep = np.full(n, split == "train")
    is_eval = reader.expression("split", (pl.col("split").cast(pl.String) == "eval").fill_null(value=False))
    if is_eval is not None:
        keep = is_eval.to_numpy() == (split == "eval")
    series = reader.expression("step", pl.col("step").cast(pl.Int64))
    if series is None:
        rows = np.flatnonzero(keep)
        return rows, np.ones(len(rows), np.int64), 0, len(rows) > 0
    known = series.is_not_null().to_numpy()
    step = series.fill_null(0).to_numpy()
    bare = np.flatnonzero(keep & ~known)
    keep &= known
    if not keep.any() and len(bare):
        return bare, np.ones(len(bare), np.int64), 0, True
    first, last = steps or (None, None)
    if first is not None:
        keep &= step >= first
    if last is not None:
        keep &= step <= last
    rows = np.flatnonzero(keep)
    step = step[rows]
    if len(step) and (np.diff(step) < 0).any():
        by_step = np.argsort(step, kind="stable")
        rows, step = rows[by_step], step[by_step]
    return rows, step, len(bare), False


def _lengths(reader: _Reader) -> tuple[Floats, Unit, str | None]:
    tokens = reader.floats("response_tokens")
    if tokens is not None:
        return tokens, "tokens", _token_basis(reader)
    chars = reader.floats("response_chars")
    if chars is not None:
        return chars, "characters", "characters"
    n = 0 if reader.order is None else len(reader.order)
    return np.full(n, np.nan), "tokens", None


def _token_basis(reader: _Reader) -> str | None:
    """The weakest basis among the rows that have a token count."""
    import polars as pl

    if not {"token_basis", "response_tokens"} <= reader.names:
        return None
    column = pl.col("token_basis").cast(pl.String)
    frame = reader.frame.filter(pl.col("response_tokens").is_not_null())
    found = set(frame.select(column.drop_nulls().unique()).collect().to_series().to_list())
    known = [b for b in TOKEN_BASES if b in found]
    return known[-1] if known else None


def _duration(generate: Floats | None, queue: Floats | None, tool: Floats | None) -> Floats | None:
    """Seconds from submission to completion where only durations are logged."""
    if generate is None:
        return None
    total = generate.copy()
    for part in (queue, tool):
        if part is not None:
            total += np.nan_to_num(part)
    return total


def _ends(
    reader: _Reader, length: Floats, unit: Unit, basis: str | None, cap: float | None
) -> tuple[Flags | None, Flags | None]:
    """Truncated and aborted: by finish reason, or by a counted length at the cap."""
    truncated = reader.flags("finish_reason", "length", ["unknown"])
    aborted = reader.flags("finish_reason", "abort", ["unknown"])
    if cap is not None and unit == "tokens" and basis in ("exact", "tokenized", None):
        known = ~np.isnan(length)
        at_cap = known & (length >= cap)
        by_length = np.where(known, at_cap, -1).astype(np.int8)
        truncated = by_length if truncated is None else np.maximum(truncated, by_length)
    if truncated is not None and (truncated < 0).all():
        truncated = None
    return truncated, aborted
