from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rollprof.model.aggregates import shape_from_aggregates
from rollprof.model.calibrate import MIN_STEPS, drift, fit_steps
from rollprof.model.decode import DecodeCost
from rollprof.model.estimate import Estimate
from rollprof.model.shape import StepShape, bracket, model_seconds, slot_idle, step_shape

Run = tuple[list[float], list[StepShape], list[float]]


def _run(
    rng: np.random.Generator,
    steps: int,
    noise: float,
    *,
    ratio: float = 0.015,
    hidden: float = 0.0,
    cap: int = 10**6,
    vary: float = 0.35,
) -> Run:
    """Durations, shapes and true slot_idle of steps whose speed differs between and wanders within them.

    `hidden` seconds are spent before each step's decoding. The truth comes from the completion times.
    """
    out: Run = ([], [], [])
    for _ in range(steps):
        center = rng.normal(6, vary) if cap > 10**5 else rng.normal(7.3, 0.15)
        lengths = np.sort(np.clip(rng.lognormal(center, rng.uniform(0.7, 1.2), 128), 1, cap).astype(int))
        seconds = np.diff(lengths, prepend=0) * 0.02 * (1 + ratio * np.arange(128, 0, -1))
        wander = np.cumsum(rng.normal(size=7))
        wander = (wander - wander.mean()) / wander.std() * noise * 0.7
        speed = np.exp(np.interp(lengths, np.linspace(0, lengths[-1], 7), wander) + rng.normal() * noise)
        finish = np.cumsum(seconds * speed) + hidden
        out[0].append(float(finish[-1]))
        out[1].append(step_shape(lengths))
        out[2].append(1 - finish.sum() / (128 * finish[-1]))
    return out


def _coverage(runs: list[Run]) -> tuple[float, float]:
    """Share of the runs' fits with skill, and of their steps whose interval holds the truth."""
    skilled, inside = [], []
    for durations, shapes, truth in runs:
        fit = fit_steps(durations, shapes)
        skilled.append(fit.skill)
        if fit.skill:
            for t, shape, true in zip(durations, shapes, truth, strict=True):
                e = fit.slot_idle(shape, t)
                inside.append(e.low <= true <= e.high)
    return float(np.mean(skilled)), float(np.mean(inside)) if inside else math.nan


@pytest.mark.parametrize("noise", [0.03, 0.1, 0.3])
def test_intervals_hold_the_truth(noise: float) -> None:
    rng = np.random.default_rng(int(noise * 100))
    runs = [_run(rng, 12, noise, ratio=0.015 * 3 ** rng.normal(0, 0.7)) for _ in range(25)]
    skilled, inside = _coverage(runs)
    assert skilled >= 0.6
    assert inside >= 0.85


def test_quiet_steps_identify_the_ratio() -> None:
    rng = np.random.default_rng(0)
    durations, shapes, truth = _run(rng, 40, 0.01, ratio=0.03)
    fit = fit_steps(durations, shapes)
    assert fit.skill
    assert fit.why == ""
    assert fit.ratio.low <= 0.03 <= fit.ratio.high
    assert fit.ratio.high / fit.ratio.low < 1.5
    assert fit.held_out_error < 0.02 < fit.constant_error
    assert fit.scaling.low <= 1 <= fit.scaling.high
    assert fit.cost.a == pytest.approx(0.02, rel=0.1)
    errors = [fit.slot_idle(s).value - true for s, true in zip(shapes, truth, strict=True)]
    assert np.median(np.abs(errors)) < 0.01


def test_effective_never_exceeds_slot_idle() -> None:
    rng = np.random.default_rng(5)
    durations, shapes, _ = _run(rng, 10, 0.2)
    fit = fit_steps(durations, shapes)
    for t, shape in zip(durations, shapes, strict=True):
        slot, lost = fit.slot_idle(shape, t), fit.effective_idle(shape, t)
        assert lost.low <= lost.value <= lost.high
        assert all(x <= y + 1e-12 for x, y in zip(lost, slot, strict=True))
        low, high = bracket(shape)
        assert low - 1e-9 <= slot.value <= high + 1e-9
    capped = fit.effective_idle(shapes[0], at_least=0.1, at_most=0.2)
    assert capped == Estimate(*np.clip(fit.effective_idle(shapes[0]), 0.1, 0.2).tolist())


