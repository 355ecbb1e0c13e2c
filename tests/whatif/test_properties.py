"""What must hold for every run and every policy."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from settings import play, result, setting, settings_, steps_of, workloads

from rollprof.whatif.compose import parse
from rollprof.whatif.evaluate import Evaluator
from rollprof.whatif.policies.catalog import POLICIES
from rollprof.whatif.setting import Stream, Trainer

few = settings(max_examples=40, deadline=None)
SPECS = [
    "baseline",
    "truncate:cap=p90",
    "partial:budget=7",
    "april:over=1.5",
    "april:over=2",
    "rollpacker:eta_p=1.5,eta_r=1",
    "rollpacker:eta_p=1.25,eta_r=1.3",
    "dapo:mode=rounds",
    "dapo:mode=stream",
    "oversample-drop:factor=1.5,unit=prompt",
    "oversample-drop:factor=1.5,unit=response",
    "length-aware:by=oracle",
    "one-step-off",
    "async:bound=2",
    "async:bound=1,order=completion",
    "speculative-tail",
    "truncate:cap=p90+speculative-tail+april:over=1.5",
]


@pytest.mark.parametrize("policy", SPECS)
@settings(max_examples=15, deadline=None)
@given(settings_(rewards=True))
def test_no_token_is_lost(policy, s):
    c = parse(policy)
    assume(not c.needs(s, multi_turn=False))
    o = play(s, policy)
    total = o.total("trained", warm=True) + o.total("dropped", warm=True) + o.buffered
    assert o.total("generated", warm=True) == total
    assert o.staleness.sum() == o.total("trained") == o.kept.sum()


@few
@given(settings_())
def test_policies_that_change_nothing_are_the_baseline(s):
    base = play(s, "baseline")
    top = int(s.workload.lengths.max())
    for policy in (
        f"truncate:cap={top}",
        "oversample-drop:factor=1,unit=prompt",
        "oversample-drop:factor=1,unit=response",
        "speculative-tail:s1=1,s32=1",
    ):
        assert play(s, policy).column("step_s") == pytest.approx(base.column("step_s"), rel=1e-9), policy
    repeated = np.tile(base.column("step_s"), 8)
    for policy in (f"partial:budget={top}", "april:over=1", "rollpacker:eta_p=1,eta_r=1"):
        o = play(s, policy)
        if policy.startswith("april"):
            assume(s.workload.grouped)
        assert o.column("step_s") == pytest.approx(repeated[: len(o.column("step_s"))], rel=1e-9), policy
        assert o.staleness[1:].sum() == 0


@few
@given(settings_())
def test_async_without_staleness_is_the_disaggregated_baseline(s):
    s = replace(s, trainer=replace(s.trainer, apart=True))
    base, o = play(s, "baseline"), play(s, "async:bound=0")
    times = len(o.column("step_s")) // s.workload.n_steps
    assert o.column("step_s") == pytest.approx(np.tile(base.column("step_s"), times), rel=1e-9)
    assert o.staleness[1:].sum() == 0


@few
@given(settings_(), st.sampled_from([0.25, 0.5, 2.0, 4.0, 1024.0]))  # exact in floats: no edge moves
def test_scaling_all_costs_scales_times_and_no_ratio(s, k):
    dear = replace(
        s,
        engines=replace(s.engines, cost=s.engines.cost.scaled(k), resume=s.engines.resume * k),
        trainer=replace(s.trainer, per_token=s.trainer.per_token * k, sync=s.trainer.sync * k),
    )
    for policy in (
        "partial:budget=9",
        "april:over=1.5",
        "rollpacker:eta_p=1.5",
        "one-step-off",
        "async:bound=1",
    ):
        if parse(policy).needs(s, multi_turn=False):
            continue
        one, two = result(s, policy), result(dear, policy)
        assert two.step_s == pytest.approx(k * one.step_s, rel=1e-9)
        for ratio in ("speedup", "useful_gain", "slot_idle", "engine_idle", "effective_idle"):
            assert getattr(two, ratio) == pytest.approx(getattr(one, ratio), rel=1e-9, abs=1e-12), ratio


@few
@given(settings_(equal=True))
def test_idle_fractions_are_in_order(s):
    per_step = np.diff(s.workload.first[s.workload.steps])
    assume((per_step % s.engines.count == 0).all())
    r = result(s, "baseline")
    assert -1e-9 <= r.engine_idle <= r.effective_idle + 1e-9
    assert r.effective_idle <= r.slot_idle + 1e-9


@few
@given(workloads(equal=True), st.floats(0.1, 3), st.floats(0, 0.5), st.integers(1, 60))
def test_partial_gains_no_more_than_effective_idle_allows(w, a, b, budget):
    s = setting(w, (0.0, a, b, 0.0), warm_up=20, fewest_rounds=60)
    r, o = result(s, f"partial:budget={budget}"), play(s, f"partial:budget={budget}")
    assume(o.total("trained") > 0)
    per_step = np.diff(w.first[w.steps])
    assert len(set(per_step.tolist())) == 1  # equal work in flight
    # of the tokens trained some were decoded before the first round that counts, and the other way round
    borrowed = o.total("trained") / o.total("generated")
    bound = 1 / (1 - result(s, "baseline").effective_idle)
    assert r.generation_speedup <= bound * borrowed * (1 + 1e-9)


@few
@given(workloads(most=200), st.floats(1.0, 2.0))
def test_tail_batching_trains_every_prompt_once(w, eta):
    s = setting(w, (0, 1, 0.01, 0), warm_up=0, fewest_rounds=30)
    o = play(s, f"rollpacker:eta_p={eta}")
    c = o.column("prompts")
    sizes = np.diff(w.steps)
    assert c.tolist() == [sizes[int(i) % w.n_steps] for i in o.column("index")]
    assert o.total("dropped", warm=True) >= 0


def test_tail_batching_trains_no_prompt_twice_and_loses_none():
    rng = np.random.default_rng(1)
    names = rng.permutation(np.arange(1, 81)).reshape(20, 4)  # every length names its prompt
    w = steps_of(*[[[int(x)] for x in step] for step in names])
    o = play(setting(w, warm_up=0, fewest_rounds=20), "rollpacker:eta_p=1.5")
    launches = 6 * (20 - o.long_rounds)  # the log begins anew after 80
    waiting = Counter(np.resize(names.ravel(), launches).tolist())
    waiting.subtract(o.kept.tolist())
    assert min(waiting.values()) >= 0
    assert sum(waiting.values()) == launches - 80 < 4 + 2


@pytest.mark.parametrize(("eta", "share"), [(1.125, 1 / 9), (1.25, 1 / 5), (1.5, 1 / 3)])
def test_share_of_long_rounds(eta, share):
    rng = np.random.default_rng(0)
    w = steps_of(*[[[int(x)] for x in rng.integers(1, 100, 64)] for _ in range(20)])
    s = setting(w, warm_up=0, fewest_rounds=2000)
    o = play(s, f"rollpacker:eta_p={eta}")
    assert o.long_rounds / len(o.column("index")) == pytest.approx(share, abs=0.01)


@few
@given(settings_(), st.integers(0, 3))
def test_submission_order_bounds_staleness(s, bound):
    s = replace(s, trainer=replace(s.trainer, apart=True))
    for interrupt in ("reprefill", "inflight", "frozen"):
        o = play(s, f"async:bound={bound},interrupt={interrupt}")
        assert len(np.flatnonzero(o.staleness)) == 0 or np.flatnonzero(o.staleness)[-1] <= bound


def test_completion_order_does_not_bound_staleness():
    w = steps_of(*[[[1000], [10], [10], [10]] for _ in range(6)])
    s = setting(w, trainer=Trainer(0.01, 0.0, known=True, apart=True), warm_up=0, fewest_rounds=40)
    late = play(s, "async:bound=1,order=completion,interrupt=frozen")
    assert np.flatnonzero(late.staleness)[-1] > 1
    assert np.flatnonzero(play(s, "async:bound=1,interrupt=frozen").staleness)[-1] <= 1


@few
@given(settings_())
def test_one_step_off_is_bounded_by_the_sum_over_the_longer(s):
    s = replace(s, trainer=replace(s.trainer, apart=True, sync=0.0))
    base, o = play(s, "baseline"), play(s, "one-step-off")
    Tg = base.total("generate_s")
    Tt = base.total("step_s") - Tg
    assert base.total("step_s") / o.total("step_s") <= (Tg + Tt) / max(Tg, Tt) * (1 + 1e-9)


@pytest.mark.parametrize("mode", ["rounds", "stream"])
@few
@given(workloads(rewards=True, steps=6), st.sampled_from([1, 1.5]))
def test_dynamic_sampling_generates_at_least_one_over_q_prompts_for_each_one_kept(mode, w, oversample):
    s = setting(w, (0, 1, 0.01, 0))
    assume(not parse("dapo").needs(s, multi_turn=False))
    launched = []
    take = Stream.take

    def recorded(self, n):
        groups = take(self, n)
        launched.extend(groups.tolist())
        return groups

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stream, "take", recorded)
        o = play(s, f"dapo:mode={mode},oversample={oversample}")
    q = w.mixed()[launched].mean()
    kept = o.total("prompts")
    assert kept > 0
    assert len(launched) / kept >= 1 / q - 1e-9
    assert o.total("generated") >= o.total("trained")
    # all that is kept is worth training on, and a step never has more than its batch
    assert (o.column("prompts") <= np.diff(w.steps)).all()


def test_every_policy_is_listed_with_what_it_lacks():
    s = setting(steps_of([[3], [5]], [[2], [9]]))
    s = replace(s, workload=replace(s.workload, grouped=False))
    found = {name: Evaluator(s).result(parse(name), intervals=False) for name in POLICIES}
    assert len(found) == 11
    lacking = {n for n, r in found.items() if r.speedup is None}
    assert lacking == {
        "april",
        "rollpacker",
        "dapo",
        "oversample-drop",
        "length-aware",
        "one-step-off",
        "async",
    }
    assert all(found[n].needs for n in lacking)
    assert found["one-step-off"].off_policy_share == 1.0
