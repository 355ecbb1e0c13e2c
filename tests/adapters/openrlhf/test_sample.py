"""The sample log, read by rollprof and by a few lines that know nothing of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

STEPS, GROUPS, SAMPLES = 10, 32, 8


@pytest.fixture(scope="module")
def text(root: Path) -> str:
    return (root / "sample_logs" / "openrlhf" / "train.log").read_bytes().decode()


@pytest.fixture(scope="module")
def printed(text: str) -> dict[int, dict[str, float]]:
    return {int(n): ast.literal_eval(body) for n, body in re.findall(r"Global step (\d+): (\{.*?\})", text)}


def test_the_log_is_openrlhf_s_own(text: str, printed: dict[int, dict[str, float]]) -> None:
    assert list(printed) == list(range(1, STEPS + 1))
    for values in printed.values():
        assert values["rollout/num_samples"] == GROUPS * SAMPLES
        phases = ("generation", "make_experience", "ppo_train", "broadcast")
        assert values["timing/step_total"] == pytest.approx(sum(values[f"timing/{p}"] for p in phases))
    assert text.count("Evaluation completed in") == 2


def test_no_trace_of_where_it_was_made(text: str) -> None:
    for word in ("/work", "/tmp", "/root", "site-packages", "Error", "Traceback"):
        assert word not in text, word


def test_rollprof_reads_the_same(run: Any, text: str, printed: dict[int, dict[str, float]]) -> None:
    found = run(text)
    assert found.ledger.clean
    assert found.reading.alarms == []
    for n, values in printed.items():
        row = found.steps[n]
        assert row["generate_s"] == values["timing/generation"]
        assert row["response_tokens_mean"] == values["rollout/response_length_mean"]
        assert row["truncated_share"] == values["rollout/truncated_rate"]
        assert (row["rollouts"], row["prompts"]) == (GROUPS * SAMPLES, GROUPS)
    after_evaluation = [n for n, r in found.steps.items() if "eval_s" in r]
    assert after_evaluation == [5, 9]
    for n in after_evaluation:
        assert found.steps[n]["step_s"] > printed[n]["timing/step_total"] + found.steps[n]["eval_s"]
    assert sorted(found.evals) == [4, 8]


def test_bars_of_the_steps(run: Any, text: str, printed: dict[int, dict[str, float]]) -> None:
    """The second in which each group was done is the last one that shows the count before it."""
    found = run(text)
    clean = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    states = re.findall(rf"Generate samples: .*? (\d+)/{GROUPS} \[(\d+):(\d\d)<", clean)
    calls: list[dict[int, int]] = []
    for done, minutes, seconds in states:  # the evaluation's bars count to 24
        if done == "0" and (not calls or len(calls[-1]) > 1):
            calls.append({})
        calls[-1][int(done)] = 60 * int(minutes) + int(seconds)
    assert len(calls) == STEPS
    for (n, values), shown in zip(printed.items(), calls, strict=True):
        logged = found.logged[n]
        seconds_ = logged["bar/generate_samples/seconds"]
        assert 0 < values["timing/generation"] - seconds_ < 1.0
        low = (sum(shown[k] for k in range(GROUPS - 1)) + seconds_) / GROUPS
        assert logged["bar/generate_samples/group_s_mean_low"] == pytest.approx(low)
        high = logged["bar/generate_samples/group_s_mean_high"]
        assert logged["bar/generate_samples/group_s_mean"] == pytest.approx((low + high) / 2)
        assert low < high <= low + 1
