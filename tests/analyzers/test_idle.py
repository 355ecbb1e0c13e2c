from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, length_rows, straggler_512, tables, timed_rows

from rollprof.analyzers.analyze import analyze
from rollprof.analyzers.generations import ROUNDS
from rollprof.analyzers.results import Analysis, Figure
from rollprof.analyzers.tables import Settings


def get(a: Analysis, name: str) -> Figure:
    return a.figures[name]


def test_the_worked_example() -> None:
    f = get(analyzed(straggler_512()), "slot_idle")
    assert f.value == pytest.approx(1 - (500 * 2 + 12 * 30) / (512 * 30), abs=1e-6)
    assert f.value == pytest.approx(0.9115, abs=5e-5)
    assert (f.basis, f.bound, f.n) == ("measured", None, 1)
    assert f.interval == (f.value, f.value)  # known exactly


def test_slots_without_a_queue_are_one_minus_the_mean() -> None:
    rows = timed_rows([10, 20, 40], [1.0, 2.0, 4.0], [0.0, 1.0, 0.0])
    # busy 1 + 1 + 4 of 3 slots x 4 s
    assert get(analyzed(rows), "slot_idle").value == pytest.approx(0.5)


def test_with_a_queue_capacity_is_the_slots() -> None:
    # two slots; four rollouts sent at 0: n = 4 until 1, 3 until 2, 2 until 3, 1 until 5
    rows = timed_rows([10, 20, 30, 50], [1.0, 2.0, 3.0, 5.0])
    a = analyzed(rows, fact={"max_num_seqs": 2, "engines": 1})
    # min(n, 2): 2*3 + 1*2 = 8 of 2*5
    assert get(a, "slot_idle").value == pytest.approx(0.2)
    # waiting 2*1 + 1*1 of 4+3+2+1+1 rollout-seconds in flight
    assert get(a, "queue_share").value == pytest.approx(3 / 11)


def test_engine_idle_is_the_time_of_engines_that_are_done() -> None:
    rows = timed_rows([10] * 4, [1.0, 2.0, 3.0, 4.0], engine=["a", "a", "b", "b"])
    a = analyzed(rows)
    f = get(a, "engine_idle")
    assert (f.value, f.basis) == (pytest.approx(1 - (2 + 4) / (2 * 4)), "measured")
    assert get(a, "engine_imbalance").value == pytest.approx(4 / 3)
    assert a.run.engines == 2


def test_an_engine_that_served_nothing_is_idle_all_the_time() -> None:
    rows = timed_rows([10] * 4, [4.0] * 4, engine=["a", "a", "b", "b"])
    assert get(analyzed(rows, fact={"engines": 4}), "engine_idle").value == pytest.approx(0.0)  # held
    late = timed_rows([10] * 4, [2.0, 2.0, 2.0, 4.0], engine=["a", "a", "b", "b"])
    # T_e 2 and 4 of 2 x 4 on two engines; with a third, 6 of 12; slots 10 of 16 in both
    assert get(analyzed(late), "engine_idle").value == pytest.approx(0.25)
    assert get(analyzed(late, fact={"engines": 3}), "engine_idle").value == pytest.approx(0.375)


def test_uneven_dealing_cannot_lift_engine_idle_above_slot_idle() -> None:
    rows = timed_rows([10] * 10, [10.0] * 9 + [1.0], engine=["a"] * 9 + ["b"])
    a = analyzed(rows)
    slot, engine = get(a, "slot_idle"), get(a, "engine_idle")
    assert slot.value == pytest.approx(0.09)
    assert (engine.value, engine.bound) == (pytest.approx(0.09), "lower")
    assert engine.interval == (pytest.approx(0.09), pytest.approx(0.45))
    assert "unevenly" in slot.note


def test_one_engine_is_never_idle_and_an_assumed_one_says_nothing() -> None:
    assert get(analyzed(straggler_512(), fact={"engines": 1}), "engine_idle").value == 0
    unknown = analyzed(straggler_512())
    assert get(unknown, "engine_idle").value is None
    assert "engines unknown" in get(unknown, "engine_idle").note
    assert unknown.run.engines is None


