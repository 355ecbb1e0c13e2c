from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.model.decode import DecodeCost
from rollprof.model.shape import bracket, effective_idle, shares, slot_idle, step_shape
from rollprof.model.simulate import replay

COST_PARTS = (st.sampled_from([0.0, 0.01, 1.0]), st.floats(1e-6, 1.0), st.sampled_from([0.0, 1e-7, 1e-3]))


def test_forms_by_hand() -> None:
    # B = 3, 2, 1 over three steps; prompts of 10: S = 30, 2*11, 12
    shape = step_shape([1, 2, 3], [10, 10, 10])
    assert (shape.n, shape.capacity, shape.decode_steps, shape.tokens, shape.context) == (3, 3, 3, 6, 64)
    assert shape.i_len == pytest.approx(1 - 6 / 9)
    assert shape.gini == pytest.approx(1 - (9 + 4 + 1) / (3 * 6))
    assert shape.i_ctx == pytest.approx(1 - (30 * 3 + 22 * 2 + 12) / (3 * 64))
    assert bracket(shape) == (shape.gini, max(shape.i_len, shape.i_ctx))


def test_queue_by_hand() -> None:
    # two slots: 3 and 1 start, 2 follows the 1; B = 2, 2, 2, and the 2 ends with the 3: nothing is idle
    shape = step_shape([3, 1, 2], slots=2)
    assert (shape.capacity, shape.decode_steps) == (2, 3)
    assert (shape.i_len, shape.gini) == (0, 0)
    # in the other order the 3 waits: B = 2, 1, 1 + 1 (the 3 starts at 1) -> 2, 2, 1, 1
    shape = step_shape([1, 2, 3], slots=2)
    assert shape.decode_steps == 4
    assert shape.i_len == pytest.approx(1 - 6 / 8)
    assert shape.gini == pytest.approx(1 - (4 + 4 + 1 + 1) / (2 * 6))


def test_the_gini_form_is_the_gini_coefficient() -> None:
    lengths = np.random.default_rng(1).integers(1, 900, 200)
    differences = np.abs(lengths[:, None] - lengths[None, :]).sum()
    gini = differences / (2 * len(lengths) ** 2 * lengths.mean())
    assert step_shape(lengths).gini == pytest.approx(gini, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 200), min_size=1, max_size=40),
    slots=st.none() | st.integers(1, 12),
    engines=st.integers(1, 3),
    data=st.data(),
)
def test_forms_equal_sums_over_single_steps(
    lengths: list[int], slots: int | None, engines: int, data: st.DataObject
) -> None:
    n = len(lengths)
    prompts = data.draw(st.lists(st.integers(0, 500), min_size=n, max_size=n))
    shape = step_shape(lengths, prompts, slots=slots, engines=engines)
    # unit steps, so that the replay's seconds count decode steps
    r = replay(lengths, DecodeCost(0, 1, 0, 0), slots=slots, engines=engines)
    begin, end = np.rint(r.start), np.rint(r.finish)
    steps = np.arange(int(end.max()))[:, None]
    on = (begin <= steps) & (steps < end)
    B = on.sum(axis=1)
    S = (on * (np.array(prompts) + steps - begin)).sum(axis=1)
    C, tokens = r.schedule.capacity, sum(lengths)
    assert (shape.capacity, shape.tokens, shape.context) == (C, tokens, S.sum())
    if not tokens:
        assert math.isnan(shape.i_len)
        return
    assert shape.i_len == pytest.approx(1 - tokens / (C * len(B)), abs=1e-12)
    assert shape.gini == pytest.approx(1 - (B**2).sum() / (C * tokens), abs=1e-12)
    if S.sum():
        assert shape.i_ctx == pytest.approx(1 - (S * B).sum() / (C * S.sum()), abs=1e-12)
    assert shape.gini <= shape.i_len + 1e-12


@settings(max_examples=150, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 5000), min_size=1, max_size=60),
    slots=st.none() | st.integers(1, 20),
    cost=st.builds(DecodeCost, st.sampled_from([0.0, 3.0]), *COST_PARTS),
    data=st.data(),
)
def test_identity_and_bracket_are_exact_on_one_engine(
    lengths: list[int], slots: int | None, cost: DecodeCost, data: st.DataObject
) -> None:
    n = len(lengths)
    prompts = data.draw(st.lists(st.integers(0, 5000), min_size=n, max_size=n))
    shape = step_shape(lengths, prompts, slots=slots)
    if not sum(lengths):
        assert math.isnan(slot_idle(shape, cost))
        return
    r = replay(lengths, cost, prompts=prompts, slots=slots)
    assert sum(shares(shape, cost)) == pytest.approx(1, abs=1e-9)
    assert slot_idle(shape, cost) == pytest.approx(r.slot_idle, abs=1e-9)
    assert effective_idle(shape, cost) == pytest.approx(r.effective_idle, abs=1e-9)
    if not cost.k0:
        low, high = bracket(shape)
        assert low - 1e-9 <= r.slot_idle <= high + 1e-9


