"""A small run made up on the spot for `rollprof demo`: the same one every time.

Ten steps of GRPO on four engines. Lengths are lognormal around a level that the prompt sets, with a few
that run away until the cap; hard prompts get long answers. Times follow a decode cost of `a + b*B`
seconds per token with `B` responses in flight on an engine, all submitted at once; training takes time by
the token.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from statistics import NormalDist

STEPS, PROMPTS, SAMPLES, ENGINES, GPUS, CAP = 10, 24, 8, 4, 8, 4096
SEED = 20_250_412
DECODE_S, PER_RESPONSE_S, PREFILL_S = 0.011, 0.00018, 0.6
"""`a`, `b`, and what passes before the first token."""
OVERHEAD_S = 0.4
"""What the trainer's own clock of the generation call adds."""
TRAINING_S_PER_TOKEN = {"reward_s": 2.4e-5, "old_logprob_s": 6.1e-5, "update_s": 1.7e-4}
WEIGHT_SYNC_S = 3.1
FIRST_STEP_AT = 1_760_000_000.0


@dataclass(frozen=True, slots=True)
class _Response:
    prompt: str
    sample: int
    tokens: int
    reward: float


@dataclass(frozen=True, slots=True)
class SampleRun:
    """Two JSON-lines files: one record a rollout, in the order in which they complete, and one a step."""

    rollouts: str
    steps: str


def sample_run() -> SampleRun:
    """The run; the same text every time."""
    draw = random.Random(SEED)
    start = FIRST_STEP_AT
    rollouts: list[str] = []
    steps: list[str] = []
    for step in range(1, STEPS + 1):
        responses = _responses(draw, step)
        seconds = _completion(responses)
        order = sorted(range(len(responses)), key=lambda i: (seconds[i], i))
        rollouts += [json.dumps(_row(step, i, responses[i], start, seconds[i])) for i in order]
        summary = _step(step, responses, max(seconds))
        steps.append(json.dumps(summary))
        start += summary["step_s"]
    return SampleRun("\n".join(rollouts) + "\n", "\n".join(steps) + "\n")


def _step(step: int, responses: list[_Response], slowest: float) -> dict[str, float]:
    tokens = sum(response.tokens for response in responses)
    times = {"generate_s": slowest + OVERHEAD_S, "weight_sync_s": WEIGHT_SYNC_S}
    times |= {phase: cost * tokens for phase, cost in TRAINING_S_PER_TOKEN.items()}
    return {
        "step": step,
        "step_s": round(sum(times.values()) + 0.2, 3),
        **{phase: round(seconds, 3) for phase, seconds in times.items()},
        "gpus": GPUS,
        "rollouts": len(responses),
        "prompts": PROMPTS,
        "response_tokens_mean": tokens / len(responses),
        "response_tokens_max": max(response.tokens for response in responses),
        "reward_mean": sum(response.reward for response in responses) / len(responses),
    }


def _row(step: int, index: int, response: _Response, start: float, seconds: float) -> dict[str, object]:
    return {
        "step": step,
        "prompt": response.prompt,
        "sample_index": response.sample,
        "response_tokens": response.tokens,
        "reward": response.reward,
        "finish_reason": "length" if response.tokens == CAP else "stop",
        "engine": f"engine-{index % ENGINES}",
        "started_at": round(start, 3),
        "completed_at": round(start + seconds, 3),
    }


def _responses(draw: random.Random, step: int) -> list[_Response]:
    return [
        _response(draw, step, f"Problem {step}-{prompt}: compute the value.", hardness, sample)
        for prompt in range(1, PROMPTS + 1)
        for hardness in (_normal(draw),)
        for sample in range(SAMPLES)
    ]


def _response(draw: random.Random, step: int, prompt: str, hardness: float, sample: int) -> _Response:
    level = math.log(360) + 0.02 * step + 0.45 * hardness
    length = math.exp(level + 0.5 * _normal(draw))
    runs_away = draw.random() < 0.02 / (1 + math.exp(-2 * hardness))
    tokens = min(CAP, max(16, round(length * (8 if runs_away else 1))))
    solved = draw.random() < 1 / (1 + math.exp(1.5 * hardness - 0.4))
    return _Response(prompt, sample, tokens, float(solved and tokens < CAP))


def _normal(draw: random.Random) -> float:
    return NormalDist().inv_cdf(min(max(draw.random(), 1e-9), 1 - 1e-9))


def _completion(responses: list[_Response]) -> list[float]:
    """Seconds from submission to completion: exact between completions, where the batch is constant."""
    seconds = [0.0] * len(responses)
    for engine in range(ENGINES):
        mine = sorted(range(engine, len(responses), ENGINES), key=lambda i: responses[i].tokens)
        now, done = PREFILL_S, 0
        for position, i in enumerate(mine):
            running = len(mine) - position
            now += (responses[i].tokens - done) * (DECODE_S + PER_RESPONSE_S * running)
            done = responses[i].tokens
            seconds[i] = now
    return seconds