LOGGED = {
    "step": 34,
    "generate_s": 541.1881153844297,
    "step_s": 1163.9566092677414,
    "rollout_s_min": 18.746763600036502,
    "rollout_s_mean": 266.63931212955356,
    "rollout_s_max": 539.5414212550968,
}


def test_logged_mean_and_maximum() -> None:
    a = analyzed(steps=[LOGGED])
    slot, generation, step = (get(a, n) for n in ("slot_idle", "generation_idle", "step_idle"))
    assert (slot.value, slot.basis, slot.bound) == (pytest.approx(0.506, abs=5e-4), "logged", None)
    assert (generation.value, generation.bound) == (slot.value, "upper")
    assert (step.value, step.basis, step.bound) == (pytest.approx(0.235, abs=5e-4), "logged", "upper")
    assert step.interval == (0, step.value)
    assert a.headline == "step_idle"
    assert "stands in" in generation.note


def test_logged_times_that_contain_a_queue_are_a_lower_bound() -> None:
    step = {"step": 1, "rollouts": 100, "rollout_s_mean": 40.0, "rollout_s_max": 100.0}
    free = get(analyzed(steps=[step], fact={"engines": 2, "max_num_seqs": 64}), "slot_idle")
    assert (free.value, free.bound) == (pytest.approx(0.6), None)
    full = get(analyzed(steps=[step], fact={"engines": 1, "max_num_seqs": 50}), "slot_idle")
    # 100*40 rollout-seconds against 50*100 slot-seconds; at most 1 - mean/max
    assert (full.value, full.bound) == (pytest.approx(0.2), "lower")
    assert full.interval == (pytest.approx(0.2), pytest.approx(0.6))
    crowded = get(analyzed(steps=[step], fact={"engines": 1, "max_num_seqs": 10}), "slot_idle")
    assert (crowded.value, crowded.interval) == (0, (0, pytest.approx(0.6)))
    generation = get(analyzed(steps=[step], fact={"engines": 1, "max_num_seqs": 50}), "generation_idle")
    assert (generation.value, generation.bound) == (pytest.approx(0.6), "upper")


def test_slots_may_queue_for_reasons_the_log_does_not_count() -> None:
    step = {"step": 1, "rollout_s_mean": 40.0, "rollout_s_max": 100.0}
    f = get(analyzed(steps=[step], fact={"requests_may_queue": True}), "slot_idle")
    assert (f.value, f.bound, f.interval) == (pytest.approx(0.6), "upper", (0, pytest.approx(0.6)))


def test_logged_engine_times() -> None:
    step = {
        "step": 1,
        "engine_s_mean": 8.0,
        "engine_s_max": 10.0,
        "rollout_s_mean": 4.0,
        "rollout_s_max": 10.0,
    }
    a = analyzed(steps=[step])
    assert (get(a, "engine_idle").value, get(a, "engine_idle").basis) == (pytest.approx(0.2), "logged")
    assert get(a, "generation_idle").interval == (pytest.approx(0.2), pytest.approx(0.6))


def test_durations_of_a_synchronous_step() -> None:
    rows = [{**r, "generate_s": g} for r, g in zip(length_rows([1, 1, 1, 1]), [1.0, 2, 3, 5], strict=True)]
    sync = get(analyzed(rows, fact={"mode": "sync", "max_num_seqs": 2, "engines": 1}), "slot_idle")
    assert (sync.value, sync.basis) == (pytest.approx(0.2), "logged")
    assert "submitted together" in sync.note
    assert get(analyzed(rows), "slot_idle").basis == "modelled"


def test_the_end_alone_counts_from_the_start_of_the_call() -> None:
    rows = [{**r, "started_at": None} for r in timed_rows([1, 1], [2.0, 5.0])]
    steps = [{"step": 1, "generate_s": 10.0}]
    f = get(analyzed(rows, steps, fact={"mode": "sync"}), "slot_idle")
    # the call began 10 s before the last end: busy 7 + 10 of 20
    assert (f.value, f.basis) == (pytest.approx(0.15), "logged")