@pytest.mark.parametrize("engines", [2, 4, 8])
@pytest.mark.parametrize("per_engine", [16, 32, 64, 128])
def test_identity_over_many_engines(engines: int, per_engine: int) -> None:
    """Within .045 for 16 to 128 rollouts an engine on up to 8 engines, b/a over its whole range."""
    rng = np.random.default_rng(engines * per_engine)
    errors, outside = [], []
    for _ in range(25):
        lengths = np.clip(
            rng.lognormal(rng.uniform(5, 8), rng.uniform(0.4, 1.1), engines * per_engine), 1, 16e3
        )
        cost = DecodeCost(0, 1, rng.choice([0.005, 0.015, 0.045]), rng.choice([0, 1e-5]))
        r, shape = replay(lengths, cost, engines=engines), step_shape(lengths, engines=engines)
        errors.append(abs(slot_idle(shape, cost) - r.slot_idle))
        low, high = bracket(shape)
        outside.append(max(low - r.slot_idle, r.slot_idle - high))
    assert max(errors) <= 0.045
    assert np.mean(errors) <= 0.015
    assert max(outside) <= 0.05


def test_long_prompts_on_short_responses_widen_the_bracket_downwards() -> None:
    lengths, prompts = [1] * 9 + [1000], [100_000] * 9 + [1]
    shape = step_shape(lengths, prompts)
    assert shape.i_ctx < shape.gini
    idle = replay(lengths, DecodeCost(0, 0, 0, 1e-6), prompts=prompts).slot_idle
    assert bracket(shape)[0] <= idle + 1e-12


def test_shares_of_a_measured_duration() -> None:
    shape, cost = step_shape([1, 3]), DecodeCost(1, 1, 0.5, 0)  # 1 + 3 + 2 = 6 s
    assert shares(shape, cost) == pytest.approx((1 / 6, 3 / 6, 2 / 6, 0))
    assert shares(shape, cost, 12) == pytest.approx((1 / 12, 3 / 12, 2 / 12, 0))
    assert shares(shape, cost, 3) == shares(shape, cost)  # shorter than the cost allows: a contradiction
    assert effective_idle(shape, cost, 12) == pytest.approx(3 / 12 * (1 - 4 / 6))


def test_steps_without_work() -> None:
    cost = DecodeCost(0, 1, 0.1, 0)
    for lengths in ([], [0], [0, 0, 0]):
        shape = step_shape(lengths)
        assert shape.n == len(lengths)
        assert (shape.tokens, shape.decode_steps) == (0, 0)
        assert all(math.isnan(x) for x in (shape.i_len, shape.gini, shape.i_ctx, *bracket(shape)))
        assert math.isnan(slot_idle(shape, cost))
        assert math.isnan(effective_idle(shape, cost))
        assert math.isnan(slot_idle(shape, DecodeCost(5, 1, 0.1, 0)))
    alone = step_shape([7], [100])
    assert (alone.i_len, alone.gini, alone.i_ctx) == (0, 0, 0)
    assert slot_idle(alone, cost) == 0


def test_bad_lengths_are_refused() -> None:
    for bad in ([-1], [math.nan]):
        with pytest.raises(ValueError, match="lengths"):
            step_shape(bad)
    with pytest.raises(ValueError, match="2 lengths but 1 prompts"):
        step_shape([1, 2], [3])


def test_bracket_holds_on_a_real_engine(measured: dict[str, list[Any]]) -> None:
    without_queue = []
    for steps in measured.values():
        for step in steps:
            low, high = bracket(step_shape(step.lengths, slots=step.slots))
            assert low <= step.clock <= high
            without_queue.append(1 - step.lengths.mean() / step.lengths.max())
    assert without_queue[:5] == pytest.approx([0.880, 0.937, 0.819, 0.912, 0.922], abs=6e-4)


def test_thousand_steps_take_a_second_and_not_a_minute() -> None:
    rng = np.random.default_rng(0)
    steps = [np.clip(rng.lognormal(7, 1, 1024), 1, 16_000).astype(int) for _ in range(200)]
    began = time.process_time()
    for lengths in steps:
        step_shape(lengths)
    middle = time.process_time()
    for lengths in steps:
        step_shape(lengths, slots=256)
    # measured .02 s and .1 s for a fifth of a thousand steps; the limits leave room for a busy machine
    assert middle - began < 0.2
    assert time.process_time() - middle < 0.6
