from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, length_rows, run_of, straggler_512, timed_rows

from rollprof.analyzers.generations import ASYNC, OVERLAP, ROUNDS, UNFILLED, generations


def test_the_worked_example() -> None:
    a = analyzed(straggler_512())
    f = a.figures
    assert f["tail_time_s"].value == pytest.approx(28)
    assert f["tail_time_share"].value == pytest.approx(28 / 30)
    assert f["straggler_wait_mean_s"].value == pytest.approx(500 * 28 / 512)
    assert f["straggler_wait_p50_s"].value == pytest.approx(28)
    assert f["straggler_wait_max_s"].value == pytest.approx(28)
    assert {f[n].basis for n in ("tail_time_s", "straggler_wait_mean_s")} == {"measured"}
    assert f["decode_s_per_token"].value == pytest.approx(30 / 1500)


def test_nine_of_ten_is_nearest_rank() -> None:
    a = analyzed(timed_rows([1] * 10, list(range(1, 11))))
    assert a.figures["tail_time_s"].value == pytest.approx(1)  # the ninth is done at 9 of 10
    assert a.figures["straggler_wait_mean_s"].value == pytest.approx(4.5)


def test_late_starts_do_not_shorten_the_wait() -> None:
    a = analyzed(timed_rows([1, 1], [4.0, 10.0], [0.0, 5.0]))
    assert a.figures["straggler_wait_mean_s"].value == pytest.approx(3)


def test_over_the_run_waits_weigh_by_rollouts_and_tails_add_up() -> None:
    one = timed_rows([1] * 2, [1.0, 3.0], step=1)
    two = timed_rows([1] * 6, [4.0] * 5 + [10.0], step=2, t0=1.7e9 + 100)
    f = analyzed([*one, *two]).figures
    assert f["straggler_wait_mean_s"].value == pytest.approx((2 * 1 + 6 * 5) / 8)
    assert f["straggler_wait_max_s"].value == pytest.approx(6)
    # t_90 of two is the second (3 s), of six the sixth (10 s): the tail is empty
    assert f["tail_time_s"].value == 0
    assert f["tail_time_share"].value == 0


def test_tail_share_is_sum_over_sum() -> None:
    one = timed_rows([1] * 10, [1.0] * 9 + [2.0], step=1)
    two = timed_rows([1] * 10, [10.0] * 9 + [40.0], step=2, t0=1.7e9 + 100)
    f = analyzed([*one, *two]).figures
    assert f["tail_time_s"].value == pytest.approx(31)
    assert f["tail_time_share"].value == pytest.approx(31 / 42)


def test_without_times_waiting_goes_with_length() -> None:
    f = analyzed(length_rows([10] * 9 + [100]), [{"step": 1, "generate_s": 50.0}]).figures
    assert f["straggler_wait_mean_s"].value == pytest.approx(0.9 * 45)
    assert f["tail_time_s"].value == pytest.approx(45)
    assert f["tail_time_share"].value == pytest.approx(0.9)
    assert f["tail_time_share"].basis == f["straggler_wait_mean_s"].basis == "modelled"
    assert "straggler_wait_mean_tokens" not in f


def test_without_any_time_waiting_is_in_tokens() -> None:
    f = analyzed(length_rows([10] * 9 + [100])).figures
    assert f["straggler_wait_mean_tokens"].value == pytest.approx(81)
    assert (f["straggler_wait_max_tokens"].value, f["straggler_wait_max_tokens"].unit) == (90, "tokens")
    assert f["tail_time_share"].value == pytest.approx(0.9)
    assert "straggler_wait_mean_s" not in f or f["straggler_wait_mean_s"].value is None
    assert f["tail_time_s"].value is None


def test_aggregates_give_mean_and_longest_wait() -> None:
    steps = [{"step": 1, "rollouts": 4, "rollout_s_min": 2.0, "rollout_s_mean": 6.0, "rollout_s_max": 10.0}]
    f = analyzed(steps=steps).figures
    assert (f["straggler_wait_mean_s"].value, f["straggler_wait_mean_s"].basis) == (4, "logged")
    assert f["straggler_wait_max_s"].value == 8
    assert f["straggler_wait_p50_s"].value is None
    assert f["tail_time_share"].value is None


def test_logged_waits_stand_beside_modelled_tails() -> None:
    steps = [{"step": 1, "rollout_s_mean": 6.0, "rollout_s_max": 10.0}]
    f = analyzed(length_rows([10] * 9 + [100]), steps).figures
    assert (f["straggler_wait_mean_s"].value, f["straggler_wait_mean_s"].basis) == (4, "logged")
    assert f["straggler_wait_mean_s"].others == {"modelled": pytest.approx(8.1)}
    assert f["tail_time_share"].basis == "modelled"


def test_durations_count_only_where_the_log_says_that_steps_are_synchronous() -> None:
    rows = [
        {**r, "generate_s": g, "queue_s": q}
        for r, g, q in zip(length_rows([5, 9]), [4.0, 6.0], [0.0, 2.0], strict=True)
    ]
    sync = analyzed(rows, fact={"mode": "sync"}).figures
    assert (sync["straggler_wait_mean_s"].value, sync["straggler_wait_mean_s"].basis) == (2, "logged")
    unknown = analyzed(rows).figures
    assert unknown["straggler_wait_mean_tokens"].basis == "modelled"


