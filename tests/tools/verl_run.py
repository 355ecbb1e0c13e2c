"""A few training steps as one release of verl logs them: made-up numbers, verl's own writers, known truth."""

from __future__ import annotations

import math
import pprint
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from verl_writers import Batch, Writers

STEPS, PROMPTS, SAMPLES, GPUS, PER_ENGINE = 3, 8, 4, 8, 2
PROMPT_CAP, RESPONSE_CAP = 16, 64
ROWS = PROMPTS * SAMPLES
SINCE = {"reward": (0, 4), "update_weights": (0, 7, 1)}
"""Timers that older releases do not have."""
TOKEN = "é中"
"""Every token of the made-up vocabulary is two characters, so that scaled lengths must be exact."""


@dataclass(frozen=True)
class Truth:
    """What was put into one step."""

    step: int
    prompt_tokens: list[int]
    response_tokens: list[int]
    scores: list[float]
    timing: dict[str, float]
    request_s: list[float]

    @property
    def tokens_total(self) -> int:
        """Prompt and response tokens."""
        return sum(self.prompt_tokens) + sum(self.response_tokens)


def truth(step: int) -> Truth:
    """Deterministic: a long tail, one truncated response in every step."""
    rng = random.Random(step)
    prompts = [5 + p for p in range(PROMPTS) for _ in range(SAMPLES)]
    responses = [
        min(RESPONSE_CAP - 1, max(2, round(rng.lognormvariate(math.log(6 + p), 0.6))))
        for p in range(PROMPTS)
        for _ in range(SAMPLES)
    ]
    responses[rng.randrange(ROWS)] = RESPONSE_CAP
    scores = [float(n < RESPONSE_CAP and rng.random() < 0.6) for n in responses]
    requests = [0.4 + 0.05 * n + rng.uniform(0, 0.1) for n in responses]
    timing = {"gen": max(requests) + 0.5, "reward": 0.11, "old_log_prob": 0.8, "ref": 0.7, "adv": 0.02}
    timing |= {"update_actor": 2.5 + rng.random(), "update_weights": 0.6}
    timing["step"] = sum(timing.values()) + 0.05
    return Truth(step, prompts, responses, scores, timing, requests)


def metrics_of(writers: Writers, known: Truth) -> dict[str, Any]:
    """One step line's worth of metrics, by that release's functions."""
    advantages = [score - 0.5 for score in known.scores]
    widths = (PROMPT_CAP, RESPONSE_CAP)
    batch = Batch(known.prompt_tokens, known.response_tokens, known.scores, advantages, widths)
    lengths = [p + r for p, r in zip(known.prompt_tokens, known.response_tokens, strict=True)]
    requests = [
        {"generate_sequences": s, "tool_calls": 0.0, "compute_score": 0.01, "num_preempted": -1}
        for s in known.request_s
    ]
    own = {name: s for name, s in known.timing.items() if writers.wheel.release >= SINCE.get(name, (0,))}
    timing = {**writers.request_timing(requests, batch), **own}
    metrics = writers.seqlen_metrics(lengths, writers.balance(lengths, GPUS))
    metrics |= {"actor/lr": 1e-06, "actor/pg_loss": np.float64(0.0123), "actor/grad_norm": float("nan")}
    if writers.wheel.release >= (0, 4):
        metrics |= {"training/global_step": known.step, "training/epoch": 0}
    metrics |= writers.data_metrics(batch)
    metrics |= writers.timing_metrics(batch, timing)
    return metrics | writers.throughput_metrics(batch, timing, GPUS)


def overrides(writers: Writers) -> dict[str, Any]:
    """Configuration of the made-up run."""
    chosen: dict[str, Any] = {
        "data.train_batch_size": PROMPTS,
        "data.max_prompt_length": PROMPT_CAP,
        "data.max_response_length": RESPONSE_CAP,
        "actor_rollout_ref.rollout.name": "vllm",
        "actor_rollout_ref.rollout.n": SAMPLES,
        "actor_rollout_ref.rollout.tensor_model_parallel_size": PER_ENGINE,
        "algorithm.adv_estimator": "grpo",
        "trainer.n_gpus_per_node": GPUS,
        "trainer.nnodes": 1,
    }
    if (0, 5) <= writers.wheel.release < (0, 7):
        chosen["actor_rollout_ref.rollout.mode"] = "async"
    if writers.wheel.release >= (0, 9):
        chosen["trainer.use_v1"] = False
    return chosen


def prefixed(writers: Writers, text: str) -> list[str]:
    """Lines as Ray forwards them from the process that trains."""
    actor = "main_task" if writers.wheel.release < (0, 3) else "TaskRunner"
    return [f"\x1b[36m({actor} pid=3163)\x1b[0m {line}" for line in text.split("\n")]


def texts(counts: Sequence[int]) -> list[str]:
    """Responses of so many tokens, each two characters."""
    return [TOKEN * n for n in counts]


def prompts() -> list[str]:
    """The prompt of each row; as many characters as verl's JSON lines may hold: quotes, U+2028, wide ones."""
    return [f'Q{p}: "what"\u2028 is {p}+{p}? «é中文»' for p in range(PROMPTS) for _ in range(SAMPLES)]


def write(writers: Writers, folder: Path) -> list[Truth]:
    """Console log, metrics of the file logger and rollout dumps, as far as the release has them."""
    folder.mkdir(parents=True, exist_ok=True)
    steps = [truth(step) for step in range(1, STEPS + 1)]
    measured = [metrics_of(writers, known) for known in steps]
    console = prefixed(writers, pprint.pformat(writers.config(overrides(writers))))
    for known, metrics in zip(steps, measured, strict=True):
        console += prefixed(writers, writers.console_line(metrics, known.step))
    (folder / "console.log").write_text("\n".join(console) + "\n", encoding="utf-8")
    if writers.has_file_logger:
        with writers.file_logger(folder / "metrics.jsonl") as logger:
            for known, metrics in zip(steps, measured, strict=True):
                logger.log(_plain(metrics), known.step)
    if writers.dumps:
        answers = [str(2 * p) for p in range(PROMPTS) for _ in range(SAMPLES)]
        for known in steps:
            right = {"acc": [score == 1.0 for score in known.scores]}
            outputs = texts(known.response_tokens)
            writers.dump(folder / "rollouts", known.step, prompts(), outputs, answers, known.scores, right)
    return steps


def write_v1(writers: Writers, folder: Path) -> list[Truth]:
    """Dumps of the v1 trainer: `uid` per row, and one padding row at the end of every step."""
    steps = [truth(step) for step in range(1, STEPS + 1)]
    answers = [str(2 * p) for p in range(PROMPTS) for _ in range(SAMPLES)]
    for known in steps:
        uids = [f"{_uuid(known.step, i // SAMPLES)}_{i % SAMPLES}_0" for i in range(ROWS)]
        writers.dump_v1(
            folder / "rollouts",
            known.step,
            [*prompts(), ""],
            [*texts(known.response_tokens), ""],
            [*answers, answers[0]],
            [*known.scores, 0.0],
            {"uid": [*uids, "pad0123456789abcdef_0_0"]},
        )
    return steps


def _uuid(step: int, prompt: int) -> str:
    return f"00000000-0000-4000-8000-{step:06d}{prompt:06d}"


def _plain(metrics: dict[str, Any]) -> dict[str, Any]:
    """numpy's integers as Python's: file loggers before 0.7.1 die of them."""
    return {key: int(value) if isinstance(value, np.integer) else value for key, value in metrics.items()}
