from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import length_rows, run_of

from rollprof.analyzers import length_stats
from rollprof.analyzers.lengths import LengthResult, analyze_lengths


def lengths_of(*args, **kwargs) -> LengthResult:  # type: ignore[no-untyped-def]
    return analyze_lengths(run_of(*args, **kwargs))


def value(result: LengthResult, name: str) -> float:
    found = result.figures[name].value
    assert found is not None, name
    return found


TEN = [10, 20, 30, 40, 50, 60, 70, 80, 90, 550]


def test_figures_of_ten_lengths_worked_out_by_hand() -> None:
    r = lengths_of(length_rows(TEN))
    assert value(r, "response_tokens_mean") == 100
    # squares: 28,500 + 302,500 = 331,000; /10 - 100^2 = 23,100
    assert value(r, "response_tokens_std") == pytest.approx(math.sqrt(23_100))
    assert (value(r, "response_tokens_min"), value(r, "response_tokens_max")) == (10, 550)
    assert value(r, "response_tokens_p50") == 55  # half-way between the fifth and the sixth
    assert value(r, "response_tokens_p90") == pytest.approx(90 + 0.1 * 460)  # rank .9*9 = 8.1
    assert value(r, "response_tokens_p95") == pytest.approx(90 + 0.55 * 460)
    assert value(r, "max_over_median") == 10
    assert value(r, "p99_over_p50") == pytest.approx((90 + 0.91 * 460) / 55)
    # Gini: sum (2i-n-1) L_i / (n sum L) = (-90-140-150-120-50+60+210+400+630+4,950)/10,000
    assert value(r, "gini_length") == pytest.approx(0.57)
    assert value(r, "tail_token_share_1") == value(r, "tail_token_share_5") == pytest.approx(0.55)
    assert value(r, "tail_token_share_10") == pytest.approx(0.55)
    assert {r.figures[n].basis for n in ("response_tokens_p99", "gini_length")} == {"measured"}
    assert r.figures["response_tokens_mean"].n == 10


def test_gini_is_the_sum_over_pairs() -> None:
    L = np.sort(np.array([3.0, 1, 4, 1, 5, 9, 2, 6]))
    pairs = np.minimum.outer(L, L).sum()
    assert length_stats.gini(L) == pytest.approx(1 - pairs / (len(L) * L.sum()))
    assert length_stats.gini(np.full(5, 7.0)) == 0


def test_tail_takes_whole_responses() -> None:
    r = lengths_of(length_rows([1] * 199 + [801]))
    # 1 % of 200 are two, 5 % ten, 10 % twenty
    assert value(r, "tail_token_share_1") == pytest.approx(802 / 1000)
    assert value(r, "tail_token_share_5") == pytest.approx(810 / 1000)
    assert value(r, "tail_token_share_10") == pytest.approx(820 / 1000)


def test_pooled_is_over_rollouts_and_steps_have_their_own() -> None:
    r = lengths_of([*length_rows([10] * 9, step=1), *length_rows([100], step=2)])
    assert value(r, "response_tokens_mean") == 19
    assert [s["response_tokens_mean"].value for s in r.steps] == [10, 100]


def test_histograms_count_every_length_and_the_ecdf_has_101_points() -> None:
    L = [1, 1, 2, 3, 500, 1000, 16_000]
    found = lengths_of(length_rows(L), fact={"response_cap": 16_000}).lengths
    assert found.linear is not None
    assert found.log is not None
    assert sum(found.linear.counts) == sum(found.log.counts) == len(L)
    assert len(found.linear.edges) == len(found.linear.counts) + 1
    assert (found.log.edges[0], found.log.edges[-1]) == (1, 16_000)
    assert (len(found.ecdf), found.ecdf[0], found.ecdf[50], found.ecdf[100]) == (101, 1, 3, 16_000)
    assert (found.unit, found.token_basis, found.cap) == ("tokens", "exact", 16_000)


