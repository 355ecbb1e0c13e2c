"""The sample logs are what the documentation says they are, worked out here without rollprof."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

STEPS, GPUS, RESPONSES, CAP = 12, 8, 256, 1024


@pytest.fixture(scope="module")
def verl(root: Path) -> Path:
    return root / "sample_logs" / "verl"


@pytest.fixture(scope="module")
def metrics(verl: Path) -> dict[int, dict[str, float]]:
    lines = (verl / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return {(entry := json.loads(line))["step"]: entry["data"] for line in lines}


@pytest.fixture(scope="module")
def dumps(verl: Path) -> dict[int, list[dict[str, Any]]]:
    return {
        step: [
            json.loads(line)
            for line in (verl / "rollouts" / f"{step}.jsonl").read_text(encoding="utf-8").split("\n")
            if line
        ]
        for step in range(1, STEPS + 1)
    }


def tokens_of(text: str) -> int:
    """Tokens of a response in its invented vocabulary: a short word with its blank is one."""
    return len(re.findall(r" [a-z]+|[^ ]", text))


def test_512_responses_of_the_worked_example(root: Path) -> None:
    lines = (root / "sample_logs" / "straggler_512.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    seconds = [row["completed_at"] - row["started_at"] for row in rows]
    assert (len(rows), seconds.count(2.0), seconds.count(30.0)) == (512, 500, 12)
    assert 1 - sum(seconds) / (512 * max(seconds)) == pytest.approx(0.9115, abs=5e-5)
    assert len({row["started_at"] for row in rows}) == 1
    # tokens are consistent with the times: one speed for all
    assert {row["response_tokens"] / s for row, s in zip(rows, seconds, strict=True)} == {64.0}
    rewards: dict[str, list[float]] = defaultdict(list)
    slow: dict[str, int] = defaultdict(int)
    for row, s in zip(rows, seconds, strict=True):
        rewards[row["prompt"]].append(row["reward"])
        slow[row["prompt"]] += s == 30
    assert len(rewards) == 64
    assert {len(group) for group in rewards.values()} == {8}
    hardest = sorted(rewards, key=lambda prompt: fmean(rewards[prompt]))[:5]
    assert sum(slow[prompt] for prompt in hardest) == 12


def test_step_lines_keep_verls_identities(metrics: dict[int, dict[str, float]]) -> None:
    assert sorted(metrics) == list(range(STEPS + 1))  # 0 is the initial validation
    for step in range(1, STEPS + 1):
        m = metrics[step]
        total, seconds = m["perf/total_num_tokens"], m["perf/time_per_step"]
        assert total / (m["perf/throughput"] * seconds) == pytest.approx(GPUS, rel=1e-12)
        length = m["prompt_length/mean"] + m["response_length/mean"]
        assert total / length == pytest.approx(RESPONSES, rel=1e-6)
        assert total / m["global_seqlen/mean"] == pytest.approx(GPUS, rel=1e-12)
        assert m["timing_s/step"] == seconds
        response_tokens = m["response_length/mean"] * RESPONSES
        per_token = m["timing_s/gen"] * 1000 / response_tokens
        assert m["timing_per_token_ms/gen"] == pytest.approx(per_token, rel=1e-6)
        slowest = m["timing_s/agent_loop/generate_sequences/max"]
        assert slowest == m["timing_s/agent_loop/slowest/generate_sequences"]
        assert m["timing_s/agent_loop/slowest/response_length"] <= m["response_length/max"]
        assert slowest < m["timing_s/gen"] < m["timing_s/step"]
        phases = ("gen", "reward", "old_log_prob", "ref", "adv", "update_actor", "update_weights")
        rest = m.get("timing_s/save_checkpoint", 0.0) + m["timing_s/dump_rollout_generations"]
        inside = sum(m[f"timing_s/{phase}"] for phase in phases) + rest
        assert inside == pytest.approx(m["timing_s/step"], abs=0.02)
        assert inside <= m["timing_s/step"]


def test_dumps_agree_with_the_metrics(
    metrics: dict[int, dict[str, float]], dumps: dict[int, list[dict[str, Any]]]
) -> None:
    for step, rows in dumps.items():
        m = metrics[step]
        lengths = [tokens_of(row["output"]) for row in rows]
        assert len(rows) == RESPONSES
        assert {row["step"] for row in rows} == {step}
        assert fmean(lengths) == pytest.approx(m["response_length/mean"], rel=1e-6)
        assert (min(lengths), max(lengths)) == (m["response_length/min"], m["response_length/max"])
        clipped = sum(n == CAP for n in lengths) / RESPONSES
        assert clipped == pytest.approx(m["response_length/clip_ratio"], abs=1e-9)
        assert fmean(row["score"] for row in rows) == pytest.approx(m["critic/score/mean"], rel=1e-6)
        assert all(row["acc"] == (row["score"] == 1.0) for row in rows)
        groups: dict[str, int] = defaultdict(int)
        for row in rows:
            groups[row["input"]] += 1
        assert sorted(groups.values()) == [8] * 32


def test_console_and_file_logger_hold_the_same_numbers(
    verl: Path, metrics: dict[int, dict[str, float]]
) -> None:
    text = (verl / "console.log").read_text(encoding="utf-8")
    lines = re.findall(r"\x1b\[0m step:(\d+) - (.*)", text)
    assert [int(step) for step, _ in lines] == list(range(STEPS + 1))
    for step, rest in lines:
        for part in rest.split(" - "):
            key, _, value = part.rpartition(":")
            number = float(re.sub(r"np\.\w+\((.*)\)", r"\1", value))
            assert number == metrics[int(step)][key], key


def test_lengths_have_a_tail_that_the_prompt_explains_in_part(
    dumps: dict[int, list[dict[str, Any]]],
) -> None:
    between: list[float] = []
    within: list[float] = []
    for rows in dumps.values():
        groups: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            groups[row["input"]].append(math.log(tokens_of(row["output"])))
        level = fmean(value for group in groups.values() for value in group)
        for group in groups.values():
            mean = fmean(group)
            between.append(8 * (mean - level) ** 2)
            within.extend((value - mean) ** 2 for value in group)
    msb = sum(between) / (len(between) - STEPS)
    msw = sum(within) / (len(within) - len(between))
    assert (msb - msw) / (msb + 7 * msw) == pytest.approx(0.4, abs=0.06)
    for rows in dumps.values():
        lengths = [tokens_of(row["output"]) for row in rows]
        assert max(lengths) > 4 * fmean(lengths)
    truncated = sum(tokens_of(row["output"]) == CAP for rows in dumps.values() for row in rows)
    assert 3 <= truncated <= 40


def test_sample_logs_stay_small(root: Path) -> None:
    sizes = {p: p.stat().st_size for p in (root / "sample_logs").rglob("*") if p.is_file()}
    assert sum(sizes.values()) < 3_000_000
    assert sizes[root / "sample_logs" / "straggler_512.jsonl"] < 120_000
    assert sum(size for path, size in sizes.items() if "verl" in path.parts) < 1_300_000
