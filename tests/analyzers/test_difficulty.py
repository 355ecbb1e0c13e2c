from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

sys.path.insert(0, str(Path(__file__).parent))
from grouped_data import frame, known_truth

from rollprof.analyzers import difficulty
from rollprof.analyzers.difficulty import _longest, _waits, analyze_difficulty
from rollprof.analyzers.groups import grade, group_table
from rollprof.errors import UsageProblem
from rollprof.stats.rank import rank_correlation


def analyzed(rollouts: object, **grading: object):  # type: ignore[no-untyped-def]
    graded = grade(rollouts, **grading)  # type: ignore[arg-type]
    assert graded is not None
    return analyze_difficulty(graded, resamples=200)


HAND = {
    # Two prompts are right on both samples and short, one mixed, two wrong and long.
    "prompt_id": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    "group_id": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
    "response_tokens": [10, 10, 20, 20, 30, 50, 80, 80, 100, 160],
    "reward": [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
}


def test_hand_worked_groups() -> None:
    found = analyzed(frame(**HAND))
    figures = found.figures
    # difficulty 0 0 .5 1 1 against rising lengths: ranks (1.5 1.5 3 4.5 4.5) and (1 2 3 4 5).
    wanted = np.corrcoef([1.5, 1.5, 3, 4.5, 4.5], [1, 2, 3, 4, 5])[0, 1]
    assert figures["difficulty_length_spearman"].value == pytest.approx(wanted)
    # tau-b: 8 concordant pairs, 2 tied in difficulty: 8 / sqrt(8 * 10).
    assert figures["difficulty_length_kendall"].value == pytest.approx(8 / np.sqrt(80))
    assert "wrong_minus_correct_tokens" not in figures  # one mixed group has no spread
    labels = [row["bucket"] for row in found.buckets]
    assert labels == ["all wrong", "mixed", "all right"]
    hard = found.buckets[0]
    assert (hard["prompts"], hard["rollouts"], hard["length_mean"]) == (2, 4, 105.0)
    assert hard["tail_share"] == 1.0  # the longest 5 % of ten rollouts is the 160
    # Lengths 10 10 20 20 30 50 80 80 100 160: between completions k wait and 10 - k run.
    causes = {"all wrong": 0.0, "mixed": 0.0, "all right": 0.0}
    order = ["all right"] * 4 + ["mixed"] * 2 + ["all wrong"] * 4
    lengths = [10, 10, 20, 20, 30, 50, 80, 80, 100, 160]
    for k in range(1, 10):
        for label in order[k:]:
            causes[label] += (lengths[k] - lengths[k - 1]) * k / (10 - k)
    total = sum(160 - length for length in lengths)
    assert sum(causes.values()) == pytest.approx(total)
    for row in found.buckets:
        assert row["wait_share"] == pytest.approx(causes[row["bucket"]] / total)


def test_gap_is_the_mean_over_mixed_groups() -> None:
    found = analyzed(
        frame(
            prompt_id=[1, 1, 2, 2, 2, 3, 3],
            group_id=[1, 1, 2, 2, 2, 3, 3],
            response_tokens=[10, 30, 40, 20, 60, 7, 9],
            reward=[1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0],
        )
    )
    # (30 - 10) and (50 - 20); the third group has no wrong one.
    assert found.figures["wrong_minus_correct_tokens"].value == pytest.approx(25.0)
    assert found.figures["wrong_minus_correct_tokens"].n == 2


def test_a_graded_reward_has_no_right_and_wrong() -> None:
    rewards = [0.1, 0.2, 0.5, 0.4, 0.9, 0.8, 0.3, 0.35, 0.6, 0.7]
    found = analyzed(frame(**{**HAND, "reward": rewards}))
    assert found.pass_rate == "mean reward"
    assert "wrong_minus_correct_tokens" not in found.figures
    assert found.buckets[0]["bucket"] == "reward 1 of 5"


def test_a_named_component_is_chosen_and_an_unknown_one_named() -> None:
    acc = [[{"key": "acc", "value": 1.0 - r}] for r in HAND["reward"]]
    rollouts = frame(**HAND, rewards=acc)
    plain = analyzed(rollouts).figures["difficulty_length_spearman"].value
    flipped = analyzed(rollouts, reward="acc").figures["difficulty_length_spearman"].value
    assert flipped == pytest.approx(-plain)
    with pytest.raises(UsageProblem, match="accc") as caught:
        grade(rollouts, reward="accc")
    assert "acc" in (caught.value.hint or "")


def test_evaluation_never_mixes_with_training() -> None:
    assert grade(frame(**HAND, split=["eval"] * 10)) is None


def test_truncation_alone_makes_a_correlation_that_goes_when_it_is_left_out() -> None:
    plain, without = [], []
    for seed in range(8):
        figures = analyzed(known_truth(seed, icc=0.4, rho=0.0, cap=800)).figures
        plain.append(figures["difficulty_length_spearman"].value)
        without.append(figures["difficulty_length_spearman_untruncated"].value)
    assert np.mean(plain) > 0.15
    assert abs(np.mean(without)) < 0.06


@pytest.mark.parametrize(("rho", "icc"), [(0.6, 0.4), pytest.param(0.0, 0.1, marks=pytest.mark.slow)])
def test_known_values_come_back_within_their_intervals(rho: float, icc: float) -> None:
    """95 % intervals cover the truth in 90 to 99 % of 200 seeds; truncation adds no false effect.

    The truth of the correlation is what a very large sample gives, computed once by scipy alone.
    """
    big = known_truth(10_000, prompts=60_000, icc=icc, rho=rho).collect()
    by_prompt = big.group_by("prompt_id").agg(
        difficulty=1 - pl.col("reward").mean(),
        log=pl.col("response_tokens").cast(float).log().mean(),
    )
    truth = stats.spearmanr(by_prompt["difficulty"], by_prompt["log"]).statistic
    covered = {"rho": 0, "icc": 0}
    for seed in range(200):
        graded = grade(known_truth(seed, prompts=120, icc=icc, rho=rho))
        assert graded is not None
        # The pieces of analyze_difficulty that these two figures come from; the whole takes ten times longer.
        points = difficulty._points(group_table(graded))
        found = rank_correlation(
            points["difficulty"], points["log_length"], resamples=400, permutations=0, seed=seed
        )
        assert found is not None
        covered["rho"] += found.low <= truth <= found.high
        low, high = difficulty._shape_of_variance(graded, 400, seed)["icc_log_length"].interval or (0, 0)
        covered["icc"] += low <= icc <= high
    assert 0.90 <= covered["rho"] / 200 <= 0.99, covered
    assert 0.90 <= covered["icc"] / 200 <= 0.99, covered


def test_repeat_offenders() -> None:
    # 40 prompts of 5; prompt 0 and 1 (5 % of prompts) own 8 of the 10 slowest (5 % of rollouts).
    lengths = np.full((40, 5), 10)
    lengths[0, :4] = lengths[1, :4] = 1000
    lengths[2, 0] = lengths[3, 0] = 1000
    owner = np.repeat(np.arange(40), 5)
    found = analyzed(
        frame(prompt_id=owner, group_id=owner, response_tokens=lengths.ravel(), reward=owner % 2 * 1.0)
    )
    assert found.figures["repeat_offender_share"].value == pytest.approx(0.8)


def test_epochs_and_probe_see_a_prompts_own_length() -> None:
    rng = np.random.default_rng(5)
    level = rng.normal(size=200)
    rows = [(step, p, level[p]) for step in (1, 2) for p in range(200) for _ in range(4)]
    step, prompt, mean = map(np.array, zip(*rows, strict=True))
    lengths = np.exp(5 + mean + 0.3 * rng.normal(size=len(mean)))
    figures = analyzed(
        frame(
            step=step,
            prompt_id=prompt,
            group_id=step * 1000 + prompt,
            response_tokens=lengths.astype(int),
            reward=(prompt % 2) * 1.0,
        )
    ).figures
    assert figures["epoch_spearman"].value > 0.9
    assert figures["probe_spearman"].value > 0.8
    assert figures["epoch_spearman"].n == 200


def test_by_dataset() -> None:
    found = analyzed(frame(**HAND, dataset=["a"] * 4 + ["b"] * 6))
    assert [(d["dataset"], d["prompts"], d["rollouts"]) for d in found.datasets] == [
        ("a", 2, 4),
        ("b", 3, 6),
    ]


def test_the_interval_of_many_groups_is_that_of_the_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    from rollprof.analyzers import difficulty

    gaps = np.random.default_rng(3).gamma(2.0, 50.0, size=4000)
    resampled = difficulty._interval_of_mean(gaps, 1000, 0)
    monkeypatch.setattr(difficulty, "MANY_GROUPS", 100)
    normal = difficulty._interval_of_mean(gaps, 1000, 0)
    width = normal[1] - normal[0]
    assert normal == pytest.approx(resampled, abs=0.1 * width)


def test_ranks_do_not_depend_on_the_order_in_which_lengths_are_added_up() -> None:
    rng = np.random.default_rng(4)
    n = 20_000
    rows = {
        "step": (np.arange(n) // 8 % 5).tolist(),
        "prompt_id": (np.arange(n) // 8).tolist(),
        "group_id": (np.arange(n) // 8).tolist(),
        "response_tokens": rng.integers(1, 4, n).tolist(),  # ties everywhere
        "reward": rng.integers(0, 2, n).astype(float).tolist(),
    }
    names = ("difficulty_length_spearman", "difficulty_length_kendall")
    seen = set()
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(n)
        graded = grade(frame(**{name: [column[i] for i in order] for name, column in rows.items()}))
        assert graded is not None
        found = analyze_difficulty(graded, resamples=20).figures
        seen.add(tuple(found[name].value for name in names))
    assert len(seen) == 1


def test_waits_and_the_longest_against_the_plain_formula() -> None:
    rng = np.random.default_rng(9)
    n = 300
    steps = [None if s == 3 else int(s) for s in rng.integers(0, 4, n)]
    lengths = rng.integers(1, 9, n).astype(float)
    codes = rng.integers(0, 3, n)
    rows = pl.DataFrame(
        {"step": steps, "length": lengths, "code": codes}, schema_overrides={"code": pl.UInt32}
    )
    expected = np.zeros(3)
    for step in (0, 1, 2, None):
        own = sorted((length, i) for i, length in enumerate(lengths) if steps[i] == step)
        for k in range(1, len(own)):
            gap = own[k][0] - own[k - 1][0]
            for _, i in own[k:]:
                expected[codes[i]] += gap * k / (len(own) - k)
    assert _waits(rows, 3) == pytest.approx(expected)
    for count in (1, 7, n):
        chosen = _longest(lengths, count)
        assert sorted(lengths[chosen]) == sorted(lengths)[n - count :]
        assert len(set(chosen.tolist())) == count
