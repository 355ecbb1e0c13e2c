"""Bounds from the times of whole prompt groups, where single rollouts have none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed

STEP: dict[str, Any] = {
    "step": 1,
    "rollouts": 64,
    "prompts": 8,
    "generate_s": 31.0,
    "step_s": 62.0,
    "group_s_mean": 12.0,
    "group_s_p90": 20.0,
    "group_s_max": 30.0,
}


def test_hand_worked_bounds() -> None:
    a = analyzed(steps=[STEP], fact={"mode": "sync", "colocated": True})
    slot = a.figures["slot_idle"]
    assert (slot.value, slot.basis, slot.bound) == (pytest.approx(1 - 12 / 30), "logged", "lower")
    assert slot.interval == (pytest.approx(0.6), 1.0)
    wait, tail = a.figures["straggler_wait_mean_s"], a.figures["tail_time_s"]
    assert (wait.value, wait.bound) == (pytest.approx(18), "lower")
    assert (tail.value, tail.bound) == (pytest.approx(10), "lower")


def test_lengths_close_the_bound_from_above() -> None:
    lengths = {"response_tokens_mean": 100.0, "response_tokens_max": 400.0}
    a = analyzed(steps=[{**STEP, **lengths}], fact={"mode": "sync", "colocated": True})
    assert a.figures["slot_idle"].interval == (pytest.approx(0.6), pytest.approx(0.75))
    step = a.figures["step_idle"]
    assert (step.value, step.bound) == (pytest.approx(0.75 * 31 / 62), "upper")


def test_no_bound_where_requests_queue() -> None:
    a = analyzed(steps=[STEP], fact={"mode": "sync", "engines": 1, "max_num_seqs": 16})
    assert a.figures["slot_idle"].value is None


def test_a_cap_that_cut_some_is_the_longest() -> None:
    step = {"step": 1, "rollouts": 64, "response_tokens_mean": 100.0, "truncated_share": 0.25}
    a = analyzed(steps=[step], fact={"response_cap": 400})
    assert a.figures["slot_idle"].interval is not None
    assert a.figures["slot_idle"].interval[1] == pytest.approx(0.75)


@given(st.lists(st.lists(st.floats(0.1, 100), min_size=4, max_size=4), min_size=2, max_size=20))
def test_groups_never_promise_more_than_their_rollouts_hold(times: list[list[float]]) -> None:
    t = np.array(times)
    groups = t.max(axis=1)
    assert 1 - groups.mean() / groups.max() <= 1 - t.mean() / t.max() + 1e-12
    wait = t.max() - t.mean()
    assert groups.max() - groups.mean() <= wait + 1e-9
