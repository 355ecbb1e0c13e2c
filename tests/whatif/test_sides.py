"""Idle of whole steps by hand: on common GPUs, on separate ones, and with training beside generation."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from settings import result, setting, settings_, steps_of

from rollprof.whatif.compose import parse
from rollprof.whatif.evaluate import Evaluator
from rollprof.whatif.setting import Trainer

# 2 and 6 tokens, one second a decode step: 6 s, full batches would take 4; training takes 4 s, the update 2
ONE = steps_of([[2], [6]])
TRAINER = Trainer(0.5, 2.0, known=True)


def test_on_common_gpus_all_but_generation_is_busy():
    r = result(setting(ONE, trainer=TRAINER), "baseline")
    assert r.effective_idle == pytest.approx(1 / 3)
    assert r.step_idle == pytest.approx(1 / 3 * 6 / 12)
    assert (r.trainer_idle, r.rollout_idle) == (None, None)


def test_on_separate_gpus_each_side_waits_for_the_other():
    apart = replace(TRAINER, apart=True, share=0.25)
    r = result(setting(ONE, trainer=apart), "baseline")
    assert r.trainer_idle == pytest.approx(6 / 12)
    assert r.rollout_idle == pytest.approx(1 - 4 / 12)
    assert r.step_idle == pytest.approx(0.25 * 6 / 12 + 0.75 * 8 / 12)
    r = result(setting(ONE, trainer=apart), "one-step-off")
    assert r.step_s == pytest.approx(8)
    assert r.trainer_idle == pytest.approx(1 - (4 + 2) / 8)
    assert r.rollout_idle == pytest.approx(1 - 4 / 8)
    assert r.step_idle == pytest.approx(0.25 * 0.25 + 0.75 * 0.5)


def test_gpus_that_are_shared_out_weigh_as_they_are_shared():
    r = result(setting(ONE, engines=2, trainer=TRAINER), "one-step-off")
    # one of two generates, the other trains for 8 s: never idle
    assert r.step_s == pytest.approx(10)
    assert r.trainer_idle == pytest.approx(0, abs=1e-12)
    assert r.rollout_idle == pytest.approx(1 - 4 / 10)
    assert r.step_idle == pytest.approx(0.5 * 0.6)


def test_without_the_facts_nothing_is_said():
    r = result(setting(ONE), "baseline")
    assert (r.step_idle, r.trainer_idle, r.rollout_idle) == (None, None, None)
    r = result(setting(ONE, trainer=replace(TRAINER, apart=True)), "one-step-off")
    assert r.step_idle is None
    assert r.trainer_idle == pytest.approx(0.25)


def test_intervals_hold_them():
    w = steps_of(*[[[n], [6]] for n in (1, 2, 3, 4, 5, 6, 2, 3, 4, 5)])
    r = Evaluator(setting(w, trainer=TRAINER)).result(parse("baseline"))
    low, high = r.intervals["step_idle"]
    assert low < r.step_idle < high


@settings(max_examples=30, deadline=None)
@given(settings_(rewards=True))
def test_they_are_fractions(s):
    for policy in ("baseline", "partial:budget=9", "april:over=1.5", "one-step-off", "async:bound=1", "dapo"):
        c = parse(policy)
        if c.needs(s, multi_turn=False):
            continue
        r = result(s, policy)
        assume(r.step_s is not None)
        for value in (r.step_idle, r.trainer_idle, r.rollout_idle):
            assert value is None or -1e-9 <= value <= 1 + 1e-9, policy
        assert r.step_idle is not None
