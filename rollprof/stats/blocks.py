"""A long series cut to what a plot or a table can show: blocks of neighbours, each with its range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbours `first` to `last` (inclusive, in the keys of the series), summarised.

    `low`, `middle`, `high` are minimum, median and maximum and `mean` the mean of the known values; all
    None where no value is known.
    """

    first: int
    last: int
    low: float | None
    middle: float | None
    high: float | None
    mean: float | None


def blocks(keys: Sequence[int], values: Sequence[float | None], most: int) -> list[Block]:
    """At most `most` blocks of equal size (the last may be smaller), in order.

    `keys` and `values` have the same length; None and NaN are unknown. Up to `most` values, a block is one
    value.
    """
    if len(keys) != len(values):
        raise ValueError(f"{len(keys)} keys, {len(values)} values")
    size = max(1, math.ceil(len(keys) / max(most, 1)))
    return [_block(keys[i : i + size], values[i : i + size]) for i in range(0, len(keys), size)]


def _block(keys: Sequence[int], values: Sequence[float | None]) -> Block:
    known = [v for v in values if v is not None and not math.isnan(v)]
    if not known:
        return Block(keys[0], keys[-1], None, None, None, None)
    return Block(keys[0], keys[-1], min(known), median(known), max(known), fmean(known))
