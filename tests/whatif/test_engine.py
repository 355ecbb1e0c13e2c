"""The interruptible replay against decode steps taken one by one, and its laws."""

from __future__ import annotations

import numpy as np
import pytest
import slow_reference as slow
from hypothesis import given, settings
from hypothesis import strategies as st
from settings import costs

from rollprof.model.decode import DecodeCost
from rollprof.model.interrupt import Drain, Speculation
from rollprof.model.schedule import make_schedule
from rollprof.model.simulate import closed_form, replay
from rollprof.whatif.setting import Engines

lengths = st.lists(st.integers(1, 50), min_size=1, max_size=16)
few = settings(max_examples=60, deadline=None)


def drained(L, p, cost, engines=1, slots=None, **more) -> Drain:
    schedule = make_schedule(np.array(L), slots=slots, engines=engines)
    return Drain(schedule, DecodeCost(*cost), np.full(len(L), p), **more)


@few
@given(
    lengths,
    st.integers(0, 20),
    costs,
    st.integers(1, 3),
    st.one_of(st.none(), st.integers(1, 5)),
    st.floats(0, 1.2),
)
def test_times_and_tokens_at_any_moment_are_those_of_steps_taken_one_by_one(
    L, p, cost, engines, slots, share
):
    d = drained(L, p, cost, engines, slots)
    times = slow.run(L, [p] * len(L), cost, engines, slots)
    assert d.finish == pytest.approx(slow.finish(times), rel=1e-9)
    moment = cost[0] + share * (d.duration - cost[0])
    if all(abs(t - moment) > 1e-6 * d.duration for log in times for t in log):  # no token exactly then
        assert d.at(moment).tokens.tolist() == slow.tokens_by(times, moment)


@few
@given(lengths, st.integers(1, 20), costs, st.one_of(st.none(), st.integers(1, 5)))
def test_prefill_of_resumed_rollouts_stalls_the_engine(L, p, cost, slots):
    resumed = [i % 2 == 0 for i in range(len(L))]
    engines = Engines(DecodeCost(*cost), 2, slots, resume=0.03)
    d = engines.drain(np.array(L), np.full(len(L), p), resumed=np.array(resumed))
    times = slow.run(L, [p] * len(L), cost, 2, slots, resumed, 0.03)
    assert d.finish == pytest.approx(slow.finish(times), rel=1e-9)


@few
@given(lengths, st.integers(0, 20), costs, st.integers(1, 3), st.one_of(st.none(), st.integers(1, 5)))
def test_closed_form(L, p, cost, engines, slots):
    c = DecodeCost(*cost)
    d = drained(L, p, cost, engines, slots)
    want = closed_form(L, c, prompts=[p] * len(L), slots=slots, engines=engines)
    assert d.duration == pytest.approx(float(want.max()), rel=1e-9)
    plain = replay(L, c, prompts=[p] * len(L), slots=slots, engines=engines)
    assert d.finish == pytest.approx(plain.finish, rel=1e-12)
    assert d.start == pytest.approx(plain.start, rel=1e-12, abs=1e-12)


@few
@given(lengths, costs, st.integers(1, 3), st.one_of(st.none(), st.integers(1, 5)), st.data())
def test_time_grows_with_every_length_and_every_cost(L, cost, engines, slots, data):
    before = drained(L, 5, cost, engines, slots).duration
    longer = list(L)
    longer[data.draw(st.integers(0, len(L) - 1))] += data.draw(st.integers(1, 30))
    assert drained(longer, 5, cost, engines, slots).duration >= before * (1 - 1e-12)
    for i in range(4):
        dearer = list(cost)
        dearer[i] += 0.5
        assert drained(L, 5, dearer, engines, slots).duration >= before * (1 - 1e-12)
    assert before >= cost[1] * max(L) * (1 - 1e-12)


def test_speculation_by_hand():
    # lengths 2 and 6 at one second a step: 2 steps with two running at speed 2, 4 with one at speed 4
    spec = Speculation(4.0, 2.0, 2)
    d = drained([2, 6], 0, (0, 1, 0, 0), speculation=spec)
    assert d.finish.tolist() == [1.0, 2.0]
    assert d.at(1.25).tokens.tolist() == [2, 3]


def test_speculation_is_log_linear_and_ends_at_its_batch():
    spec = Speculation(3.62, 1.70, 32)
    at = spec.speed(np.array([1, 4, 32, 33]))
    assert at.tolist() == pytest.approx([3.62, 3.62 - 1.92 * 2 / 5, 1.70, 1.0])


def test_a_moment_by_hand():
    # one engine, two slots, a=1 b=.5: 3 and 5 run, 2 waits until step 3
    d = drained([3, 5, 2], 0, (1.0, 1.0, 0.5, 0.0), slots=2)
    assert d.start.tolist() == [0.0, 0.0, 7.0]  # k0 1 + 3 steps of 2 s
    assert d.finish.tolist() == [7.0, 11.0, 11.0]
    seen = d.at(9.5)  # one step into the second pair, and a half that does not count
    assert seen.tokens.tolist() == [3, 4, 1]
    assert seen.slot_seconds == pytest.approx(7 + 9.5 + 2.5)
    assert seen.engine_seconds == 9.5
    assert seen.step_seconds == 4.0
