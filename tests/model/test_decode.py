from __future__ import annotations

import math

import numpy as np
import pytest

from rollprof.model.decode import UNIT_COST, DecodeCost


def test_seconds_of_several_steps_equal_the_sum_of_single_steps() -> None:
    cost = DecodeCost(9.0, 0.007, 0.0001, 1e-6)
    together = cost.seconds(np.array([5]), np.array([3]), np.array([100]))[0]
    one_by_one = sum(0.007 + 0.0001 * 3 + 1e-6 * (100 + 3 * t) for t in range(5))
    assert together == pytest.approx(one_by_one, rel=1e-12)


@pytest.mark.parametrize("bad", [(-1, 1, 0, 0), (0, math.nan, 0, 0), (0, 1, math.inf, 0), (0, 1, 0, -1e-9)])
def test_costs_that_cannot_be_are_refused(bad: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="not negative"):
        DecodeCost(*bad)


def test_ratio_and_scale() -> None:
    assert DecodeCost(0, 2, 0.03, 0).ratio == pytest.approx(0.015)
    assert DecodeCost(0, 0, 1, 0).ratio == math.inf
    assert math.isnan(DecodeCost(1, 0, 0, 0).ratio)
    assert DecodeCost(1, 2, 3, 4).scaled(0.5) == DecodeCost(0.5, 1, 1.5, 2)
    assert UNIT_COST.a == 1
