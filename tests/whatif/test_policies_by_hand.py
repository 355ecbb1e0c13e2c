"""Every policy on an example small enough to be worked out on paper: one second per decode step, unless said
otherwise, so that times are lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import slow_reference as slow
from hypothesis import given, settings
from hypothesis import strategies as st
from settings import costs, play, result, setting, steps_of

from rollprof.errors import UsageProblem
from rollprof.whatif.compose import parse
from rollprof.whatif.metrics import kolmogorov_smirnov
from rollprof.whatif.policies.length_aware import history
from rollprof.whatif.policies.racing import sub_sampled
from rollprof.whatif.setting import Trainer

TWO = steps_of([[4, 8], [2, 6]], [[10, 2], [2, 2]])


def test_baseline():
    s = setting(TWO, trainer=Trainer(0.1, 1.0, known=True))
    o = play(s, "baseline")
    assert o.column("generate_s").tolist() == [8, 10]
    assert o.column("step_s").tolist() == pytest.approx([8 + 2 + 1, 10 + 1.6 + 1])
    r = result(s, "baseline")
    assert r.slot_idle == pytest.approx(1 - 36 / (4 * 18))
    assert (r.speedup, r.useful_gain, r.length_bias, r.staleness_max) == (1, 1, 1, 0)


def test_truncate():
    r = result(setting(TWO), "truncate:cap=6")
    assert r.speedup == pytest.approx(18 / 12)
    # 8 -> 6 and 10 -> 6: six tokens are gone of 36, and 30 tokens in 12 s beside 36 in 18
    assert (r.lost_tokens, r.dropped_share) == (6, pytest.approx(6 / 36))
    assert r.useful_gain == pytest.approx((30 / 12) / (36 / 18))
    assert r.length_bias == pytest.approx(30 / 36)
    assert r.length_ks == pytest.approx(2 / 8)


def test_raising_a_cap_that_cut_is_refused():
    cut = replace(TWO, truncated=TWO.lengths == 10)
    with pytest.raises(UsageProblem, match="what they would have said"):
        result(setting(cut), "truncate:cap=20")


def test_correct_answers_that_a_cap_would_cut_are_said():
    w = steps_of([[4, 8], [2, 6]], rewards=[1, 1, 0, 0])
    assert any("50.0 % of the correct" in n for n in result(setting(w), "truncate:cap=5").notes)


def test_partial():
    # groups of one, two in flight, budget 4. Step A: 3 | 10; B: 5 | 1.
    w = steps_of([[3], [10]], [[5], [1]])
    o = play(setting(w, warm_up=0, fewest_rounds=4), "partial:budget=4")
    # 1: 3 and 10 -> 4 s, 3 is trained. 2: 10 (6 left) and 5 -> 4 s. 3: 2 and 1 left -> 2 s, both trained.
    # 4: 1 and 3 -> 3 s, both trained
    assert o.column("generate_s").tolist() == [4, 4, 2, 3]
    assert o.column("trained").tolist() == [3, 0, 15, 4]
    assert o.column("off_policy").tolist() == [0, 0, 12, 0]
    assert o.staleness.tolist()[:3] == [3 + 2 + 1 + 4, 4 + 4, 4]
    assert o.buffered == 0


def test_april():
    # N = 1, N' = 2, groups of one: 5, 2, 9, 4 in turn
    w = steps_of([[5]], [[2]], [[9]], [[4]])
    o = play(setting(w, warm_up=0, fewest_rounds=4), "april:over=2")
    # 1: 5, 2 -> 2 is done at 2, 5 has 2. 2: 5 (3 left), 9 -> done at 3, 9 has 3. 3: 9 (6), 4 -> 4 s, 9 has 7.
    # 4: 9 (2 left), 5 again -> 2 s
    assert o.column("generate_s").tolist() == [2, 3, 4, 2]
    assert o.column("trained").tolist() == [2, 5, 4, 9]
    assert o.column("off_policy").tolist() == [0, 2, 0, 7]
    assert o.staleness.tolist()[:3] == [2 + 3 + 4 + 2, 2 + 4, 3]
    assert o.buffered == 2


def test_april_waits_for_whole_groups():
    w = steps_of([[1, 9]], [[4, 4]])
    o = play(setting(w, warm_up=0, fewest_rounds=2), "april:over=2")
    assert o.column("generate_s").tolist() == [4, 5]  # then 9 has 5 left, its sibling waits
    assert o.column("off_policy").tolist() == [0, 5]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 25), min_size=2, max_size=2), min_size=4, max_size=8).filter(
        lambda g: len(g) % 2 == 0
    ),
    costs,
    st.integers(1, 3),
    st.one_of(st.none(), st.integers(1, 3)),
    st.sampled_from([1.0, 1.5, 2.0]),
)
def test_april_is_that_of_plain_python(groups, cost, engines, slots, over):
    w = steps_of(*[groups[i : i + 2] for i in range(0, len(groups), 2)], prompts=7)
    o = play(setting(w, cost, engines, slots, resume=0.01, warm_up=0, fewest_rounds=1), f"april:over={over}")
    clock, stale = slow.april(groups, [7] * len(groups), cost, w.n_steps, 2, over, engines, slots, 0.01)
    assert o.column("generate_s") == pytest.approx(clock, rel=1e-6)
    for age, tokens in stale.items():
        got = o.staleness[age] if age < len(o.staleness) else 0.0
        assert got == pytest.approx(tokens, abs=len(groups))  # tokens on the edge of a moment


def test_rollpacker_prompts():
    # P0 = 2, three are launched: 3, 9, 4 -> done at 4, 9 is put off
    w = steps_of([[3], [9]], [[4], [7]])
    o = play(setting(w, warm_up=0, fewest_rounds=4), "rollpacker:eta_p=1.5")
    # 2: 7, 3, 9 -> done at 7, 9 is put off again: two wait. 3: the long round, 9 s. 4: 4, 7, 3 -> 4 s
    assert o.column("generate_s").tolist() == [4, 7, 9, 4]
    assert o.column("trained").tolist() == [7, 10, 18, 7]
    assert o.column("dropped").tolist() == [4, 7, 0, 4]
    assert o.long_rounds == 1


def test_rollpacker_responses_are_sub_sampled():
    w = steps_of([[5, 9, 2, 7]])
    launched, reference, kept = sub_sampled(w, 4 / 3)
    assert (launched.lengths.tolist(), reference.lengths.tolist(), kept.tolist()) == (
        [5, 9, 2, 7],
        [5, 9, 2],
        [3],
    )
    r = result(setting(w, warm_up=0, fewest_rounds=1), f"rollpacker:eta_p=1,eta_r={4 / 3}")
    # the first three done are 2, 5, 7: 7 s; the baseline has 5, 9, 2: 9 s. Per trained token: 14/7 over 16/9
    assert r.generation_speedup == pytest.approx((14 / 7) / (16 / 9))
    assert r.length_bias == pytest.approx(14 / 16)


def test_dapo_rounds_and_stream():
    # N = 2 of the two groups of a step; the first of each step is all-correct
    w = steps_of([[4, 4], [6, 6]], [[3, 3], [9, 9]], rewards=[1, 1, 0, 1, 1, 1, 1, 0])
    rounds = play(setting(w), "dapo:mode=rounds")
    assert rounds.column("generate_s").tolist() == [15, 15]  # both rounds, 6 + 9 s
    assert rounds.column("trained").tolist() == [30, 30]
    assert rounds.column("generated").tolist() == [44, 44]
    stream = play(setting(w), "dapo:mode=stream,refill=0.5")
    # step 1: 4 dropped at 4 s -> 3 joins, done and dropped at 7 -> 9 joins, done at 16
    assert stream.column("generate_s")[0] == 16
    r = result(setting(w), "dapo:mode=rounds")
    # useful are 6, 6 and 9, 9: in the baseline 30 tokens in 15 s, here 60 in 30 s
    assert r.useful_gain == pytest.approx((60 / 30) / (30 / 15))
    assert r.speedup == pytest.approx(15 / 30)


def test_responses_redrawn_from_siblings_have_to_be_forced():
    w = steps_of([[3, 9], [5, 5]])
    more = w.with_redrawn(np.array([4, 3]))
    assert more.group_sizes.tolist() == [4, 3]
    first, second = np.split(more.lengths, [4])
    assert first[:2].tolist() == [3, 9]
    assert set(first.tolist()) <= {3, 9}
    assert second.tolist() == [5, 5, 5]
    for policy in ("oversample-drop:factor=1.5,unit=response", "rollpacker:eta_p=1,eta_r=1.5"):
        c = parse(f"{policy},extra=redrawn")
        assert c.cautions == ["responses redrawn from logged siblings repeat, which overstates the gain"]
        assert parse(policy).cautions == []
        s = c.prepared(setting(w))
        assert s.workload.group_sizes.tolist() == [3, 3]
        assert s.reference.group_sizes.tolist() == [2, 2]


def test_dynamic_sampling_says_what_it_does_to_lengths():
    w = steps_of([[10, 20], [1, 3], [5, 7]], rewards=[0, 1, 1, 1, 0, 0])
    note = play(setting(w), "dapo").notes[0]
    assert note == (
        "tokens of responses: kept mean 15, P99 20; dropped mean 4, P99 7; 33 % of the groups are kept"
    )


def test_oversample_drop():
    w = steps_of([[3], [9]], [[4], [7]])
    o = play(setting(w), "oversample-drop:factor=1.5")
    # 3, 9, 4 -> 4 s, 9 is gone for good after 4 tokens. Then 7, 3, 9 -> 7 s
    assert o.column("generate_s").tolist() == [4, 7]
    assert (o.starved, o.column("dropped").tolist()) == (2, [4, 7])
    r = result(setting(w), "oversample-drop:factor=1.5")
    assert r.speedup == pytest.approx(16 / 11)
    assert r.useful_gain == pytest.approx((17 / 11) / (23 / 16))
    assert r.length_bias == pytest.approx((17 / 4) / (23 / 4))
    responses = play(setting(steps_of([[5, 9], [2, 4]])), "oversample-drop:factor=2,unit=response")
    assert responses.column("generate_s").tolist() == [5]  # the faster of each: 5 and 2
    assert responses.kept.tolist() == [5, 2]


def test_length_aware():
    # two engines of one slot: round robin 6+5 | 2+1 -> 11 s; the longest first 6+1 | 5+2 -> 7 s
    w = steps_of([[6], [2], [5], [1]])
    s = setting(w, engines=2, slots=1)
    assert play(s, "baseline").column("generate_s").tolist() == [11]
    assert play(s, "length-aware:by=oracle").column("generate_s").tolist() == [7]
    assert result(s, "length-aware:by=oracle").useful_gain == pytest.approx(11 / 7)
    assert result(setting(w), "length-aware:by=oracle").needs


def test_length_aware_by_history_and_probe():
    w = steps_of([[6], [2]], [[3], [8]])
    seen = replace(w, prompt=np.array([1, 2, 2, 1], dtype=np.uint64))
    estimate, known = history(seen)
    # step 2 has prompt 2 (2 tokens before) and prompt 1 (6 before); new prompts count as the mean
    assert estimate.tolist() == [4.75, 4.75, 2, 6]
    assert known == 0.5
    # one slot: probes 2, 9 first; then the sibling of 9 before that of 2
    probe = play(setting(steps_of([[2, 3], [9, 7]]), slots=1), "length-aware:by=probe")
    assert probe.column("generate_s").tolist() == [21]


def test_one_step_off():
    s = setting(TWO, trainer=Trainer(0.5, 1.0, known=True, apart=True))
    o = play(s, "one-step-off")
    # training takes 10 s (20 tokens) and 8 s (16): max(8, 8) + 1, max(10, 10) + 1
    assert o.column("step_s").tolist() == [9, 11]
    r = result(s, "one-step-off")
    assert r.speedup == pytest.approx((8 + 10 + 1 + 10 + 8 + 1) / 20)
    assert (r.off_policy_share, r.staleness_max) == (1, 1)


def test_one_step_off_shares_gpus_out():
    s = setting(TWO, engines=2, trainer=Trainer(0.5, 0.0, known=True))
    # one engine generates (8, 10 s; no cost per rollout), the other trains at half the speed: 20, 16 s
    r = result(s, "one-step-off")
    assert play(s, "one-step-off").column("step_s").tolist() == [16, 20]
    assert any("1 of 2 engines" in n for n in r.notes)


def test_async():
    # N = 1, bound 1: two groups in flight. 4 and 6 s; training takes 1 s per round
    w = steps_of([[4]], [[6]])
    s = setting(w, trainer=Trainer(0.0, 1.0, known=True, apart=True), warm_up=0, fewest_rounds=4)
    o = play(s, "async:bound=1,interrupt=inflight")
    # v0: 4 and 6 run, 4 is done at 4. v1: 6 has 2 left, a new 4: 2 s. v2: 4 has 2 left, 6: 2 s. v3: 6, 4 left
    assert o.column("generate_s").tolist() == [4, 2, 2, 4]
    assert o.column("off_policy").tolist() == [0, 4, 2, 2]
    frozen = play(s, "async:bound=1,interrupt=frozen")
    assert frozen.column("off_policy").tolist() == [0, 6, 4, 6]


def test_speculative_tail():
    # 2 and 6: two steps with two running, four alone at 4 times the speed
    s = setting(steps_of([[2], [6]]))
    r = result(s, "speculative-tail:s1=4,s32=1,on=2")
    assert r.step_s == pytest.approx(2 + 4 / 4)
    assert r.speedup == pytest.approx(2.0)


def test_tool_waits_are_delays_off_the_engine():
    w = replace(steps_of([[3], [5]]), delay=np.array([4.0, 0.0]))
    assert play(setting(w), "baseline").column("generate_s").tolist() == [7]


def test_composition_is_one_replay_and_no_product():
    w = steps_of([[3], [20]], [[5], [9]])
    s = setting(w, warm_up=0, fewest_rounds=4)
    joint = result(s, "april:over=2+truncate:cap=8")
    assert joint.name == "truncate+april"
    cut = setting(w.cut(8), warm_up=0, fewest_rounds=4)
    assert joint.step_s is not None
    assert (
        play(s, "april:over=2+truncate:cap=8").column("generate_s").tolist()
        == play(cut, "april:over=2").column("generate_s").tolist()
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("aprl", "no policy"),
        ("april:ovr=2", "no parameter"),
        ("april:over=x", "at least 1"),
        ("april:over=.5", "at least 1"),
        ("april:over", "key=value"),
        ("april+partial", "do not compose"),
        ("truncate+truncate", "named twice"),
        ("dapo:mode=fast", "no such choice"),
        ("partial:budget=1e99", "too large"),
        ("truncate:cap=p200+april", "not a percentile"),
    ],
)
def test_what_cannot_be_is_refused(text, says):
    with pytest.raises(UsageProblem, match=says):
        result(setting(TWO), text)


def test_kolmogorov_smirnov():
    one, two = np.array([1, 2, 3, 4]), np.array([3, 4, 5, 6])
    assert kolmogorov_smirnov(one, two) == pytest.approx(0.5)
    assert kolmogorov_smirnov(one * 10**7, two * 10**7) == pytest.approx(0.5)
    assert parse("april").name == "april"
