from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.model.clock import clock_idle, engine_idle, t90
from rollprof.model.decode import DecodeCost
from rollprof.model.simulate import replay


def test_worked_example_500_done_at_2_s_and_12_at_30_s() -> None:
    end = np.repeat([2.0, 30.0], [500, 12])
    clock = clock_idle(np.zeros(512), end, 512)
    assert clock.slot_idle == pytest.approx(0.9115, abs=5e-5)
    assert clock.duration == 30
    assert clock.time_s.tolist() == [0, 2, 30]
    assert clock.in_flight.tolist() == [512, 12, 0]
    assert (30 - t90(end)) / 30 == pytest.approx(0.933, abs=5e-4)


def test_a_queue_counts_up_to_the_capacity() -> None:
    # four submitted at once on two slots, done at 1, 2, 3, 4 s: 2 busy until 3 s, then 1
    clock = clock_idle([10, 10, 10, 10], [11, 12, 13, 14], 2)
    assert clock.slot_idle == pytest.approx(1 - 7 / 8)


def test_late_submissions_count_from_the_first() -> None:
    clock = clock_idle([0, 2], [4, 4], 2)
    assert clock.duration == 4
    assert clock.slot_idle == pytest.approx(1 - 6 / 8)


def test_rollouts_without_times_are_left_out_and_counted() -> None:
    clock = clock_idle([0, 0, math.nan, 5], [1, math.inf, 2, 4], 1)
    assert (clock.n, clock.left_out) == (1, 3)
    assert clock.slot_idle == 0
    nothing = clock_idle([math.nan], [1], 1)
    assert math.isnan(nothing.slot_idle)
    assert math.isnan(clock_idle([3], [3], 1).slot_idle)
    with pytest.raises(ValueError, match="capacity"):
        clock_idle([0], [1], 0)
    with pytest.raises(ValueError, match="same length"):
        clock_idle([0], [1, 2], 1)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=30), st.integers(1, 10)
)
def test_equals_a_sum_over_small_slices_of_time(spans: list[tuple[int, int]], capacity: int) -> None:
    start = np.array([s for s, _ in spans], dtype=float)
    end = start + np.array([d for _, d in spans])
    T = int(end.max() - start.min())
    slices = start.min() + np.arange(T) + 0.5
    used = sum(min(int(((start <= t) & (t < end)).sum()), capacity) for t in slices)
    clock = clock_idle(start, end, capacity)
    if T:
        assert clock.slot_idle == pytest.approx(1 - used / (capacity * T), abs=1e-12)
    else:
        assert math.isnan(clock.slot_idle)


def test_clock_and_replay_agree_on_one_engine() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 500, 100)
    for slots in (None, 16):
        r = replay(lengths, DecodeCost(0.4, 0.01, 0.001, 1e-6), slots=slots)
        clock = clock_idle(np.zeros(100), r.finish, slots or 100)
        assert clock.slot_idle == pytest.approx(r.slot_idle, rel=1e-9)


def test_engine_idle_by_hand() -> None:
    labels = ["x", "x", "y"]
    assert engine_idle([0, 0, 0], [2, 4, 1], labels) == pytest.approx(1 - 5 / 8)
    assert engine_idle([0, 0, 0], [2, 4, 1], labels, engines=3) == pytest.approx(1 - 5 / 12)
    assert engine_idle([0, 0, math.nan], [2, 4, 1], labels) == pytest.approx(1 - 4 / 8)
    assert math.isnan(engine_idle([1], [1], ["x"]))
    with pytest.raises(ValueError, match="2 engine labels"):
        engine_idle([0, 0, 0], [2, 4, 1], labels, engines=1)


def test_on_a_real_engine(measured: dict[str, list[Any]]) -> None:
    for steps in measured.values():
        for step in steps:
            capacity = min(len(step.lengths), step.slots or len(step.lengths))
            assert clock_idle(step.start, step.end, capacity).slot_idle == pytest.approx(step.clock, abs=1e-3)