@given(st.lists(st.integers(0, 50_000), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_length_is_lost_in_a_histogram(L: list[int]) -> None:
    ordered = np.sort(np.array(L, dtype=float))
    for h in length_stats.histograms(ordered, "tokens"):
        assert sum(h.counts) == len(L)
        assert all(a < b for a, b in zip(h.edges, h.edges[1:], strict=False))


def test_truncated_share_pools_what_is_known() -> None:
    rows = [
        {**r, "finish_reason": w}
        for r, w in zip(length_rows([1, 2, 3, 4]), ["length", "stop", None, "stop"], strict=True)
    ]
    r = lengths_of(rows)
    assert value(r, "truncated_share") == pytest.approx(1 / 3)
    assert "3 of 4" in r.figures["truncated_share"].note


def test_kaplan_meier_with_an_abort_by_hand() -> None:
    # at 10: 4 at risk, 1 ends: S = 3/4; at 20 one is aborted; at 30: 2 at risk, 1 ends: S = 3/8; at 40: 0
    rows = [
        {**r, "finish_reason": w}
        for r, w in zip(length_rows([10, 20, 30, 40]), ["stop", "abort", "stop", "stop"], strict=True)
    ]
    r = lengths_of(rows)
    assert value(r, "km_median_tokens") == 30
    assert value(r, "km_restricted_mean_tokens") == pytest.approx(10 * 1 + 20 * 0.75 + 10 * 0.375)


def test_kaplan_meier_with_one_common_cap_is_the_sample() -> None:
    L = [5, 10, 20, 100, 100]
    r = lengths_of(length_rows(L), fact={"response_cap": 100})
    assert value(r, "truncated_share") == 0.4
    assert value(r, "km_median_tokens") == 20
    assert value(r, "km_restricted_mean_tokens") == np.mean(L)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_the_short_way_of_kaplan_meier_is_the_long_way(L: list[int]) -> None:
    from scipy import stats

    values = np.array(L, dtype=float)
    censored = values >= 25
    censored &= values == values.max()
    median, mean = length_stats.kaplan_meier(values, censored)
    sf = stats.ecdf(stats.CensoredData.right_censored(values, censored)).sf
    steps = np.concatenate([[0], sf.quantiles])
    assert mean == pytest.approx(np.concatenate([[1], sf.probabilities[:-1]]) @ np.diff(steps))
    below = sf.quantiles[sf.probabilities <= 0.5 + 1e-12]
    assert median == (below[0] if len(below) else None)


def test_a_median_beyond_the_cap_is_not_invented() -> None:
    r = lengths_of(length_rows([10, 100, 100, 100]), fact={"response_cap": 100})
    assert r.figures["km_median_tokens"].value is None
    assert "cut" in r.figures["km_median_tokens"].note


def test_drift_is_the_slope_of_the_steps() -> None:
    rows = [r for s in range(1, 8) for r in length_rows([100 + 10 * s - 5, 100 + 10 * s + 5], step=s)]
    r = lengths_of(rows)
    assert value(r, "length_drift_p50") == pytest.approx(10)
    assert r.figures["length_drift_p50"].interval == (10, 10)
    assert r.figures["length_drift_p50"].unit == "tokens per step"
    assert lengths_of(length_rows([1, 2])).figures["length_drift_p50"].value is None


def test_drift_over_many_steps_stays_the_slope() -> None:
    steps = np.arange(2500.0)
    slope, low, high = length_stats.theil_sen(steps, 3 * steps + 7)
    assert (slope, low, high) == pytest.approx((3, 3, 3))


AGGREGATES = [
    {"step": 1, "rollouts": 100, "response_tokens_mean": 200.0, "response_tokens_min": 9.0,
     "response_tokens_max": 900.0, "truncated_share": 0.0},
    {"step": 2, "rollouts": 300, "response_tokens_mean": 400.0, "response_tokens_min": 7.0,
     "response_tokens_max": 1000.0, "truncated_share": 0.2},
]  # fmt: skip


def test_aggregates_alone_are_weighted_by_rollouts() -> None:
    r = lengths_of(steps=AGGREGATES)
    assert value(r, "response_tokens_mean") == 350
    assert (value(r, "response_tokens_min"), value(r, "response_tokens_max")) == (7, 1000)
    assert value(r, "truncated_share") == pytest.approx(0.15)
    assert r.figures["response_tokens_mean"].basis == "logged"
    assert r.figures["response_tokens_p50"].value is None
    assert r.steps[1]["response_tokens_max"].value == 1000
    assert r.lengths.linear is None


def test_aggregates_without_counts_weigh_the_same_and_say_so() -> None:
    steps = [{k: v for k, v in s.items() if k != "rollouts"} for s in AGGREGATES]
    r = lengths_of(steps=steps)
    assert value(r, "response_tokens_mean") == 300
    assert "same" in r.figures["response_tokens_mean"].note


def test_scaled_lengths_are_modelled_and_the_logged_mean_wins() -> None:
    rows = [{**r, "token_basis": "scaled"} for r in length_rows([100, 300])]
    r = lengths_of(
        rows, [{"step": 1, "rollouts": 2, "response_tokens_mean": 200.4, "response_tokens_max": 310.0}]
    )
    assert (value(r, "response_tokens_mean"), r.figures["response_tokens_mean"].basis) == (200.4, "logged")
    assert value(r, "response_tokens_max") == 310
    assert r.figures["response_tokens_p90"].basis == "modelled"
    assert r.steps[0]["response_tokens_mean"].basis == "logged"


def test_exact_lengths_win_and_the_logged_mean_stands_beside() -> None:
    r = lengths_of(length_rows([100, 300]), [{"step": 1, "rollouts": 2, "response_tokens_mean": 200.4}])
    figure = r.figures["response_tokens_mean"]
    assert (figure.value, figure.basis, dict(figure.others)) == (200, "measured", {"logged": 200.4})


def test_characters_are_said_to_be_characters() -> None:
    rows = [{"step": 1, "response_chars": n, "token_basis": "characters"} for n in (80, 120)]
    r = lengths_of(rows, fact={"response_cap": 100})
    figure = r.figures["response_tokens_mean"]
    assert (figure.value, figure.unit) == (100, "characters")
    assert "characters" in figure.note
    assert (r.lengths.unit, r.lengths.cap) == ("characters", None)
    assert r.figures["truncated_share"].value is None


@given(
    st.lists(st.integers(0, 9000), min_size=1, max_size=50),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40, deadline=None)
def test_order_does_not_matter_and_shares_are_shares(L: list[int], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(L)
    random.shuffle(shuffled)
    a = length_stats.summary(np.sort(np.array(L, float)))
    assert a == length_stats.summary(np.sort(np.array(shuffled, float)))
    for name, share in a.items():
        if name.startswith(("gini", "tail")):
            assert 0 <= share <= 1
    if sum(L):
        assert a["tail_token_share_1"] <= a["tail_token_share_5"] <= a["tail_token_share_10"]
