from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import ks_2samp

sys.path.insert(0, str(Path(__file__).parent))
from grouped_data import frame

from rollprof.analyzers.groups import grade
from rollprof.analyzers.sampling import analyze_sampling, nearest
from rollprof.stats.distance import ks_distance


def sampled(**columns: object):  # type: ignore[no-untyped-def]
    graded = grade(frame(**columns))
    assert graded is not None
    return analyze_sampling(graded, resamples=200)


HAND = {
    "step": [1, 1, 1, 1, 1, 1, 2, 2],
    "prompt_id": [1, 1, 2, 2, 3, 3, 1, 1],
    "group_id": [1, 1, 2, 2, 3, 3, 4, 4],
    "response_tokens": [10, 20, 30, 40, 100, 200, 50, 50],
    "reward": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0],
}


def test_hand_worked_shares() -> None:
    found = sampled(**HAND)
    assert found is not None
    value = {name: figure.value for name, figure in found.figures.items()}
    assert value["zero_variance_share"] == 3 / 4
    assert value["all_correct_share"] == 2 / 4
    assert value["all_wrong_share"] == 1 / 4
    assert value["useless_token_share"] == pytest.approx((30 + 300 + 100) / 500)
    assert value["dynamic_sampling_rounds"] == pytest.approx(4)
    step = {name: figure.value for name, figure in found.steps[1].items()}
    assert step["zero_variance_share"] == pytest.approx(2 / 3)
    assert step["useless_token_share"] == pytest.approx(330 / 400)
    assert found.steps[2]["zero_variance_share"].value == 1.0
    assert "dynamic_sampling_rounds" not in found.steps[2]  # no refill ever succeeds
    assert found.table["groups"]["all wrong"]["tokens"] == 300


def test_length_shift_is_scipys_distance() -> None:
    from scipy.stats import ks_2samp

    found = sampled(**HAND)
    assert found is not None
    wanted = ks_2samp([30, 40], [10, 20, 100, 200, 50, 50]).statistic
    assert found.figures["dynamic_sampling_length_shift"].value == pytest.approx(wanted)


def test_a_graded_reward_splits_no_right_from_wrong() -> None:
    found = sampled(**{**HAND, "reward": [0.5, 0.5, 0.7, 0.1, 0.2, 0.3, 0.9, 0.9]})
    assert found is not None
    assert "all_correct_share" not in found.figures
    assert found.figures["zero_variance_share"].value == 2 / 4


def test_single_samples_have_no_variance_to_speak_of() -> None:
    graded = grade(frame(prompt_id=[1, 2], group_id=[1, 2], response_tokens=[5, 6], reward=[0.0, 1.0]))
    assert graded is not None
    assert analyze_sampling(graded) is None


def test_no_reward_no_figure() -> None:
    assert grade(frame(prompt_id=[1, 1], group_id=[1, 1], response_tokens=[5, 6])) is None


def test_quantiles_and_distance_of_sorted_samples_as_the_libraries_have_them() -> None:
    rng = np.random.default_rng(5)
    for n, m in rng.integers(1, 200, (60, 2)):
        one = np.sort(rng.integers(0, 40, n).astype(float))
        other = np.sort(rng.integers(0, 60, m).astype(float))
        for q in (0.0, 0.1, 0.5, 0.9, 0.99, 1.0):
            assert nearest(one, q) == pl.Series(one).quantile(q, "nearest")
        assert ks_distance(one, other) == pytest.approx(ks_2samp(one, other, method="asymp").statistic)
