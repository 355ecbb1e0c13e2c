from __future__ import annotations

import numpy as np
import pytest

from rollprof.stats.bootstrap import mean_interval, ratio_interval


def test_it_is_reproducible_and_holds_the_mean() -> None:
    values = np.random.default_rng(0).normal(5, 2, 50)
    first = mean_interval(values)
    assert first is not None
    assert first == mean_interval(values)
    assert first != mean_interval(values, seed=1)
    assert first[0] < values.mean() < first[1]


def test_the_width_is_that_of_the_standard_error() -> None:
    values = np.random.default_rng(3).normal(0, 1, 400)
    found = mean_interval(values, resamples=4000)
    assert found is not None
    assert found[1] - found[0] == pytest.approx(2 * 1.645 * values.std() / 20, rel=0.1)


def test_equal_values_leave_no_room() -> None:
    assert mean_interval([3.0] * 10, np.arange(1.0, 11)) == pytest.approx((3, 3))


def test_a_ratio_of_sums_is_not_a_mean_of_ratios() -> None:
    low, high = ratio_interval([1.0, 90.0], [10.0, 100.0], resamples=2000) or (0, 0)
    assert (low, high) == pytest.approx((0.1, 0.9))


def test_nine_in_ten_intervals_cover() -> None:
    rng = np.random.default_rng(11)
    hits = 0
    for seed in range(200):
        w = rng.uniform(1, 5, 40)
        v = rng.exponential(2.0, 40)
        low, high = mean_interval(v, w, seed=seed, resamples=400) or (0, 0)
        hits += low <= 2.0 <= high
    assert 165 <= hits <= 195


def test_too_little_to_draw_from() -> None:
    assert mean_interval([1.0]) is None
    assert mean_interval([1.0, float("nan")]) is None
    assert ratio_interval([1.0, 2.0], [0.0, 0.0]) is None
    with pytest.raises(ValueError, match="denominators"):
        ratio_interval([1.0], [1.0, 2.0])