def test_lengths_alone_give_a_bracket_and_no_value() -> None:
    rows = length_rows([1, 2, 3, 10])
    a = analyzed(rows)
    f = get(a, "slot_idle")
    # Gini: (-3 -2 +3 +30)/(4*16); 1 - mean/max = .6; context of empty prompts: see the model's own tests
    assert f.value is None
    assert f.basis == "modelled"
    assert f.interval is not None
    assert f.interval[0] == pytest.approx(28 / 64)
    assert f.interval[1] >= 0.6
    assert get(a, "generation_idle").interval == f.interval
    assert get(a, "effective_idle").value is None
    assert a.headline == "generation_idle"


def test_a_bracket_becomes_a_value_only_when_asked() -> None:
    rows = length_rows([1, 2, 3, 10])
    plain = get(analyzed(rows), "slot_idle")
    assert plain.interval is not None
    half = analyzed(rows, settings=Settings(idle_figure="slot_idle"))
    assert get(half, "slot_idle").value is None
    assert half.headline == "slot_idle"
    asked = analyzed(rows, settings=Settings(idle_figure="slot_idle", allow_modelled=True))
    f = get(asked, "slot_idle")
    assert (f.value, f.bound, f.interval) == (plain.interval[1], "upper", plain.interval)
    assert get(asked, "generation_idle").value is None


def test_aggregates_alone_give_a_wider_bracket() -> None:
    step = {"step": 1, "rollouts": 128, "response_tokens_mean": 500.0, "response_tokens_max": 4000.0}
    f = get(analyzed(steps=[step]), "slot_idle")
    assert (f.value, f.basis) == (None, "modelled")
    assert f.interval is not None
    assert 0 <= f.interval[0] < 0.4
    assert f.interval[1] >= 0.875


def test_over_the_run_idle_weighs_by_slots_and_seconds() -> None:
    one = timed_rows([1] * 2, [1.0, 4.0], step=1)  # 3/8 of 8 slot-seconds
    two = timed_rows([1] * 4, [10.0] * 4, step=2, t0=1.7e9 + 50)  # 0 of 40
    f = get(analyzed([*one, *two]), "slot_idle")
    assert f.value == pytest.approx(3 / 48)
    assert f.n == 2


def test_bases_do_not_mix_silently() -> None:
    timed = [r for s in range(12) for r in timed_rows([1] * 2, [1.0, 4.0], step=s, t0=1.7e9 + 50 * s)]
    bare = length_rows([1, 4], step=12)
    f = get(analyzed([*timed, *bare], [{"step": 12, "generate_s": 4.0}]), "slot_idle")
    assert (f.value, f.basis, f.n) == (pytest.approx(0.375), "measured", 12)
    assert "12 of 13" in f.note


def test_when_most_steps_are_brackets_so_is_the_run() -> None:
    rows = [*timed_rows([1] * 2, [1.0, 4.0], step=1)]
    rows += [r for s in range(2, 6) for r in length_rows([10, 40], step=s)]
    f = get(analyzed(rows, [{"step": s, "generate_s": 4.0} for s in range(2, 6)]), "slot_idle")
    assert f.value is None
    assert f.interval is not None
    assert f.interval[0] < 0.375 < f.interval[1] + 1e-9


STEP = {"step": 1, "generate_s": 5.0, "step_s": 10.0}


def test_shared_gpus_lose_only_inside_generation() -> None:
    rows = timed_rows([1] * 2, [1.0, 4.0])
    f = get(analyzed(rows, [STEP], fact={"colocated": True, "gpus": 8}), "step_idle")
    assert (f.value, f.basis, f.bound) == (pytest.approx(0.375 * 0.5), "logged", "upper")
    assert f.note == ""
    unsaid = get(analyzed(rows, [STEP]), "step_idle")
    assert "share their GPUs" in unsaid.note


