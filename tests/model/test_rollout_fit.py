from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rollprof.model.calibrate import MIN_ROLLOUTS, fit_rollouts
from rollprof.model.decode import DecodeCost
from rollprof.model.shape import effective_idle, slot_idle, step_shape
from rollprof.model.simulate import replay


def _lengths(n: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    rng = np.random.default_rng(seed)
    return np.clip(rng.lognormal(6, 1, n), 1, 16_000).astype(int)


@pytest.mark.parametrize("slots", [None, 32])
@pytest.mark.parametrize("engines", [1, 3])
def test_gives_back_the_cost_of_an_exact_replay(slots: int | None, engines: int) -> None:
    lengths, cost = _lengths(240), DecodeCost(4.0, 0.009, 0.0002, 0)
    r = replay(lengths, cost, slots=slots, engines=engines)
    fit = fit_rollouts(r.finish + 1.7e9, lengths, None, np.full(240, 1.7e9), slots, engines)
    assert fit.cost.k0 == pytest.approx(4.0, rel=1e-3)
    assert fit.cost.a == pytest.approx(0.009, rel=1e-3)
    assert fit.cost.b == pytest.approx(0.0002, rel=1e-3)
    assert fit.skill
    assert fit.why == ""
    assert fit.r2 > 0.999999
    assert fit.held_out_error < 1e-5 < fit.constant_error
    if engines == 1:
        low_high = fit.effective_idle(step_shape(lengths, slots=slots))
        assert low_high.value == pytest.approx(r.effective_idle, abs=1e-4)
        assert low_high.low <= r.effective_idle <= low_high.high
        assert low_high.high - low_high.low < 0.05


def test_engines_by_label_and_any_order_of_rows() -> None:
    lengths, cost = _lengths(120, 5), DecodeCost(0.1, 0.01, 0.0005, 0)
    rng = np.random.default_rng(1)
    assignment = rng.integers(0, 3, 120)
    r = replay(lengths, cost, slots=16, engines=3, assignment=assignment)
    submitted = 1e6 + np.arange(120) * 1e-9  # the queue's order
    shuffle = rng.permutation(120)
    fit = fit_rollouts(
        (r.finish + 1e6)[shuffle],
        lengths[shuffle],
        start=submitted[shuffle],
        slots=16,
        engines=np.array(["x", "y", "z"])[assignment[shuffle]],
    )
    assert fit.cost.a == pytest.approx(0.01, rel=1e-3)
    assert fit.cost.b == pytest.approx(0.0005, rel=1e-3)


def test_context_is_fitted_where_prompts_are_known() -> None:
    lengths = np.clip(np.random.default_rng(2).lognormal(8, 0.8, 256), 1, 16_384).astype(int)
    prompts = np.full(256, 300)
    cost = DecodeCost(0.2, 7.2e-3, 4e-6, 33e-9)  # a 7B model whose KV cache rules
    r = replay(lengths, cost, prompts=prompts)
    fit = fit_rollouts(r.finish, lengths, prompts)
    without = fit_rollouts(r.finish, lengths)
    shape = step_shape(lengths, prompts)
    assert fit.cost.c / fit.cost.a == pytest.approx(4.6e-6, rel=0.01)
    assert effective_idle(shape, fit.cost) == pytest.approx(r.effective_idle, abs=0.01)
    assert abs(effective_idle(shape, without.cost) - r.effective_idle) > 0.05
    interval = fit.effective_idle(shape)
    assert interval.low <= r.effective_idle <= interval.high
    assert interval.high - interval.low < 0.2


def test_noise_and_drift_stay_inside_the_interval() -> None:
    """The speed of the engine wanders by 10 % within a step; 90 % intervals of 60 steps."""
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(60):
        lengths = np.sort(_lengths(256, int(rng.integers(1 << 30))))
        a, b = 0.02, 0.02 * 0.015 * 3 ** rng.normal()
        width, running = np.diff(lengths, prepend=0), np.arange(256, 0, -1)
        plain = width * (a + b * running)
        wander = np.cumsum(rng.normal(size=8))
        wander = (wander - wander.mean()) / wander.std() * 0.1
        speed = np.exp(np.interp(np.cumsum(plain) / plain.sum(), np.linspace(0, 1, 8), wander))
        finish = np.cumsum(plain * speed)
        lost = (a * width * speed * (1 - running / 256)).sum() / finish[-1]
        estimate = fit_rollouts(finish, lengths).effective_idle(step_shape(lengths))
        assert estimate.low <= estimate.value <= estimate.high
        inside += estimate.low <= lost <= estimate.high
    assert inside >= 50


def test_no_skill_without_a_relation() -> None:
    rng = np.random.default_rng(3)
    fit = fit_rollouts(rng.uniform(29.9, 30.1, 200), rng.integers(1, 1000, 200))
    assert not fit.skill
    assert "do not identify the decode cost" in fit.why


def test_too_few_rollouts_have_no_skill() -> None:
    for n in (0, 1, 2, MIN_ROLLOUTS - 1):
        lengths = np.arange(1, n + 1)
        fit = fit_rollouts(lengths * 1.0, lengths)
        assert not fit.skill
        assert str(n) in fit.why
        assert fit.n == n


def test_damaged_times_are_not_fitted_but_decode() -> None:
    lengths, cost = _lengths(100, 9), DecodeCost(0.3, 0.01, 0.0004, 0)
    finish = replay(lengths, cost).finish.copy()
    finish[::10] = math.nan
    fit = fit_rollouts(finish, lengths)
    assert fit.n == 90
    assert fit.cost.b == pytest.approx(0.0004, rel=1e-3)
    with pytest.raises(ValueError, match="100 lengths"):
        fit_rollouts(finish[:-1], lengths)
    with pytest.raises(ValueError, match="engine labels"):
        fit_rollouts(finish, lengths, engines=["x"])


def test_on_a_real_engine(measured: dict[str, list[Any]]) -> None:
    """The fit's own slot_idle against the clock's, and against those of an ordinary least squares."""
    by_run = {
        run: [
            (step, fit_rollouts(step.end, step.lengths, step.prompts, step.start, step.slots))
            for step in steps
        ]
        for run, steps in measured.items()
    }
    fitted = [slot_idle(step_shape(s.lengths), fit.cost) for s, fit in by_run["wide"]]
    assert fitted == pytest.approx([0.687, 0.804, 0.588, 0.717, 0.657], abs=0.01)
    assert fitted == pytest.approx([s.clock for s, _ in by_run["wide"]], abs=0.03)
    queued = [slot_idle(step_shape(s.lengths, slots=32), fit.cost) for s, fit in by_run["queue"]]
    assert queued == pytest.approx([s.clock for s, _ in by_run["queue"]], abs=0.045)
    for steps in by_run.values():
        for step, fit in steps:
            assert fit.skill
            assert fit.held_out_error < 0.1 < 0.3 < fit.constant_error
            shape = step_shape(step.lengths, step.prompts, slots=step.slots)
            lost = fit.effective_idle(shape, at_most=step.clock)
            assert 0 <= lost.low <= lost.value <= lost.high <= step.clock
