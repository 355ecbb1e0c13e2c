"""What is said about prompts, and about time against length."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed

from rollprof.analyzers.results import Analysis, Finding


def finding(a: Analysis, code: str) -> Finding:
    return next(f for f in a.findings if f.code == code)


def codes(a: Analysis) -> set[str]:
    return {f.code for f in a.findings}


def prompts(
    relation: float,
    *,
    n: int = 60,
    samples: int = 8,
    cap: int | None = None,
    noise: float = 0.6,
    seed: int = 1,
) -> list[dict[str, Any]]:
    """Prompts whose mean log length goes with difficulty by `relation`; cut responses are wrong."""
    rng = np.random.default_rng(seed)
    rows = []
    for p in range(n):
        hard = rng.random()
        for _ in range(samples):
            length = int(np.exp(5 + relation * (hard - 0.5) + noise * rng.normal()))
            right = rng.random() > hard
            if cap and length >= cap:
                length, right = cap, False
            rows.append(
                {
                    "step": 1,
                    "prompt_id": p,
                    "group_id": p,
                    "response_tokens": length,
                    "token_basis": "exact",
                    "reward": float(right),
                    "finish_reason": "length" if length == cap else "stop",
                }
            )
    return rows


@pytest.mark.parametrize(("relation", "kind"), [(2.0, "hard"), (-2.0, "easy")])
def test_the_long_ones_are_the_hard_or_the_easy_ones(relation: float, kind: str) -> None:
    f = finding(analyzed(prompts(relation)), f"stragglers_are_{kind}")
    assert f"the {kind} prompts" in f.text
    assert f.evidence["prompts"] == 60


def test_no_relation_is_said_and_a_cap_is_not_mistaken_for_one() -> None:
    a = analyzed(prompts(0.0, cap=300, n=300, noise=1.0), fact={"response_cap": 300})
    f = finding(a, "stragglers_unrelated_to_difficulty")
    assert "cut at the cap" in f.text
    assert abs(f.evidence["spearman_untruncated"]) < 0.2 <= f.evidence["spearman"]


def test_even_lengths_have_no_stragglers_to_explain() -> None:
    rows = [{**row, "response_tokens": 100 + i % 3} for i, row in enumerate(prompts(0.0))]
    assert not {c for c in codes(analyzed(rows)) if c.startswith("stragglers")}


def test_tokens_without_variance() -> None:
    rows = [
        {
            "step": 1,
            "prompt_id": p,
            "group_id": p,
            "response_tokens": 100,
            "token_basis": "exact",
            "reward": float(p < 4 or (p == 9 and i == 0)),
        }
        for p in range(10)
        for i in range(4)
    ]
    f = finding(analyzed(rows), "zero_variance_tokens")
    assert f.severity == "high"
    assert "90 % of the tokens" in f.text
    assert "40 % of the groups all right, 50 % all wrong" in f.text
    assert "10.0 rounds" in f.next


def steps_with(seconds: list[float], longest: list[float]) -> list[dict[str, Any]]:
    return [
        {
            "step": i,
            "generate_s": s,
            "step_s": s + 50,
            "response_tokens_mean": top / 4,
            "response_tokens_max": top,
            "rollouts": 256,
        }
        for i, (s, top) in enumerate(zip(seconds, longest, strict=True))
    ]


def test_time_that_grew_because_lengths_grew() -> None:
    longest = [1000.0 + 50 * i for i in range(12)]
    f = finding(analyzed(steps=steps_with([t / 100 for t in longest], longest)), "time_grew_with_length")
    # medians of the first and the last four: 1075 and 1475 tokens
    assert f.evidence["longest_ratio"] == pytest.approx(1475 / 1075)
    assert f.evidence["pace_ratio"] == pytest.approx(1)
    assert "37 % longer" in f.text


def test_time_that_grew_per_token_is_another_thing() -> None:
    seconds = [10.0 * (1 + 0.05 * i) for i in range(12)]
    found = codes(analyzed(steps=steps_with(seconds, [1000.0] * 12)))
    assert "time_grew_per_token" in found
    assert "time_grew_with_length" not in found


def test_steady_times_are_met_with_silence() -> None:
    found = codes(analyzed(steps=steps_with([10.0] * 12, [1000.0] * 12)))
    assert not {c for c in found if c.startswith("time_grew")}
