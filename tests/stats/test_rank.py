from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rollprof.stats.rank import rank_correlation


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_value_is_scipys(method: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 5, 80)  # ties, as pass rates have
    y = x + rng.normal(size=80) * 2
    found = rank_correlation(x, y, method=method, resamples=50, permutations=0)  # type: ignore[arg-type]
    wanted = stats.spearmanr(x, y) if method == "spearman" else stats.kendalltau(x, y)
    assert found is not None
    assert found.value == pytest.approx(wanted.statistic)
    assert found.low <= found.value <= found.high


def test_nothing_to_correlate() -> None:
    assert rank_correlation([1, 2, 3, 4], [1, 2, 3, 4]) is None
    assert rank_correlation([1] * 9, range(9)) is None
    assert rank_correlation([np.nan] * 9, range(9)) is None


def test_null_is_rejected_about_as_often_as_it_should() -> None:
    rejected = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        found = rank_correlation(
            rng.normal(size=60), rng.normal(size=60), resamples=10, permutations=400, seed=seed
        )
        assert found is not None
        assert found.p is not None
        rejected += found.p < 0.05
    assert rejected / 300 <= 0.09


def test_coverage_of_spearman() -> None:
    truth = 6 / np.pi * np.arcsin(0.25)  # rho_s of a bivariate normal with r = .5
    covered = 0
    for seed in range(200):
        z = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 60)
        found = rank_correlation(z[:, 0], z[:, 1], permutations=0, resamples=500, seed=seed)
        assert found is not None
        covered += found.low <= truth <= found.high
    assert 0.90 <= covered / 200 <= 0.99