def test_steps_from_a_buffer_are_pooled_with_the_one_that_generated() -> None:
    rows = [*length_rows([10, 20], step=1), *length_rows([40, 50], step=2), *length_rows([30, 30], step=3)]
    steps = [{"step": s, "generate_s": g, "step_s": 5.0} for s, g in ((1, 2.06), (2, 0.0006), (3, 2.2))]
    run = run_of(rows, steps)
    found = generations(run)
    assert [g.members for g in found] == [(0, 1), (2,)]
    assert found[0].generate_s == pytest.approx(2.0606)
    assert found[0].step_s == 10
    assert found[0].span == slice(0, 4)
    a = analyzed(rows, steps)
    assert "straggler_wait_mean_s" not in a.steps[1].figures
    # all four finish by 50 tokens in 2.0606 s
    assert a.steps[0].figures["straggler_wait_mean_s"].value == pytest.approx(2.0606 * (1 - 30 / 50))


def test_a_buffer_filled_before_the_log_begins_tells_nothing() -> None:
    steps = [{"step": s, "generate_s": g} for s, g in ((1, 0.0005), (2, 2.0), (3, 2.1))]
    assert [g.reason for g in generations(run_of(steps=steps))] == [UNFILLED, "", ""]


def test_several_rounds_and_asynchronous_runs_have_no_barrier() -> None:
    rows = timed_rows([5, 9], [1.0, 2.0])
    rounds = generations(run_of(rows, [{"step": 1, "gen_batches": 2.0}]))
    assert [g.reason for g in rounds] == [ROUNDS]
    free = generations(run_of(rows, fact={"mode": "async"}))
    assert [g.reason for g in free] == [ASYNC]
    a = analyzed(rows, fact={"mode": "async"})
    missing = {m.figure: m.why for m in a.missing}
    assert missing["straggler_wait_mean_s"] == missing["slot_idle"] == ASYNC


def test_overlapping_steps_have_no_barrier() -> None:
    rows = [r for s in range(5) for r in timed_rows([1, 1], [5.0, 30.0], step=s, t0=1.7e9 + 10 * s)]
    assert {g.reason for g in generations(run_of(rows))} == {OVERLAP}
    apart = [r for s in range(5) for r in timed_rows([1, 1], [5.0, 9.0], step=s, t0=1.7e9 + 10 * s)]
    assert {g.reason for g in generations(run_of(apart))} == {""}


def test_a_clock_that_starts_anew_with_each_step_is_no_overlap() -> None:
    rows = [r for s in range(5) for r in timed_rows([1, 1], [5.0, 30.0], step=s, t0=0.0)]
    assert {g.reason for g in generations(run_of(rows, clock="relative"))} == {""}


def case(**columns):  # type: ignore[no-untyped-def]
    """Forty ordinary rollouts and one that is last."""
    L = [100 + i for i in range(40)] + [columns.pop("length", 400)]
    f = [1.0 + L_i / 100 for L_i in L[:-1]] + [columns.pop("finish", 6.0)]
    s = [0.0] * 40 + [columns.pop("start", 0.0)]
    rows = timed_rows(L, f, s)
    fact = columns.pop("fact", None)
    rows[-1].update(columns)
    return analyzed(rows, fact=fact).stragglers[0]


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({}, "long"),
        ({"finish_reason": "length"}, "truncated"),
        ({"tool_s": 3.5}, "tools"),
        ({"queue_s": 4.0}, "queued"),
        ({"start": 4.0, "finish": 6.5, "length": 110}, "queued"),
        ({"length": 120, "finish": 9.0}, "slow per token"),
        ({"length": 120, "finish": 9.0, "fact": {"max_num_seqs": 8, "engines": 1}}, "queued"),
        ({"length": 120, "finish": 2.5}, "unknown"),
    ],
)
def test_why_the_last_was_last(columns: dict, why: str) -> None:  # type: ignore[type-arg]
    assert case(**columns).why == why


def test_the_straggler_is_described() -> None:
    s = case(prompt_id=2**63 + 5, reward=0.5, finish_reason="stop")
    assert (s.step, s.prompt_id, s.length, s.reward, s.finish_reason) == (1, 2**63 + 5, 400, 0.5, "stop")
    finish = np.array([1 + (100 + i) / 100 for i in range(40)] + [6.0])
    assert s.wait_s == pytest.approx((6 - finish).mean())


def test_equal_lengths_have_no_straggler_to_explain() -> None:
    assert analyzed(length_rows([7] * 5)).stragglers[0].why == "unknown"


def test_curves_of_a_typical_and_of_the_worst_step() -> None:
    rows = []
    for step, last in enumerate((10.0, 20.0, 40.0)):
        rows += timed_rows([1] * 4, [5.0, 5.0, 6.0, last], step=step, t0=1.7e9 + 100 * step)
    typical, worst = analyzed(rows).in_flight
    assert (typical.kind, typical.step, worst.kind, worst.step) == ("typical", 1, "worst", 2)
    assert worst.time_s == pytest.approx((0, 5, 6, 40))
    assert worst.running == (4, 2, 1, 0)
    assert (worst.capacity, worst.end_s, worst.basis, worst.unit) == (4, pytest.approx(40), "measured", "s")
    assert worst.t90_s == pytest.approx(40)


def test_long_curves_are_thinned_and_keep_their_ends() -> None:
    finish = np.linspace(1, 100, 4000).tolist()
    curve = analyzed(timed_rows([1] * 4000, finish)).in_flight[1]
    assert len(curve.time_s) <= 300
    assert (curve.time_s[0], curve.time_s[-1], curve.running[-1]) == (0, pytest.approx(100), 0)
    assert all(a < b for a, b in zip(curve.time_s, curve.time_s[1:], strict=False))
