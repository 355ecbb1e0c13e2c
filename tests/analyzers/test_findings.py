from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, length_rows, straggler_512, timed_rows

from rollprof.analyzers.results import Analysis, Finding


def codes(a: Analysis) -> list[str]:
    return [f.code for f in a.findings]


def finding(a: Analysis, code: str) -> Finding:
    return next(f for f in a.findings if f.code == code)


def healthy(steps: int = 12) -> list[dict[str, Any]]:
    """Even lengths, even times, nothing cut."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for s in range(steps):
        L = rng.integers(900, 1100, 200).tolist()
        rows += timed_rows(L, [x / 100 for x in L], step=s, t0=1.7e9 + 100 * s)
    return rows


def test_a_healthy_run_is_met_with_silence() -> None:
    steps = [{"step": s, "generate_s": 11.0, "step_s": 40.0, "update_s": 25.0} for s in range(12)]
    assert analyzed(healthy(), steps, fact={"engines": 1}).findings == []


def test_the_tail_dominates() -> None:
    f = finding(analyzed(straggler_512()), "tail_dominates")
    assert f.severity == "high"
    assert "93 %" in f.text
    assert "one of the longest" in f.text
    assert f.evidence["tail_time_share"] == pytest.approx(28 / 30)
    assert "partial rollouts" in f.next


def test_a_tail_from_lengths_alone_is_said_with_care() -> None:
    f = finding(analyzed(length_rows([10] * 95 + [100] * 5)), "tail_dominates")
    assert f.severity == "medium"
    assert "if time goes with length" in f.text


def test_the_cap_binds_and_tail_advice_is_spared() -> None:
    a = analyzed(length_rows([300] * 60 + [1000] * 40), fact={"response_cap": 1000})
    f = finding(a, "cap_binds")
    assert f.severity == "high"
    assert "40 %" in f.text
    assert "1,000" in f.text
    assert "tail_dominates" not in codes(a)


def test_runaways() -> None:
    rows = [r for s in range(4) for r in length_rows([100] * 298 + [9000], step=s)]
    f = finding(analyzed(rows), "runaways")
    assert "9,000 tokens" in f.text
    assert "90.0 times" in f.text
    rng = np.random.default_rng(1)
    plain = [r for s in range(4) for r in length_rows(np.exp(rng.normal(6, 0.8, 500)).astype(int), step=s)]
    assert "runaways" not in codes(analyzed(plain))


def test_the_trainer_waits() -> None:
    steps = [{"step": 1, "step_s": 10.0, "wait_s": 4.5}]
    f = finding(analyzed(steps=steps, fact={"mode": "async"}), "trainer_waits")
    assert (f.severity, f.evidence["trainer_idle"]) == ("high", pytest.approx(0.45))


def test_engines_are_out_of_balance() -> None:
    rows = timed_rows([10] * 4, [2.0, 2.0, 2.0, 4.0], engine=["a", "a", "b", "b"])
    f = finding(analyzed(rows), "engine_imbalance")
    assert "25 %" in f.text
    assert "1.33 times" in f.text


def test_requests_queue() -> None:
    rows = timed_rows([10] * 4, [1.0, 2.0, 3.0, 4.0])
    f = finding(analyzed(rows, fact={"max_num_seqs": 1, "engines": 1}), "requests_queue")
    assert f.evidence["queue_share"] == pytest.approx(6 / 10)


def test_lengths_drift() -> None:
    rows = [r for s in range(20) for r in length_rows([1000 + 30 * s - 10, 1000 + 30 * s + 10], step=s)]
    f = finding(analyzed(rows), "length_drift_p50")
    assert f.severity == "low"
    assert "grew by 570 tokens over the run" in f.text
    flat = [r for s in range(20) for r in length_rows([990, 1010], step=s)]
    assert "length_drift_p50" not in codes(analyzed(flat))


def test_generation_dominates() -> None:
    steps = [{"step": s, "generate_s": 8.0, "step_s": 10.0} for s in range(6)]
    assert finding(analyzed(steps=steps), "generation_dominates").severity == "info"


def test_few_steps() -> None:
    assert "Only one step" in finding(analyzed(length_rows([1, 2])), "few_steps").text
    rows = [r for s in range(6) for r in length_rows([1, 2], step=s)]
    assert "few_steps" not in codes(analyzed(rows))


ALARM = {
    "code": "gpus-disagree",
    "text": "the configuration says 8 GPUs, the step lines give 4",
    "evidence": {"config": 8},
}


def test_an_alarm_comes_first_and_mutes_advice() -> None:
    a = analyzed(straggler_512(), alarms=[ALARM])
    assert (a.findings[0].code, a.findings[0].severity) == ("gpus-disagree", "alarm")
    assert a.findings[0].evidence == {"config": 8}
    assert "tail_dominates" in codes(a)
    assert [f.next for f in a.findings[1:]] == [""] * (len(a.findings) - 1)


def test_a_log_with_holes_is_an_alarm() -> None:
    whole = {"read": 500, "repaired": 2, "skipped": 0}
    assert "log_truncated" not in codes(analyzed(straggler_512(), ledger=whole))
    torn = analyzed(straggler_512(), ledger={"read": 500, "skipped": 12})
    assert torn.findings[0].code == "log_truncated"
    assert "12 of 512 lines" in torn.findings[0].text
    assert torn.ledger == {"read": 500, "skipped": 12}


def test_counts_and_lengths_that_disagree_are_alarms() -> None:
    rows = [r for s in range(5) for r in length_rows([100] * 10, step=s)]
    fewer = analyzed(rows, [{"step": s, "rollouts": 64} for s in range(5)])
    assert fewer.findings[0].code == "rollout_counts_disagree"
    assert "10 against 64" in fewer.findings[0].text
    longer = analyzed(rows, [{"step": s, "rollouts": 10, "response_tokens_mean": 150.0} for s in range(5)])
    assert longer.findings[0].code == "lengths_disagree"
    close = analyzed(rows, [{"step": s, "rollouts": 10, "response_tokens_mean": 101.0} for s in range(5)])
    assert not {f.severity for f in close.findings} & {"alarm"}


def test_one_odd_step_at_the_end_of_a_killed_run_is_no_alarm() -> None:
    rows = [r for s in range(20) for r in length_rows([100] * 10, step=s)]
    steps = [{"step": s, "rollouts": 10} for s in range(20)]
    steps[-1]["rollouts"] = 64
    assert "rollout_counts_disagree" not in codes(analyzed(rows, steps))


def test_a_clock_that_the_lengths_cannot_explain() -> None:
    rows = timed_rows([100] * 20, [1.0] * 19 + [50.0])  # equal lengths cannot leave slots empty
    f = finding(analyzed(rows), "slot_idle_outside_bracket")
    assert f.severity == "low"
    assert f.evidence["slot_idle"] == pytest.approx(0.931)


def test_sentences_end_and_carry_numbers() -> None:
    rows = timed_rows([10] * 4, [2.0, 2.0, 2.0, 4.0], engine=["a", "a", "b", "b"])
    for a in (analyzed(straggler_512()), analyzed(rows), analyzed(length_rows([10] * 95 + [100] * 5))):
        for f in a.findings:
            assert f.text[0].isupper()
            assert f.text.endswith(".")
            assert f.evidence


def test_a_trap_that_was_handled_is_a_remark_and_mutes_nothing() -> None:
    trap = {"code": "pass-rate", "text": "a rate of 133 % is a third", "evidence": {}, "handled": True}
    doubt = {**trap, "handled": False}
    told = analyzed(straggler_512(), alarms=[trap])
    assert finding(told, "pass-rate").severity == "low"
    assert finding(told, "tail_dominates").next
    muted = analyzed(straggler_512(), alarms=[doubt])
    assert finding(muted, "pass-rate").severity == "alarm"
    assert not finding(muted, "tail_dominates").next