def test_durations_that_lengths_do_not_explain_have_no_skill() -> None:
    rng = np.random.default_rng(1)
    skilled = []
    for _ in range(40):
        _, shapes, _ = _run(rng, 12, 0.1)
        fit = fit_steps(60 * np.exp(rng.normal(0, 0.2, 12)), shapes)
        skilled.append(fit.skill)
        if not fit.skill:
            assert fit.why.startswith("step times do not identify the decode cost here: ")
    assert np.mean(skilled) <= 0.05


def test_chance_is_no_skill() -> None:
    """Steady durations of steps at the cap: one fit in six is a tenth better than the median, by luck."""
    rng = np.random.default_rng(21)
    skilled = []
    for _ in range(60):
        _, shapes, _ = _run(rng, 8, 0.1, cap=4096)
        skilled.append(fit_steps(100 * np.exp(rng.normal(0, 0.05, 8)), shapes, 0.0).skill)
    assert np.mean(skilled) <= 0.05


def test_the_constant_is_the_median_of_the_other_steps() -> None:
    shapes = [step_shape([10, 20, 100])] * 5
    fit = fit_steps(np.exp([0.0, 1.0, 2.0, 3.0, 4.0]), shapes)
    # medians of the others: 2.5, 2.5, 2, 1.5, 1.5
    assert fit.constant_error == pytest.approx((2.5 + 1.5 + 0 + 1.5 + 2.5) / 5)


def test_several_engines_are_less_certain_than_one() -> None:
    rng = np.random.default_rng(22)
    durations, shapes, _ = _run(rng, 30, 0.01)
    lengths = np.clip(rng.lognormal(6, 0.9, 128), 1, 9000)
    one, two = step_shape(lengths), step_shape(np.repeat(lengths, 2), engines=2)
    fit = fit_steps(durations, shapes)
    alone, shared = fit.slot_idle(one), fit.slot_idle(two)
    assert shared.value == pytest.approx(alone.value, abs=0.01)
    assert shared.high - shared.low > alone.high - alone.low + 0.03


def test_durations_that_grow_faster_than_decode_work_have_no_skill() -> None:
    """As with a queue or preemptions that the shapes do not know."""
    rng = np.random.default_rng(11)
    durations, shapes, _ = _run(rng, 20, 0.03)
    fit = fit_steps(np.array(durations) ** 1.8, shapes)
    assert fit.held_out_error < fit.constant_error
    assert not fit.skill
    assert "to the power 1.7" in fit.why


def test_a_gain_that_only_many_steps_make_significant_is_no_skill() -> None:
    rng = np.random.default_rng(12)
    durations, shapes, _ = _run(rng, 600, 0.02, vary=0.02)
    fit = fit_steps(np.array(durations) * np.exp(rng.normal(0, 1.0, 600)), shapes)
    assert 0.9 * fit.constant_error < fit.held_out_error < 0.99 * fit.constant_error
    assert not fit.skill
    assert "the median step by" in fit.why


def test_a_fixed_cost_is_suspected_or_found_but_never_fitted() -> None:
    rng = np.random.default_rng(2)
    small = [_run(rng, 20, 0.05, hidden=15.0) for _ in range(12)]
    skilled, inside = _coverage(small)
    assert skilled >= 0.9
    assert inside >= 0.85
    for durations, shapes, _ in small:
        fit = fit_steps(durations, shapes)
        assert fit.cost.k0 == 0
        shape = shapes[0]
        assert fit.slot_idle(shape).low < (1 - 0.5 * fit.hidden_share) * fit.slot_idle(shape).value
    large = [fit_steps(*_run(rng, 20, 0.05, hidden=120.0)[:2]) for _ in range(12)]
    assert not any(fit.skill for fit in large)
    assert sum("may not depend on the lengths" in fit.why for fit in large) >= 6


