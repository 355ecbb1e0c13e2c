from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import erf, ndtri

from rollprof.model.aggregates import COMMON_GINI, GINI_ERROR, shape_from_aggregates
from rollprof.model.shape import bracket, step_shape

Sampler = Callable[[np.random.Generator, int], Any]


def _log_normal(center: float, sigma: float, cap: float = 1e9) -> Sampler:
    return lambda rng, n: np.clip(rng.lognormal(center, sigma, n), 1, cap).astype(int)


FAMILIES: dict[str, Sampler] = {
    "log-normal": _log_normal(6, 0.9),
    "at the cap": _log_normal(7.3, 1.0, 4096),
    "gamma": lambda rng, n: np.maximum(1, rng.gamma(2.0, 300, n)).astype(int),
    "two kinds": lambda rng, n: np.where(
        rng.random(n) < 0.9, _log_normal(6, 0.5)(rng, n), _log_normal(8, 0.5, 8192)(rng, n)
    ),
    "runaways": lambda rng, n: np.where(rng.random(n) < 0.03, 8192, _log_normal(6, 0.6)(rng, n)),
}


def _aggregated(lengths: Any, run_ratio: float | None = None, slots: int | None = None) -> Any:
    top = lengths.max()
    return shape_from_aggregates(
        lengths.mean(), top, len(lengths), (lengths == top).mean(), None, run_ratio, slots
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("n", "slots"), [(128, None), (512, None), (512, 64)])
def test_bracket_holds_that_of_the_lengths(family: str, n: int, slots: int | None) -> None:
    """Nine times in ten, to .02 at the upper end (the context-weighted form is an estimate)."""
    rng = np.random.default_rng(len(family) + n)
    held, exact = [], []
    for _ in range(30):
        steps = [FAMILIES[family](rng, n) for _ in range(8)]
        run_ratio = float(np.median([s.max() / s.mean() for s in steps]))
        rough, true = _aggregated(steps[0], run_ratio, slots), step_shape(steps[0], slots=slots)
        (low, high), (true_low, true_high) = bracket(rough), bracket(true)
        held.append(low <= true_low + 1e-9 and high >= true_high - 0.02)
        exact.append(abs(rough.i_len - true.i_len))
        assert rough.tokens == pytest.approx(true.tokens, rel=1e-9)
        assert abs(rough.i_len - true.i_len) <= rough.i_len_error + 1e-9
    assert np.mean(held) >= 0.9
    if slots is None:
        assert max(exact) < 1e-9


def test_censored_log_normal_is_recovered() -> None:
    rng = np.random.default_rng(1)
    for sigma in (0.6, 1.0, 1.3):
        for _ in range(5):
            lengths = _log_normal(7.3, sigma, 4096)(rng, 1024)
            shape = _aggregated(lengths)
            assert shape.method == "censored"
            true = step_shape(lengths)
            assert shape.gini == pytest.approx(true.gini, abs=0.03)
            assert shape.i_ctx == pytest.approx(true.i_ctx, abs=0.03)
            assert shape.context == pytest.approx(true.context, rel=0.05)


def test_without_a_cap_the_gini_lies_half_way_to_the_common_one() -> None:
    # quantiles of a log-normal of sigma 1.2, whose Gini is erf(sigma/2) = .604
    lengths = np.exp(7 + 1.2 * ndtri((np.arange(1, 4097) - 0.375) / 4096.25))
    shape = shape_from_aggregates(lengths.mean(), lengths.max(), 4096)
    assert shape.method == "run"
    assert shape.gini == pytest.approx((float(erf(0.6)) + COMMON_GINI) / 2, abs=0.02)
    assert shape.gini_error >= GINI_ERROR
    # the run's ratio counts, not this step's maximum
    other = shape_from_aggregates(
        lengths.mean(), lengths.max() * 3, 4096, run_ratio=lengths.max() / lengths.mean()
    )
    assert other.gini == pytest.approx(shape.gini, abs=0.02)
    assert other.i_len == 1 - lengths.mean() / (lengths.max() * 3)


def test_forms_never_contradict_each_other() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        n = int(rng.integers(1, 300))
        top = float(rng.integers(1, 9000))
        mean = float(rng.uniform(top / n, top))
        cap_share = [None, 0.0, float(rng.random())][int(rng.integers(3))]
        ratio = [None, float(rng.uniform(1, 30))][int(rng.integers(2))]
        slots = [None, int(rng.integers(1, 40))][int(rng.integers(2))]
        shape = shape_from_aggregates(mean, top, n, cap_share, None, ratio, slots, int(rng.integers(1, 4)))
        assert shape.gini <= shape.i_len + 1e-12
        assert 0 <= shape.i_len < 1
        assert shape.decode_steps >= top
        low, high = bracket(shape)
        assert 0 <= low <= high <= 1


def test_all_alike_nothing_and_one() -> None:
    alike = shape_from_aggregates(100, 100, 64, run_ratio=9.0)
    assert (alike.i_len, alike.gini, alike.i_ctx) == (0, 0, 0)
    assert bracket(shape_from_aggregates(4096, 4096, 64, 1.0, 4096)) == (0, 0)
    assert bracket(shape_from_aggregates(70, 70, 1)) == (0, 0)
    assert math.isnan(shape_from_aggregates(0, 0, 8).gini)


@pytest.mark.parametrize(
    ("mean", "top", "n", "share"),
    [
        (11, 10, 4, None),
        (1, 10, 4, None),
        (math.nan, 10, 4, None),
        (1, math.inf, 4, None),
        (5, 10, 0, None),
        (5, 10, 4, 1.5),
    ],
)
def test_contradictions_are_refused(mean: float, top: float, n: int, share: float | None) -> None:
    with pytest.raises(ValueError, match="no lengths have"):
        shape_from_aggregates(mean, top, n, share)


def test_on_a_real_engine(measured: dict[str, list[Any]]) -> None:
    for steps in measured.values():
        run_ratio = float(np.median([s.lengths.max() / s.lengths.mean() for s in steps]))
        for step in steps:
            rough = _aggregated(step.lengths, run_ratio, step.slots)
            true = step_shape(step.lengths, slots=step.slots)
            assert rough.gini == pytest.approx(true.gini, abs=GINI_ERROR)
            low, high = bracket(rough)
            assert low <= step.clock <= high