def test_separate_gpus_wait_for_each_other() -> None:
    rows = timed_rows([1] * 2, [1.0, 4.0])
    fact = {"colocated": False, "rollout_gpus": 6, "trainer_gpus": 2, "mode": "sync"}
    a = analyzed(rows, [STEP], fact=fact)
    rollout, trainer = get(a, "rollout_idle"), get(a, "trainer_idle")
    assert rollout.value == pytest.approx(1 - (1 - 0.375) * 0.5)
    assert trainer.value == pytest.approx(0.5)
    assert get(a, "step_idle").value == pytest.approx((6 * 0.6875 + 2 * 0.5) / 8)
    assert get(a, "gpu_hours_lost").value == pytest.approx(get(a, "step_idle").value * 8 * 10 / 3600)
    # waiting as logged wins over waiting as implied
    waits = analyzed(rows, [{**STEP, "wait_s": 4.0}], fact=fact)
    assert get(waits, "trainer_idle").value == pytest.approx(0.4)


def test_an_asynchronous_run_is_idle_where_its_sides_say_so() -> None:
    steps = [
        {"step": s, "step_s": t, "trainer_idle": i, "rollout_idle": 0.1}
        for s, t, i in ((1, 10.0, 0.5), (2, 30.0, 0.1))
    ]
    split = {"mode": "async", "colocated": False, "rollout_gpus": 3, "trainer_gpus": 1}
    a = analyzed(steps=steps, fact=split)
    assert get(a, "trainer_idle").value == pytest.approx((10 * 0.5 + 30 * 0.1) / 40)
    assert get(a, "step_idle").value == pytest.approx((3 * 0.1 + 0.2) / 4)
    assert (a.headline, get(a, "slot_idle").value) == ("step_idle", None)
    unknown = analyzed(steps=steps, fact={"mode": "async"})
    assert (unknown.headline, get(unknown, "step_idle").value) == ("trainer_idle", None)
    assert "split" in get(unknown, "step_idle").note


def test_gpu_hours_and_their_price() -> None:
    rows = timed_rows([1] * 2, [1.0, 4.0])
    a = analyzed(
        rows,
        [{**STEP, "step_s": 3600.0, "generate_s": 1800.0}],
        fact={"gpus": 4},
        settings=Settings(gpu_hour_cost=2.5),
    )
    hours = get(a, "gpu_hours_lost")
    assert hours.value == pytest.approx(0.375 * 0.5 * 4)
    assert (hours.bound, hours.basis, hours.unit) == ("upper", "logged", "h")
    assert get(a, "cost_lost").value == pytest.approx(2.5 * 0.75)
    assert a.steps[0].figures["gpu_hours_lost"].value == hours.value
    assert get(analyzed(rows, [STEP]), "gpu_hours_lost").value is None


def test_without_step_times_the_hours_are_those_of_generation() -> None:
    rows = timed_rows([1] * 2, [1.0, 4.0])
    a = analyzed(rows, fact={"gpus": 9})
    assert get(a, "gpu_hours_lost").value == pytest.approx(0.375 * 9 * 4 / 3600)


def test_gpu_hours_add_up_over_steps() -> None:
    rows = [r for s in (1, 2, 3) for r in timed_rows([1] * 2, [1.0, 4.0], step=s, t0=1.7e9 + 50 * s)]
    a = analyzed(rows, [{**STEP, "step": s} for s in (1, 2)], fact={"gpus": 8})
    per_step = [s.figures["gpu_hours_lost"].value for s in a.steps]
    assert get(a, "gpu_hours_lost").value == pytest.approx(sum(v for v in per_step if v is not None))
    assert len(per_step) == 3


def test_generation_longer_than_the_step_is_not_divided() -> None:
    rows = timed_rows([1] * 2, [1.0, 4.0])
    a = analyzed(rows, [{"step": 1, "generate_s": 20.0, "step_s": 10.0}])
    assert get(a, "step_idle").value is None
    assert "contradicts" in get(a, "step_idle").note
    assert a.findings[0].code == "generation_exceeds_step"
    assert a.headline == "generation_idle"


