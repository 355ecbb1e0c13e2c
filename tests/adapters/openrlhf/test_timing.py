"""What the timers mean, worked out by hand for each trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rollprof.adapters.base import Interpretation

Interpret = Callable[..., Interpretation]

SYNC = {"train.async_enable": False, "algo.kl.init_coef": 0.0, "reward.remote_url": ["reward.py"]}
ASYNC = {**SYNC, "train.async_enable": True}
PARTIAL = {**ASYNC, "train.partial_rollout_enable": True}


def timed(total: float, generation: float = 60.0, broadcast: float = 5.0, **more: float) -> dict[str, float]:
    return {
        "reward": 0.5,
        "timing/generation": generation,
        "timing/make_experience": 10.0,
        "timing/ppo_train": 25.0,
        "timing/broadcast": broadcast,
        "timing/step_total": total,
        **more,
    }


def since(seconds: float, **more: float) -> dict[str, float]:
    return {"log/since_previous_step_s": seconds, **more}


def rows(reading: Interpretation) -> dict[int, dict[str, Any]]:
    return {r["step"]: dict(r) for r in reading.steps if r["split"] == "train"}


def test_sum_confirmed_by_the_stamps_is_the_step(interpret: Interpret) -> None:
    found = rows(interpret({1: timed(100), 2: timed(100.4) | since(100), 3: timed(99.2) | since(100)}, SYNC))
    assert [found[n]["step_s"] for n in (1, 2, 3)] == [100, 100.4, 99.2]
    assert found[2]["generate_s"] == 60
    assert found[2]["update_s"] == 25
    assert found[2]["weight_sync_s"] == 5
    assert found[2]["old_logprob_s"] == 10


def test_sum_without_checkpoint_and_evaluation_is_not_the_step(interpret: Interpret) -> None:
    metrics = {
        1: timed(100) | {"log/eval_s": 40.0, "eval_a_pass1": 0.5},
        2: timed(100) | since(143),
        3: timed(100) | since(101),
    }
    reading = interpret(metrics, SYNC)
    found = rows(reading)
    assert found[1]["step_s"] == 100  # nothing tells when it began, but nothing came before it either
    assert (found[2]["step_s"], found[2]["eval_s"]) == (143, 40)
    assert found[3]["step_s"] == 100  # 101 whole seconds confirm it
    assert any("a sum without checkpoints" in n for n in reading.notes)


def test_short_steps_are_not_told_by_whole_seconds(interpret: Interpret) -> None:
    found = rows(
        interpret({1: {"reward": 0.5}, 2: {"reward": 0.5} | since(7), 3: {"reward": 0.5} | since(31)})
    )
    assert "step_s" not in found[2]
    assert found[3]["step_s"] == 31


def test_sum_that_nothing_confirms(interpret: Interpret) -> None:
    reading = interpret({1: timed(100)}, SYNC)
    assert "step_s" not in rows(reading)[1]
    assert any("no stamps confirm it" in n for n in reading.notes)


def test_a_tracker_s_clock_confirms_but_does_not_measure(interpret: Interpret) -> None:
    metrics = {n: timed(100) for n in (1, 2, 3, 4)}
    times = {1: 1000.0, 2: 1100.4, 3: 1200.6, 4: 9000.0}  # started again before step 4, or a checkpoint
    found = rows(interpret(metrics, SYNC, times=times))
    assert [found[n].get("step_s") for n in (1, 2, 3, 4)] == [100, 100, 100, None]


def test_more_phases_than_time_is_an_alarm(interpret: Interpret) -> None:
    reading = interpret({1: timed(100), 2: timed(100) | since(30)}, SYNC)
    assert "step_s" not in rows(reading)[2]
    assert [a.code for a in reading.alarms] == ["openrlhf_time_contradiction"]


def test_asynchronous_broadcast_waits(interpret: Interpret) -> None:
    metrics = {
        1: timed(400, 50, broadcast=40),
        2: timed(70, 50, broadcast=30) | since(70),
        3: timed(80, 50, broadcast=30) | since(80),
    }
    reading = interpret(metrics, ASYNC)
    found = rows(reading)
    assert "step_s" not in found[1]  # the start of the job is in it
    assert "wait_s" not in found[1]
    assert (found[2]["step_s"], found[2]["wait_s"]) == (70, 70 - 10 - 25)
    assert found[3]["wait_s"] == 80 - 10 - 25
    assert not any("weight_sync_s" in r for r in found.values())
    # step 2 waits 5 s at the queue and step 3 15 s: batch 3 took 50 s of the 70 - 5 + 15 s between
    assert found[2]["rollout_idle"] == pytest.approx(1 - 50 / 80)
    assert "rollout_idle" not in found[3]  # its cycle ends after the log
    assert found[1]["generate_s"] == 50  # its own call, whenever it ran
    assert any("waits until the engines are free" in n for n in reading.notes)


def test_a_longer_queue_lets_the_generator_run_ahead(interpret: Interpret) -> None:
    metrics = {n: timed(80, 50, broadcast=30) | since(80) for n in range(1, 5)}
    metrics[3]["timing/generation"] = 100.0  # longer than its cycle: generated over two
    assert rows(interpret(metrics, ASYNC))[2].get("rollout_idle") is None
    found = rows(interpret(metrics, ASYNC | {"train.async_queue_size": 2}))
    assert [found[n].get("rollout_idle") for n in (2, 3)] == pytest.approx([1 - 200 / 240] * 2)


def test_partial_rollouts_do_not_wait_for_the_engines(interpret: Interpret) -> None:
    found = rows(interpret({1: timed(400), 2: timed(70) | since(70)}, PARTIAL))
    assert found[2]["weight_sync_s"] == 5
    assert found[2]["wait_s"] == 70 - 10 - 25 - 5


def test_evaluation_holds_the_engines(interpret: Interpret) -> None:
    metrics = {n: timed(80) | since(80) for n in range(1, 6)}
    metrics[1]["eval_a_pass1"] = 0.5
    metrics[2] = timed(170, broadcast=90) | since(170)
    found = rows(interpret(metrics, PARTIAL))
    assert "weight_sync_s" not in found[2]
    assert "rollout_idle" not in found[2]
    assert found[4]["rollout_idle"] == pytest.approx(1 - 60 / 80)


def test_steps_from_the_buffer_are_pooled(interpret: Interpret) -> None:
    metrics = {
        1: timed(400),
        2: timed(90, generation=100) | since(90),
        3: timed(50, generation=0.0006) | since(50),
        4: timed(120, generation=85) | since(120),
    }
    reading = interpret(metrics, PARTIAL)
    found = rows(reading)
    assert reading.facts["buffered_steps"].value == "3"
    assert found[3]["gen_batches"] == 0
    assert found[3]["generate_s"] == 0.0006
    # The call of step 2 ran in the cycle of step 1, where the job starts, and in that of step 2, which it
    # served from the buffer: 40 + 50 s between taking batches 1 and 2, then 40 + 10 s until batch 3.
    assert found[2]["rollout_idle"] == pytest.approx(1 - 100.0006 / (90 + 50))
    # The call of step 4 ran in the cycle of step 3: 40 + 80 s.
    assert found[3]["rollout_idle"] == pytest.approx(1 - 85 / 120)
    assert any("served from the sample buffer" in n for n in reading.notes)


def test_trainer_is_told_by_its_arithmetic(interpret: Interpret) -> None:
    """Without arguments and actors: only the synchronous total is the sum of the phases."""
    assert interpret({1: timed(100), 2: timed(100)}).facts["mode"].value == "sync"
    assert interpret({1: timed(400), 2: timed(70)}).facts["mode"].value == "async"
    assert interpret({1: {"reward": 0.5}}).facts["mode"].value == "unknown"


def test_experience_of_several_models_is_no_single_phase(interpret: Interpret) -> None:
    for more in (
        {"algo.kl.init_coef": 0.01},
        {"critic.model_name_or_path": "m"},
        {"reward.remote_url": None},
    ):
        reading = interpret({1: timed(100)}, SYNC | more)
        assert "old_logprob_s" not in rows(reading)[1], more
        assert any("passes of several models" in n for n in reading.notes)


def test_tags_of_a_tracker_are_the_same_keys(interpret: Interpret) -> None:
    tagged = {f"train/{k}": v for k, v in timed(100).items()} | {"eval/eval_a_pass1": 0.25}
    reading = interpret({1: tagged}, SYNC)
    assert rows(reading)[1]["generate_s"] == 60
    assert [r["reward_mean"] for r in reading.steps if r["split"] == "eval"] == [0.25]


def test_values_that_are_no_number_are_left_out(interpret: Interpret) -> None:
    found = rows(interpret({1: {"reward": float("nan"), "response_length": float("inf"), "kl": 0.5}}))
    assert set(found[1]) == {"step", "split", "logged_at"}
