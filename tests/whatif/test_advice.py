"""On four distributions the advice differs, and is right."""

from __future__ import annotations

from dataclasses import replace

import distributions
import numpy as np
import pytest

from rollprof.model.decode import DecodeCost
from rollprof.whatif.advice import advise, limited, pareto
from rollprof.whatif.compose import usual
from rollprof.whatif.evaluate import Evaluator
from rollprof.whatif.results import BaselineResult, PolicyResult, Tail
from rollprof.whatif.setting import Engines, Setting
from rollprof.whatif.tail import tail_of

COST = DecodeCost(0.0, 7.2e-3, 4.4e-6, 33e-9)


def advice_on(w, slots=None):
    s = Setting(w, Engines(COST, 8, slots, COST.b), fewest_rounds=20)
    ev = Evaluator(s)
    results = [ev.result(c) for c in usual(s)]
    b = results[0]
    base = BaselineResult(
        b.step_s, b.step_s, b.slot_idle, b.engine_idle, b.effective_idle, 1.0, 1 / (1 - b.effective_idle)
    )
    tail = tail_of(w, groups_known=True)
    return (
        tail,
        advise(tail, base, pareto(limited(results, None, None))),
        {(r.name, *map(str, r.parameters.values())): r for r in results},
    )


@pytest.fixture(scope="module")
def on():
    made = ("capped", "runaway_tail", "single_runaways", "spread_prompts")
    # 64 rollouts per engine: with 48 slots they queue
    return {
        name: advice_on(getattr(distributions, name)(), None if name == "capped" else 48) for name in made
    }


def test_the_distributions_have_the_printed_statistics():
    stats = {
        n: tail_of(getattr(distributions, n)(), groups_known=True)
        for n in ("capped", "runaway_tail", "single_runaways", "spread_prompts")
    }
    assert stats["capped"].icc == pytest.approx(0.92, abs=0.02)
    assert stats["capped"].truncated_share == pytest.approx(0.15, abs=0.06)
    assert stats["capped"].max_over_median == pytest.approx(1.7, abs=0.15)
    assert stats["runaway_tail"].icc == pytest.approx(0.05, abs=0.04)
    assert stats["runaway_tail"].max_over_median == pytest.approx(22, abs=2)
    assert stats["single_runaways"].max_over_median == pytest.approx(100, abs=3)
    assert stats["spread_prompts"].icc == pytest.approx(0.5, abs=0.05)


def test_at_the_cap_tail_remedies_gain_little(on):
    tail, advice, results = on["capped"]
    assert tail.kind == "capped"
    assert "gain little" in advice[0].text
    # an order of magnitude below what they do for a runaway tail
    for name in ("length-aware", "rollpacker"):
        best = max(r.useful_gain for k, r in results.items() if k[0] == name and r.useful_gain)
        assert best < 1.15
    gain = results["partial", "8000"].useful_gain
    assert gain is not None
    assert gain < 1.2


def test_where_whole_prompts_are_long_prompt_level_remedies_come_first(on):
    tail, advice, results = on["spread_prompts"]
    assert tail.kind == "prompts"
    assert "On this run: length-aware 1." in advice[0].text
    assert advice[1].policy in ("length-aware", "rollpacker")
    assert results["length-aware", "probe"].speedup > 1.0


def test_where_single_responses_are_long_response_level_remedies_come_first(on):
    tail, advice, results = on["runaway_tail"]
    assert tail.kind == "responses"
    assert advice[1].policy in ("partial", "april", "speculative-tail")
    assert results["april", "2.0"].speedup > 1.5


def test_where_a_few_loop_they_are_cut(on):
    tail, advice, results = on["single_runaways"]
    assert tail.kind == "runaway"
    assert advice[1].policy == "truncate"
    assert results["truncate", "p99"].useful_gain > 1.5


