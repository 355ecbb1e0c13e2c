from __future__ import annotations

import math

import numpy as np
import pytest

from rollprof.stats.quantiles import nearest_rank


def test_nearest_rank_is_one_of_the_values() -> None:
    assert nearest_rank(range(1, 11), 0.9) == 9
    assert nearest_rank(range(1, 12), 0.9) == 10
    assert nearest_rank([5], 0.9) == 5
    assert nearest_rank([1, 2], 1.0) == 2
    assert math.isnan(nearest_rank([], 0.9))


@pytest.mark.parametrize("n", [1, 2, 10, 70, 512, 1000])
def test_nearest_rank_is_the_smallest_that_covers_the_share(n: int) -> None:
    values = np.random.default_rng(n).permutation(n)
    at = nearest_rank(values, 0.9)
    assert 10 * (values <= at).sum() >= 9 * n
    assert 10 * (values < at).sum() < 9 * n
