from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollprof.model.decode import DecodeCost
from rollprof.model.simulate import closed_form, replay

COSTS = st.builds(
    DecodeCost,
    st.sampled_from([0.0, 0.7, 30.0]),
    st.sampled_from([0.0, 0.007, 1.0]),
    st.floats(1e-6, 0.5),
    st.sampled_from([0.0, 1e-8, 3e-4]),
)


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """Any small run: queues, several engines, any placement, rollouts without tokens."""
    n = draw(st.integers(1, 24))
    engines = draw(st.integers(1, 4))
    placed = draw(st.booleans())
    return {
        "lengths": draw(st.lists(st.integers(0, 60), min_size=n, max_size=n)),
        "prompts": draw(st.lists(st.integers(0, 300), min_size=n, max_size=n)),
        "slots": draw(st.none() | st.integers(1, 8)),
        "engines": engines,
        "assignment": draw(st.lists(st.integers(0, engines - 1), min_size=n, max_size=n)) if placed else None,
    }


def _slow(slow_replay: Callable[..., Any], run: dict[str, Any], cost: DecodeCost) -> Any:
    assignment = run["assignment"] or [i % run["engines"] for i in range(len(run["lengths"]))]
    return slow_replay(run["lengths"], run["prompts"], cost, run["slots"], assignment, run["engines"])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(run=runs(), cost=COSTS)
def test_replay_equals_the_token_loop_and_the_closed_form(
    slow_replay: Callable[..., Any], run: dict[str, Any], cost: DecodeCost
) -> None:
    slow = _slow(slow_replay, run, cost)
    fast = replay(cost=cost, **run)
    np.testing.assert_allclose(fast.start, slow.start, rtol=1e-9)
    np.testing.assert_allclose(fast.finish, slow.finish, rtol=1e-9)
    np.testing.assert_allclose(fast.engine_finish, slow.engine_finish, rtol=1e-9)
    np.testing.assert_allclose(fast.engine_finish, closed_form(cost=cost, **run), rtol=1e-9)
    T = max(slow.engine_finish)
    assert fast.duration == pytest.approx(T, rel=1e-9)
    if T:
        capacity = fast.schedule.capacity
        assert fast.effective_idle == pytest.approx(
            1 - slow.full_batch_seconds / (run["engines"] * T), abs=1e-9
        )
        assert fast.slot_idle == pytest.approx(1 - slow.slot_seconds / (capacity * T), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(
    cost=COSTS,
    engines=st.integers(1, 4),
    per_engine=st.integers(1, 12),
    slots=st.none() | st.integers(1, 6),
    data=st.data(),
)
def test_order_of_the_idle_fractions(
    cost: DecodeCost, engines: int, per_engine: int, slots: int | None, data: st.DataObject
) -> None:
    """On engines that fill the same number of slots; others weigh engines differently."""
    n = engines * per_engine
    lengths = data.draw(st.lists(st.integers(0, 3000), min_size=n, max_size=n))
    r = replay(lengths, cost, slots=slots, engines=engines)
    if r.duration > 0:
        assert -1e-9 <= r.engine_idle <= r.effective_idle + 1e-9
        assert r.effective_idle <= r.slot_idle + 1e-9 <= 1 + 1e-9


@settings(max_examples=100, deadline=None)
@given(run=runs(), cost=COSTS, data=st.data())
def test_time_grows_with_every_length_and_every_cost(
    run: dict[str, Any], cost: DecodeCost, data: st.DataObject
) -> None:
    before = replay(cost=cost, **run)
    i = data.draw(st.integers(0, len(run["lengths"]) - 1))
    longer = list(run["lengths"])
    longer[i] += data.draw(st.integers(1, 40))
    after = replay(longer, cost, **{k: v for k, v in run.items() if k != "lengths"})
    tolerance = 1e-9 * (1 + before.duration)
    assert np.all(after.engine_finish >= before.engine_finish - tolerance)
    for dearer in (
        DecodeCost(cost.k0, cost.a + 0.01, cost.b, cost.c),
        DecodeCost(cost.k0, cost.a, cost.b + 0.01, cost.c),
        DecodeCost(cost.k0, cost.a, cost.b, cost.c + 1e-5),
    ):
        assert replay(cost=dearer, **run).duration >= before.duration - tolerance
    assert before.duration >= cost.a * max(run["lengths"]) - tolerance


@settings(max_examples=50, deadline=None)
@given(run=runs(), cost=COSTS, factor=st.floats(0.01, 100))
def test_scaling_all_costs_scales_times_and_no_ratio(
    run: dict[str, Any], cost: DecodeCost, factor: float
) -> None:
    one, other = replay(cost=cost, **run), replay(cost=cost.scaled(factor), **run)
    np.testing.assert_allclose(other.finish, one.finish * factor, rtol=1e-9)
    for name in ("slot_idle", "engine_idle", "effective_idle"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-9, nan_ok=True)


def test_by_hand() -> None:
    # a = 1, b = .5: 2 steps with both (2 s each), then 2 steps alone (1.5 s each)
    r = replay([2, 4], DecodeCost(0, 1, 0.5, 0))
    assert r.finish.tolist() == [4, 7]
    assert r.slot_idle == pytest.approx(1 - 11 / 14)
    # a full batch needs 3 steps for the 6 tokens: 3*1 + 6*.5 = 6 of the 7 seconds
    assert r.effective_idle == pytest.approx(1 - 6 / 7)
    assert r.engine_idle == 0


def test_dark_engine_by_hand() -> None:
    r = replay([1, 3], DecodeCost(0, 1, 0, 0), engines=2)
    assert r.engine_finish.tolist() == [1, 3]
    assert r.engine_idle == pytest.approx(1 - 4 / 6)


def test_nothing_to_decode() -> None:
    cost = DecodeCost(0, 1, 0.1, 0)
    empty = replay([], cost)
    assert empty.duration == 0
    assert len(empty.finish) == 0
    for r in (empty, replay([0, 0], cost)):
        assert math.isnan(r.slot_idle)
        assert math.isnan(r.engine_idle)
        assert math.isnan(r.effective_idle)
    assert replay([0, 0], DecodeCost(2, 1, 0, 0)).finish.tolist() == [2, 2]


def test_many_rollouts_keep_their_digits() -> None:
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(7, 1, 200_000), 1, 32_000).astype(int)
    cost = DecodeCost(0.5, 7e-3, 1e-4, 3e-8)
    kw: dict[str, Any] = {"prompts": rng.integers(10, 2000, len(lengths)), "slots": 256, "engines": 16}
    np.testing.assert_allclose(
        replay(lengths, cost, **kw).engine_finish, closed_form(lengths, cost, **kw), rtol=1e-9
    )
