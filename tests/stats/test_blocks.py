"""Long series in blocks."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.stats.blocks import Block, blocks


def test_few_values_stay_as_they_are() -> None:
    assert blocks([3, 5], [1.0, None], 10) == [
        Block(3, 3, 1.0, 1.0, 1.0, 1.0),
        Block(5, 5, None, None, None, None),
    ]


def test_many_values_become_ranges() -> None:
    found = blocks(list(range(1, 8)), [1.0, 5.0, 3.0, math.nan, 2.0, None, 8.0], 3)
    assert found == [
        Block(1, 3, 1.0, 3.0, 5.0, 3.0),
        Block(4, 6, 2.0, 2.0, 2.0, 2.0),
        Block(7, 7, 8.0, 8.0, 8.0, 8.0),
    ]


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="1 keys, 0 values"):
        blocks([1], [], 3)


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9)), min_size=1), st.integers(1, 50))
def test_nothing_is_lost(values: list[float | None], most: int) -> None:
    found = blocks(list(range(len(values))), values, most)
    assert len(found) <= most
    assert found[0].first == 0
    assert found[-1].last == len(values) - 1
    assert all(a.last + 1 == b.first for a, b in pairwise(found))
    known = [v for v in values if v is not None]
    highs, lows = [b.high for b in found if b.high is not None], [b.low for b in found if b.low is not None]
    assert (max(highs, default=None), min(lows, default=None)) == (
        max(known, default=None),
        min(known, default=None),
    )
