from __future__ import annotations

import numpy as np
import pytest

from rollprof.model.schedule import make_schedule, make_timeline, whole_tokens


def test_first_come_first_served_by_hand() -> None:
    # two slots: 5 and 2 start; 4 follows the 2 at step 2, 1 follows the 5 at step 5, 3 whichever ends at 6
    schedule = make_schedule([5, 2, 4, 1, 3], slots=2)
    assert schedule.admitted.tolist() == [0, 0, 2, 5, 6]
    assert schedule.finished.tolist() == [5, 2, 6, 6, 9]
    assert schedule.engine_steps.tolist() == [9]
    assert schedule.capacity == 2


def test_round_robin_deals_in_the_order_of_submission() -> None:
    schedule = make_schedule([5, 1, 3, 1, 2], slots=2, engines=2)
    assert schedule.engine.tolist() == [0, 1, 0, 1, 0]
    assert schedule.admitted.tolist() == [0, 0, 0, 0, 3]
    assert schedule.engine_steps.tolist() == [5, 1]
    assert schedule.capacity == 4


def test_timeline_by_hand() -> None:
    # one slot: [2 tokens after a prompt of 10] then [3 tokens after a prompt of 7]
    schedule = make_schedule([2, 3], slots=1)
    timeline = make_timeline(schedule, np.array([10, 7]))
    busy = timeline.width > 0
    assert timeline.width[busy].tolist() == [2, 3]
    assert timeline.running[busy].tolist() == [1, 1]
    assert timeline.context[busy].tolist() == [10, 7]
    admitted, finished = timeline.elapsed((timeline.width * timeline.running).astype(float))
    assert admitted.tolist() == [0, 2]
    assert finished.tolist() == [2, 5]


def test_scaled_lengths_are_rounded() -> None:
    assert whole_tokens([1.4, 1.6]).tolist() == [1, 2]


@pytest.mark.parametrize("bad", [[-1], [float("nan")], [float("inf")], [[1, 2]]])
def test_lengths_that_cannot_be_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="lengths"):
        make_schedule(bad)


def test_engines_and_slots_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        make_schedule([1], engines=0)
    with pytest.raises(ValueError, match="at least one"):
        make_schedule([1], slots=0)
    with pytest.raises(ValueError, match="one engine from 0 to 1"):
        make_schedule([1, 2], engines=2, assignment=[0, 2])