def test_where_every_step_reaches_the_cap_a_fixed_cost_cannot_be_excluded() -> None:
    """It looks like decode steps there: a fit that predicts well would overstate idle by a third."""
    rng = np.random.default_rng(9)
    runs = [_run(rng, 20, 0.03, cap=4096, hidden=0.4 / 0.6 * 110) for _ in range(12)]
    fits = [fit_steps(durations, shapes) for durations, shapes, _ in runs]
    assert np.mean([fit.held_out_error < 0.9 * fit.constant_error for fit in fits]) > 0.7
    assert not any(fit.skill for fit in fits)
    logged = [fit_steps(durations, shapes, 0.4 / 0.6 * 110) for durations, shapes, _ in runs]
    assert np.mean([fit.skill for fit in logged]) > 0.7
    for (durations, shapes, truth), fit in zip(runs, logged, strict=True):
        for t, shape, true in zip(durations, shapes, truth, strict=True):
            assert fit.slot_idle(shape, t).value == pytest.approx(true, abs=0.08)


def test_a_logged_fixed_cost_is_taken_off() -> None:
    rng = np.random.default_rng(3)
    durations, shapes, truth = _run(rng, 20, 0.02, hidden=20.0)
    fit = fit_steps(durations, shapes, 20.0)
    assert fit.skill
    assert fit.cost.k0 == 20
    errors = [fit.slot_idle(s, t).value - true for s, t, true in zip(shapes, durations, truth, strict=True)]
    assert np.max(np.abs(errors)) < 0.05
    assert fit_steps(durations, shapes, np.full(20, 20.0)).ratio == fit.ratio


def test_steps_at_the_cap_keep_the_prior_where_noise_hides_the_rest() -> None:
    lengths = [np.append(np.full(100, 300 + i), 4096) for i in range(12)]
    shapes = [step_shape(x) for x in lengths]
    assert len({s.decode_steps for s in shapes}) == 1
    fit = fit_steps(80 * np.exp(np.random.default_rng(0).normal(0, 0.1, 12)), shapes)
    assert not fit.skill
    assert fit.ratio.low < 0.015 < fit.ratio.high
    same = fit_steps([10.0] * 12, [shapes[0]] * 12)
    assert not same.skill
    assert math.isnan(same.scaling.value)


def test_few_or_damaged_steps() -> None:
    rng = np.random.default_rng(4)
    durations, shapes, _ = _run(rng, 12, 0.02)
    for n in range(MIN_STEPS):
        fit = fit_steps(durations[:n], shapes[:n])
        assert not fit.skill
        assert f"{n} of the steps" in fit.why
        e = fit.slot_idle(shapes[0], durations[0])
        assert e.low <= e.value <= e.high
    nothing = fit_steps([], [])
    # one standard deviation is a factor of three: the 90 % range of the prior is a factor of six
    assert nothing.ratio.value == pytest.approx(0.015, rel=0.02)
    assert nothing.ratio.high == pytest.approx(0.015 * 3**1.645, rel=0.1)
    spoiled = [*durations, math.nan, 0.0, -3.0, math.inf, 50.0]
    more = [*shapes, shapes[0], shapes[0], shapes[0], shapes[0], step_shape([0, 0])]
    fit = fit_steps(spoiled, more)
    assert (fit.n, fit.left_out) == (12, 5)
    assert fit.ratio == fit_steps(durations, shapes).ratio
    assert math.isnan(fit.slot_idle(step_shape([])).value)
    with pytest.raises(ValueError, match="1 durations but 0 shapes"):
        fit_steps([1.0], [])
    with pytest.raises(ValueError, match="prior"):
        fit_steps([], [], prior_factor=1)


def test_context_widens_what_is_known_only_where_prompts_are() -> None:
    rng = np.random.default_rng(6)
    cost = DecodeCost(0, 0.0072, 0.0072 * 0.01, 0.0072 * 1e-5)
    prompts = [rng.integers(100, 400, 128) for _ in range(20)]
    lengths = [np.clip(rng.lognormal(rng.normal(7.5, 0.4), 0.9, 128), 1, 32_000) for _ in prompts]
    shapes = [step_shape(x, p) for x, p in zip(lengths, prompts, strict=True)]
    durations = [model_seconds(s, cost) * math.exp(rng.normal(0, 0.02)) for s in shapes]
    fit = fit_steps(durations, shapes)
    assert fit.context_ratio.low <= 1e-5 <= fit.context_ratio.high
    for shape in shapes:
        e = fit.slot_idle(shape)
        assert e.low <= slot_idle(shape, cost) <= e.high
    blind = fit_steps(durations, [step_shape(x) for x in lengths])
    assert blind.context_ratio == (0, 0, 0)
    assert blind.cost.c == 0


