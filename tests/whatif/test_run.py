"""From tables to a what-if: what is loaded, what it is calibrated on, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_runs import frame, length_rows, tables, timed_rows

from rollprof.analyzers.tables import Settings
from rollprof.errors import InputProblem, UsageProblem
from rollprof.model.decode import DecodeCost
from rollprof.model.simulate import replay
from rollprof.schema.tables import BY_NAME
from rollprof.whatif.compose import parse
from rollprof.whatif.evaluate import Evaluator, replayed_draws
from rollprof.whatif.policies.catalog import POLICIES
from rollprof.whatif.prior import prior_cost
from rollprof.whatif.run import Options, whatif
from rollprof.whatif.samples import fit_samples
from rollprof.whatif.setting import Engines, Setting
from rollprof.whatif.waits import waits_between_turns
from rollprof.whatif.workload import make_workload

SYNC = {"mode": "sync", "engines": 2}
COST = DecodeCost(2.0, 0.01, 0.0004, 0.0)


def drawn(step, n=64, seed=0):
    rng = np.random.default_rng(seed * 1000 + step)
    return np.clip(rng.lognormal(5.5, 0.9, n), 1, 4000).astype(int)


def grouped(rows, size=4, step=1):
    return [{**r, "group_id": step * 1000 + i // size, "prompt_id": i // size} for i, r in enumerate(rows)]


def timed_run(steps=6, **more):
    rows = []
    for s in range(1, steps + 1):
        L = drawn(s)
        f = replay(L, COST, engines=2).finish
        rows += grouped(timed_rows(L, f, step=s, t0=1.7e9 + 1000 * s), step=s)
    return tables(rows, fact=SYNC, **more)


def lengths_run(steps=6, extra=None, seconds=False):
    rows, columns = [], []
    for s in range(1, steps + 1):
        L = drawn(s)
        rows += grouped(length_rows(L, step=s, **(extra or {})), step=s)
        T = replay(L, COST, engines=2).duration
        columns.append(
            {"step": s, "generate_s": T, "update_s": 5.0, "step_s": T + 6} if seconds else {"step": s}
        )
    return tables(rows, columns, fact=SYNC)


def asked(t, *policies, **options):
    return whatif(t, Settings(), Options(policies=policies, **options))


def test_times_of_rollouts_give_the_cost_back():
    c = asked(timed_run(), "partial").calibration
    assert c.source == "fit-rollouts"
    assert (c.a, c.b) == (pytest.approx(0.01, rel=0.02), pytest.approx(0.0004, rel=0.05))
    assert c.k0 == pytest.approx(2.0, rel=0.05)
    assert c.rough == ""
    assert c.drift["time_error"] < 0.01


def test_durations_of_steps_scale_an_assumed_cost():
    found = asked(lengths_run(seconds=True), "partial")
    assert found.calibration.source in ("fit-steps", "unit")
    measured = np.mean([replay(drawn(s), COST, engines=2).duration for s in range(1, 7)])
    assert found.baseline.generate_s == pytest.approx(measured, rel=0.1)
    assert found.whole_step
    assert found.baseline.step_s == pytest.approx(measured + 5, rel=0.1)


def test_with_lengths_only_there_are_ratios_and_a_range():
    found = asked(lengths_run(), "partial:budget=500")
    assert found.calibration.source == "unit"
    assert found.calibration.relative
    assert found.baseline.step_s is None
    partial = next(p for p in found.policies if p.name == "partial")
    assert partial.step_s is None
    low, high = partial.range
    assert low < partial.speedup < high
    assert "no times" in found.calibration.rough


def test_step_aggregates_give_a_range_over_how_alike_siblings_are():
    rows = [
        {
            "step": s,
            "rollouts": 64,
            "prompts": 8,
            "response_tokens_mean": 900.0 + 10 * s,
            "response_tokens_max": 4000.0,
            "truncated_share": 0.0,
        }
        for s in range(1, 13)
    ]
    found = asked(tables([], rows, fact=SYNC))
    april = [p for p in found.policies if p.name == "april"]
    assert april
    assert all(p.range[0] < p.range[1] for p in april)
    assert any("both ends" in n for n in found.notes)
    assert found.tail.icc is None
    dapo = next(p for p in found.policies if p.name == "dapo")
    assert dapo.speedup is None
    assert dapo.needs == ["rewards of rollouts"]


def test_the_prior_needs_both_names_and_known_ones():
    found = asked(lengths_run(), "partial", gpu="H100", model="7B")
    assert found.calibration.source == "prior"
    assert found.calibration.a == pytest.approx(7.2e-3, rel=0.02)
    assert found.calibration.c == pytest.approx(33e-9, rel=0.02)
    for bad in (
        {"gpu": "H100"},
        {"model": "7B"},
        {"gpu": "H10O", "model": "7B"},
        {"gpu": "H100", "model": "9B"},
    ):
        with pytest.raises(UsageProblem):
            asked(lengths_run(), "partial", **bad)


@pytest.mark.parametrize(
    ("gpu", "model", "gpus", "a", "c"),
    [
        ("H100", "7B", 1, 7.2e-3, 33e-9),
        ("H200", "7B", 1, 5.3e-3, 23e-9),
        ("H100", "14B", 2, 7.4e-3, 57e-9),
        ("H100", "32B", 2, 15.5e-3, 76e-9),
        ("H100", "4B", 1, 4.5e-3, 86e-9),
    ],
)
def test_the_prior_is_that_of_the_table(gpu, model, gpus, a, c):
    cost = prior_cost(gpu, model, gpus)
    assert cost.a == pytest.approx(a, rel=0.06)
    assert cost.c == pytest.approx(c, rel=0.03)


def misfit():
    rng = np.random.default_rng(1)
    rows = []
    for s in range(1, 7):
        L = drawn(s)
        rows += timed_rows(L, rng.lognormal(3, 1.5, len(L)) + 1, step=s, t0=1.7e9 + 1e5 * s)
    return tables(rows, fact=SYNC)


def test_times_that_do_not_fit_are_refused_with_the_reason():
    with pytest.raises(InputProblem, match="do not fit a decode cost: off by") as refused:
        asked(misfit(), "partial")
    assert "--force" in (refused.value.hint or "")
    forced = asked(misfit(), "partial", force=True)
    assert "do not fit" in forced.calibration.rough


def test_redrawn_responses_are_refused_unless_forced():
    policy = "oversample-drop:factor=1.25,unit=response,extra=redrawn"
    with pytest.raises(UsageProblem, match="overstates the gain") as refused:
        asked(lengths_run(), policy)
    assert "--force" in (refused.value.hint or "")
    forced, honest = (
        next(p for p in asked(lengths_run(), text, force=True).policies if p.name == "oversample-drop")
        for text in (policy, policy.removesuffix(",extra=redrawn"))
    )
    assert forced.parameters["extra"] == "redrawn"
    assert forced.speedup is not None
    assert "logged responses a prompt" in " ".join(honest.notes)


def test_nothing_to_replay_is_an_input_problem():
    with pytest.raises(InputProblem, match="nothing to replay"):
        asked(tables([], [{"step": 1, "generate_s": 3.0}]), "partial")


def test_all_eleven_are_listed_whatever_is_asked_for():
    found = asked(lengths_run(), "april:over=2")
    assert {p.name for p in found.policies} == set(POLICIES)
    named = {p.name: p for p in found.policies}
    assert named["april"].parameters == {"over": 2.0}
    assert named["partial"].speedup is None
    assert "how long training takes in a step" in named["async"].needs
    assert named["one-step-off"].off_policy_share == 1.0
    everything = asked(lengths_run())
    assert {p.name for p in everything.policies} == set(POLICIES)


def test_multi_turn_runs_without_tool_times_get_no_placement():
    t = lengths_run()
    meta = dict(t.meta)
    meta["facts"] = {**meta["facts"], "multi_turn": {"value": True, "origin": "config", "how": "test"}}
    found = asked(replace(t, meta=meta), "rollpacker", "partial")
    named = {p.name: p for p in found.policies}
    assert "times of tools" in named["rollpacker"].needs[0]
    assert named["partial"].speedup is not None
    assert any("without tool times" in n for n in found.notes)


def test_tool_times_are_waited_for_off_the_engine():
    rows = grouped(length_rows([100] * 8, step=1), step=1)
    rows[0]["tool_s"] = 50.0
    found = asked(tables(rows, [{"step": 1}], fact={**SYNC, "engines": 1}), "partial")
    assert any("fixed delays" in n for n in found.notes)


def test_gaps_between_turns_are_waits_and_gaps_within_a_turn_are_not():
    def call(rollout, turn, start, end):
        return {"rollout": rollout, "turn": turn, "started_at": start, "completed_at": end}

    calls = [
        *(call(0, 0, 10.0, 12.0), call(0, 1, 15.0, 16.0), call(0, 2, 18.0, 19.0)),  # waits 3 and 2
        *(call(1, 0, 10.0, 12.0), call(1, 0, 20.0, 21.0)),  # interrupted
        *(call(2, 1, 30.0, 31.0), call(2, 0, 10.0, 11.0)),  # out of order: waits 19
        call(3, 0, 10.0, 11.0),
    ]
    segments = frame(BY_NAME["segments"], calls)
    assert waits_between_turns(segments, np.array([0, 1, 2, 3])).tolist() == [5, 0, 19, 0]
    assert waits_between_turns(segments, np.array([2, 0])).tolist() == [19, 5]
    assert waits_between_turns(segments, np.array([1, 3])) is None
    assert waits_between_turns(frame(BY_NAME["segments"], []), np.array([0])) is None
    rows = grouped(length_rows([100] * 8, step=1), step=1)
    t = replace(tables(rows, [{"step": 1}], fact={**SYNC, "engines": 1}), segments=segments)
    found = asked(t, "partial:budget=100")
    assert any("fixed delays" in n for n in found.notes)
    # 100 decode steps of eight rollouts, and the longest wait behind them
    assert found.baseline.slot_idle > asked(tables(rows, fact=SYNC), "partial").baseline.slot_idle


def test_aborted_rollouts_are_left_out_and_said():
    rows = grouped(length_rows(drawn(1), step=1), step=1)
    rows[3]["finish_reason"] = "abort"
    found = asked(tables(rows, fact=SYNC), "partial")
    assert found.rollouts == 63
    assert any(n.startswith("1 aborted") for n in found.notes)


def test_groups_that_are_interleaved_in_the_log_are_still_groups():
    rows = [{**r, "group_id": i % 16} for i, r in enumerate(length_rows(drawn(1), step=1))]
    found = asked(tables(rows, fact=SYNC), "april:over=1.5")
    assert next(p for p in found.policies if p.name == "april").speedup is not None


def test_samples_of_an_engine():
    rng = np.random.default_rng(0)
    B = rng.integers(1, 200, 80).astype(float)
    rows = [{"running": b, "generation_tokens_s": b / (0.01 + 2e-5 * b)} for b in B]
    fit = fit_samples(frame(BY_NAME["engines"], rows))
    assert fit is not None
    assert fit.skill
    assert (fit.cost.a, fit.cost.b) == (pytest.approx(0.01, rel=1e-6), pytest.approx(2e-5, rel=1e-6))
    assert fit_samples(frame(BY_NAME["engines"], rows[:10])) is None


def test_intervals_of_steps_agree_with_replays_of_resampled_groups():
    """Block bootstrap over steps, checked against drawing whole groups anew and replaying everything."""
    rng = np.random.default_rng(5)
    S, G, n = 24, 12, 4
    L = np.minimum(
        300 * np.exp(np.repeat(rng.normal(0, 0.6, S * G), n) + rng.normal(0, 0.6, S * G * n)), 4000
    )
    w = make_workload(L, np.full(S, G), np.full(S * G, n))
    s = Setting(w, Engines(COST, 2), fewest_rounds=20)
    for policy in ("partial:budget=800", "april:over=1.5", "truncate:cap=1000"):
        low, high = Evaluator(s).result(parse(policy)).interval
        draws = replayed_draws(s, parse(policy), 40, 1)["speedup"]
        drawn_low, drawn_high = np.quantile(draws, [0.025, 0.975])
        assert 0.5 < (high - low) / (drawn_high - drawn_low) < 2.0, policy
        # groups drawn with replacement repeat, which makes maxima a little smaller: the middle shifts
        assert low < np.median(draws) * 1.08
        assert high > np.median(draws) * 0.92


@pytest.mark.parametrize("steps", [1, 12, 50])
def test_progress_ends_at_its_total(steps):
    seen = []
    whatif(lengths_run(steps=steps, seconds=True), Settings(), Options(), lambda *at: seen.append(at))
    totals = {total for _, total in seen}
    assert len(totals) == 1
    assert [done for done, _ in seen] == list(range(1, totals.pop() + 1))


def test_few_steps_have_intervals_from_replays():
    found = asked(lengths_run(steps=2), "april:over=1.5")
    april = next(p for p in found.policies if p.name == "april")
    low, high = april.interval
    assert low < april.speedup < high
    assert asked(lengths_run(steps=2), "april:over=1.5").policies == found.policies  # reproducible


@pytest.mark.parametrize("steps", [1, 12])
def test_every_figure_lies_within_its_interval(steps):
    for p in asked(lengths_run(steps=steps)).policies:
        for name, (low, high) in p.intervals.items():
            assert low - 1e-9 <= getattr(p, name) <= high + 1e-9, (p.name, p.parameters, name)
