from __future__ import annotations

import numpy as np
import pytest

from rollprof.stats.icc import icc1


def test_hand_worked_balanced_groups() -> None:
    # Three groups of two: means 1, 4, 7; MSB = 2*18/2 = 18, MSW = 3*0.5/3 = .5; (18-.5)/(18+.5).
    found = icc1([0.5, 1.5, 3.5, 4.5, 6.5, 7.5], [0, 0, 1, 1, 2, 2])
    assert found is not None
    assert found.value == pytest.approx(17.5 / 18.5)
    assert (found.groups, found.members) == (3, 6)


def test_groups_of_one_say_nothing_and_too_few_groups_give_none() -> None:
    assert icc1([1, 2, 3], [0, 1, 2]) is None
    assert icc1([1, 2, 3, 4], [0, 0, 1, 1]) is None
    assert icc1([5.0] * 8, [0, 0, 1, 1, 2, 2, 3, 3]) is None


def test_unequal_sizes_agree_with_the_anova_formula() -> None:
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(20), rng.integers(2, 9, 20))
    values = rng.normal(size=20)[groups] + rng.normal(size=len(groups))
    k, n = 20, np.bincount(groups)
    means = np.array([values[groups == g].mean() for g in range(k)])
    msb = (n * (means - values.mean()) ** 2).sum() / (k - 1)
    msw = ((values - means[groups]) ** 2).sum() / (n.sum() - k)
    n0 = (n.sum() - (n**2).sum() / n.sum()) / (k - 1)
    found = icc1(values, groups)
    assert found is not None
    assert found.value == pytest.approx((msb - msw) / (msb + (n0 - 1) * msw))


@pytest.mark.parametrize("true", [0.05, 0.4, 0.9])
def test_interval_covers_the_truth_about_as_often_as_it_says(true: float) -> None:
    groups = np.repeat(np.arange(60), 8)
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        between = np.repeat(rng.normal(size=60) * np.sqrt(true), 8)
        found = icc1(between + rng.normal(size=480) * np.sqrt(1 - true), groups, seed=seed)
        assert found is not None
        covered += found.low <= true <= found.high
    assert 0.90 <= covered / 200 <= 0.99


def test_thinned_interval_matches_the_full_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(1500), 4)
    values = rng.normal(size=1500)[groups] + rng.normal(size=6000)
    full = icc1(values, groups)
    monkeypatch.setattr("rollprof.stats.icc.MAX_BOOTSTRAP_GROUPS", 500)
    thin = icc1(values, groups)
    assert full is not None
    assert thin is not None
    assert thin.value == full.value
    assert thin.high - thin.low == pytest.approx(full.high - full.low, rel=0.25)


def test_blocks_cost_their_degrees_of_freedom() -> None:
    """Few groups per step: taking the step means out must not pull ICC down."""
    groups, steps = np.repeat(np.arange(120), 8), np.repeat(np.arange(120) // 6, 8)
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        drift = rng.normal(size=20)[steps] * 3
        values = drift + 0.632 * rng.normal(size=120)[groups] + 0.775 * rng.normal(size=960)
        result = icc1(values, groups, blocks=steps, resamples=50)
        assert result is not None
        found.append(result.value)
    assert np.mean(found) == pytest.approx(0.4, abs=0.015)