def test_the_bound_is_said_and_holds_at_equal_work_in_flight(on):
    for tail, advice, results in on.values():
        del tail
        base = results["baseline",]
        most = 1 / (1 - base.effective_idle)
        assert f"No tail remedy gains more than {most:.2f}x" in advice[0].text
        for key, r in results.items():
            # placement, partial rollouts and tail batching have no more in flight than the baseline
            if key[0] in ("partial", "length-aware") and r.speedup is not None:
                assert r.generation_speedup <= most * 1.02, key


def test_limits_of_single_requests_are_no_cap():
    w = distributions.spread_prompts()
    each = replace(w, truncated=np.ones(len(w.lengths), bool))  # as where every request has its own limit
    assert tail_of(w, groups_known=True).kind == "prompts"
    assert tail_of(each, groups_known=True).kind == "prompts"
    assert tail_of(each, groups_known=True).truncated_share < 0.05


def test_lengths_that_are_alike_are_not_said_to_be_cut():
    alike = Tail(1.4, 1.3, 1.1, 0.0, None, "capped")
    base = BaselineResult(1.0, 1.0, 0.2, 0.0, 0.1, 1.0, 1.11)
    assert advise(alike, base, [])[0].text.startswith("Lengths are much alike: the longest is 1.4 times")
    cut = replace(alike, truncated_share=0.2)
    assert "20 % are cut at it. Tail remedies gain little here" in advise(cut, base, [])[0].text


def test_limits_are_respected():
    cheap = PolicyResult("partial", speedup=1.5, useful_gain=1.5, off_policy_share=0.8, length_bias=1.0)
    biased = PolicyResult(
        "oversample-drop", speedup=2.0, useful_gain=1.9, off_policy_share=0.0, length_bias=0.8
    )
    marked = limited([cheap, biased], max_off_policy=0.5, max_bias=0.1)
    assert [r.within_limits for r in marked] == [False, False]
    tail = tail_of(distributions.spread_prompts(), groups_known=True)
    base = BaselineResult(1.0, 1.0, 0.5, 0.1, 0.4, 1.0, 1.67)
    assert [a.policy for a in advise(tail, base, marked)] == ["baseline"]
    assert len(advise(tail, base, limited([cheap, biased], 0.9, 0.3))) == 3


def test_the_front_keeps_what_nothing_beats():
    def made(name, gain, off, bias):
        return PolicyResult(name, speedup=gain, useful_gain=gain, off_policy_share=off, length_bias=bias)

    results = [
        made("a", 1.5, 0.5, 1.0),
        made("b", 1.4, 0.6, 1.0),
        made("c", 1.2, 0.0, 1.0),
        made("d", 1.6, 0.5, 0.8),
    ]
    lacking = PolicyResult("e", needs=("x",))
    assert [r.pareto for r in pareto([*results, lacking])] == [True, False, True, True, False]


def test_pooled_responses_are_not_groups():
    """Tail batching by responses on a clustered log: groups say it gains nothing, pooling says five-fold."""
    rng = np.random.default_rng(3)
    S, G, n = 20, 128, 8
    tail = rng.random((S * G, n)) < rng.beta(0.02 * 0.3, 0.98 * 0.3, (S * G, 1))
    L = np.where(tail, rng.uniform(8000, 16_000, (S * G, n)), 550 * np.exp(rng.normal(0, 0.5, (S * G, n))))
    grouped = distributions.workload(L, 16_000, (S, G, n))
    pooled = replace(grouped, lengths=rng.permutation(grouped.lengths))

    def ratio(w):
        s = Setting(w, Engines(DecodeCost(0, 7.36e-3, 4.4e-6, 57e-9), 16), fewest_rounds=20)
        r = Evaluator(s).result(usual_of(s, "rollpacker", 1.25), intervals=False)
        return 1 / (r.generation_speedup / r.length_bias)

    assert ratio(grouped) > 0.75
    assert ratio(pooled) < 0.4


def usual_of(s, name, eta_r):
    del s
    from rollprof.whatif.compose import parse

    return parse(f"{name}:eta_p=1,eta_r={eta_r}")
