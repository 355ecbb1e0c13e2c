"""Completion curves against the times that the bars were drawn for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.adapters.openrlhf.bars import Bar
from rollprof.adapters.openrlhf.curves import GROUPS, REQUESTS, Call, CallReader, Curve, curve


def shown(what: str, times: list[float], every: float = 0.0) -> Call:
    """The bar of items done at `times`: a group bar is drawn before and after each tick, a request bar at
    most once in `every` seconds."""
    reader = CallReader()
    total = len(times)
    extra = {"prompts_consumed": float(total)} if what == GROUPS else {}
    reader.add(Bar(what, 0, total, 0, None), "PPOTrainer", 7, 0)
    drawn = -math.inf
    for done, at in enumerate(times):
        if what == GROUPS:
            reader.add(Bar(what, done, total, int(at), None, extra=extra), "PPOTrainer", 7, 2 * done)
        if at - drawn >= every:
            reader.add(Bar(what, done + 1, total, int(at), None, extra=extra), "PPOTrainer", 7, 2 * done + 1)
            drawn = at
    reader.add(Bar(what, total, total, int(times[-1]), times[-1], extra=extra), "PPOTrainer", 7, 2 * total)
    (call,) = reader.calls
    return call


def found(call: Call) -> Curve:
    result = curve(call)
    assert result is not None
    return result


TIMES = st.lists(st.floats(0.2, 500), min_size=1, max_size=60).map(sorted)


@given(times=TIMES)
def test_group_times_lie_within_their_bounds(times: list[float]) -> None:
    c = found(shown(GROUPS, times))
    assert c.seconds == pytest.approx(times[-1])
    for low, high, true in zip(c.low, c.high, times, strict=True):
        assert low - 1e-9 <= true <= high + 1e-9
        assert high - low <= 1
    low, high = c.mean_bounds
    assert low - 1e-9 <= sum(times) / len(times) <= high + 1e-9


@given(times=TIMES, every=st.floats(0, 20))
def test_request_times_lie_within_their_bounds(times: list[float], every: float) -> None:
    c = found(shown(REQUESTS, times, every))
    for low, high, true in zip(c.low, c.high, times, strict=True):
        assert low - 1e-9 <= true <= high + 1e-9
    mean = c.mean()
    if mean is not None:
        assert abs(mean - sum(times) / len(times)) <= 0.05 * times[-1] + 1e-9


def test_mean_and_quantile_by_hand() -> None:
    times = [10.3, 20.3, 30.3, 40.3, 50.3, 60.3, 70.3, 80.3, 90.3, 200.0]
    c = found(shown(GROUPS, times))
    # nine groups are known to the second (middle: .5), the last one exactly
    assert c.mean() == pytest.approx((sum(t + 0.2 for t in times[:-1]) + 200) / 10)
    assert c.quantile(0.9) == pytest.approx(90.5)
    assert c.quantile(1.0) == pytest.approx(200)


def test_whole_seconds_do_not_pin_a_short_call() -> None:
    c = found(shown(GROUPS, [0.4, 0.9, 1.7]))
    assert c.mean() is None
    assert c.seconds == pytest.approx(1.7)


def test_bar_that_stops_early_gives_no_curve() -> None:
    reader = CallReader()
    for done, at in ((0, 0), (1, 3), (2, 5)):
        reader.add(Bar(GROUPS, done, 8, at, None), "PPOTrainer", 7, at)
    assert curve(reader.calls[0]) is None


def test_bars_of_one_process_follow_each_other() -> None:
    reader = CallReader()
    for total in (8, 6, 8):  # an evaluation between two generations
        for done in range(total + 1):
            reader.add(Bar(GROUPS, done, total, done, None), "PPOTrainer", 7, 0)
    reader.add(Bar(REQUESTS, 0, 8, 0, None), "LLMRayActor", 9, 0)
    assert [(c.what, c.total, c.finished) for c in reader.calls] == [
        (GROUPS, 8, True),
        (GROUPS, 6, True),
        (GROUPS, 8, True),
        (REQUESTS, 8, False),
    ]


def test_two_equal_bars_are_told_by_their_clock() -> None:
    reader = CallReader()
    for _ in range(2):
        reader.add(Bar(REQUESTS, 1, 16, 12, None), "LLMRayActor", 9, 0)
        reader.add(Bar(REQUESTS, 16, 16, 12, 12.8), "LLMRayActor", 9, 1)
        reader.add(Bar(REQUESTS, 0, 16, 0, None), "LLMRayActor", 9, 2)
    assert [c.finished for c in reader.calls] == [True, True, False]