def test_steps_of_several_rounds_are_left_out_and_counted() -> None:
    rows = [*timed_rows([1] * 2, [1.0, 4.0], step=1), *timed_rows([1] * 2, [1.0, 9.0], step=2, t0=1.7e9 + 50)]
    a = analyzed(rows, [{"step": 1, "gen_batches": 1.0}, {"step": 2, "gen_batches": 3.0}])
    f = get(a, "slot_idle")
    assert f.value == pytest.approx(0.375)
    assert f"1 step left out: {ROUNDS}" in f.note
    assert "slot_idle" not in a.steps[1].figures


def test_a_pooled_step_weighs_with_the_time_of_all_it_serves() -> None:
    rows = [*timed_rows([1] * 2, [1.0, 4.0], step=1), *timed_rows([1] * 2, [2.0, 4.0], step=2)]
    steps: list[dict[str, Any]] = [
        {"step": 1, "generate_s": 4.0, "step_s": 6.0},
        {"step": 2, "generate_s": 0.0005, "step_s": 2.0},
        {"step": 3, "generate_s": 5.0, "step_s": 8.0},
    ]
    a = analyzed(rows, steps)
    assert a.steps[0].figures["slot_idle"].value == pytest.approx(1 - (1 + 4 + 2 + 4) / 16)
    assert a.steps[0].figures["step_idle"].value == pytest.approx((5 / 16) * 4.0005 / 8)
    assert "slot_idle" not in a.steps[1].figures


def test_a_few_rollouts_without_a_time_are_left_out_and_said() -> None:
    rows = timed_rows([1] * 40, [1.0] * 39 + [4.0])
    rows[0]["completed_at"] = None
    f = get(analyzed(rows), "slot_idle")
    assert f.basis == "measured"
    assert "1 of 40" in f.note
    for row in rows[:5]:
        row["completed_at"] = None
    assert get(analyzed(rows), "slot_idle").basis == "modelled"


def test_a_rollout_that_ends_before_it_starts_is_not_a_time() -> None:
    rows = timed_rows([1, 1], [5.0, 2.0], [0.0, 3.0])
    assert get(analyzed(rows), "slot_idle").basis == "modelled"


def test_evaluation_is_not_generation() -> None:
    rows = [*timed_rows([1] * 2, [1.0, 4.0]), *timed_rows([1] * 2, [1.0, 40.0])]
    for r in rows[2:]:
        r["split"] = "eval"
    a = analyzed(rows)
    assert get(a, "slot_idle").value == pytest.approx(0.375)
    assert [s.step for s in a.eval_steps] == [1]
    assert "slot_idle" not in a.eval_steps[0].figures
    assert a.eval_steps[0].figures["response_tokens_mean"].value == 1
    e = analyzed(rows, settings=Settings(split="eval"))
    assert get(e, "slot_idle").value is None
    assert e.figures["response_tokens_mean"].n == 2
    assert e.steps[0].figures["response_tokens_mean"].value == 1
    assert "slot_idle" not in e.eval_steps[0].figures


def test_assumptions_about_engines_and_slots_are_said() -> None:
    rows = timed_rows([10, 20, 30, 50], [1.0, 2.0, 3.0, 5.0])
    bare = get(analyzed(rows), "slot_idle")
    assert bare.note == ""  # no limit known: no queue assumed, and no engines needed
    limited = get(analyzed(rows, fact={"max_num_seqs": 2, "gpus": 1}), "slot_idle")
    assert "one per GPU assumed" in limited.note
    default = {"max_num_seqs": {"value": 2, "origin": "default", "how": "default of verl since 0.9"}}
    t = tables(rows, fact={"engines": 1})
    t.meta["facts"].update(default)
    f = analyze(t, Settings(resamples=20)).figures["slot_idle"]
    assert (f.value, f.note) == (pytest.approx(0.2), "default of verl since 0.9")


def test_engines_come_from_the_log_before_they_are_assumed() -> None:
    rows = straggler_512()
    for fact, engines in (
        ({"engines": 3}, 3),
        ({"gpus": 8, "gpus_per_engine": 2}, 4),
        ({"gpus": 8, "rollout_gpus": 6, "gpus_per_engine": 2}, 3),
        ({"gpus": 8}, None),
        ({}, None),
    ):
        assert analyzed(rows, fact=fact).run.engines == engines