def test_aggregate_shapes_are_less_certain() -> None:
    rng = np.random.default_rng(8)
    durations, shapes, _ = _run(rng, 20, 0.03)
    fit = fit_steps(durations, shapes)
    for shape in shapes[:5]:
        known = fit.slot_idle(shape)
        rough = fit.slot_idle(shape_from_aggregates(shape.tokens / 128, shape.decode_steps, 128))
        assert rough.high - rough.low > known.high - known.low


def test_drift_is_the_slowdown_of_the_second_half() -> None:
    shapes = [step_shape([10 + i, 20 + 3 * i, 100 + 7 * i]) for i in range(10)]
    cost = DecodeCost(0, 0.01, 0.001, 0)
    steady = np.array([model_seconds(s, cost) for s in shapes])
    assert drift(steady, shapes, cost) == pytest.approx(1)
    assert drift(steady * np.repeat([1, 1.5], 5), shapes, cost) == pytest.approx(1.5)
    assert drift(steady * 3 + 7, shapes, cost, 7) == pytest.approx(1)
    assert math.isnan(drift(steady[:3], shapes[:3], cost))


def _shapes_and_times(steps: list[Any]) -> tuple[list[StepShape], list[float]]:
    return [step_shape(s.lengths, s.prompts, slots=s.slots) for s in steps], [s.duration for s in steps]


def test_on_a_real_engine_a_value_covers_the_clock_or_is_not_shown(measured: dict[str, list[Any]]) -> None:
    """A busy host: durations of steps of the same work differ by a factor of two, and no run has skill."""
    for steps in measured.values():
        shapes, durations = _shapes_and_times(steps)
        fit = fit_steps(durations, shapes)
        for step, shape in zip(steps, shapes, strict=True):
            e = fit.slot_idle(shape, step.duration)
            low, high = bracket(shape)
            assert e.low <= step.clock <= e.high or (not fit.skill and low <= step.clock <= high)
    assert fit_steps(*reversed(_shapes_and_times(measured["wide"]))).skill is False


def test_leave_one_step_out_on_a_real_engine(measured: dict[str, list[Any]]) -> None:
    """Each of 9 steps from the other durations of its run, against the clock.

    Published for 12 steps (three of a quieter run are not here): median error .031, largest .263 on a host
    that stalled, 11 of 12 covered, two thirds within .05.
    """

    def errors(factor: float, center: float = 0.015) -> tuple[np.ndarray[Any, Any], int]:
        off, covered = [], 0
        for steps in measured.values():
            shapes, durations = _shapes_and_times(steps)
            for i, step in enumerate(steps):
                rest = [j for j in range(len(steps)) if j != i]
                fit = fit_steps(
                    [durations[j] for j in rest],
                    [shapes[j] for j in rest],
                    prior_center=center,
                    prior_factor=factor,
                )
                e = fit.slot_idle(shapes[i])
                off.append(abs(e.value - step.clock))
                covered += e.low <= step.clock <= e.high
        return np.array(off), covered

    off, covered = errors(3.0)
    print(
        f"leave one out: median {np.median(off):.3f} largest {off.max():.3f} covered {covered}/9",
        off.round(3),
    )
    assert np.median(off) <= 0.06
    assert off.max() <= 0.30
    assert np.sum(off <= 0.05) >= 5
    assert covered == 8
    narrow, _ = errors(3.0 ** (1 / 1.645))  # a factor of three as the 90 % range
    assert np.sum(narrow <= 0.05) < np.sum(off <= 0.05)
    lengths_only = np.array(
        [abs(step_shape(s.lengths, slots=s.slots).i_len - s.clock) for r in measured.values() for s in r]
    )
    assert np.median(off) < np.median(lengths_only) / 2
