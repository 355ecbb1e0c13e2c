"""The requests of a real engine, and a slow engine that decodes token by token."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rollprof.model.decode import DecodeCost


@dataclass(frozen=True)
class MeasuredStep:
    """One synchronous batch on a real engine, in the order of submission; `clock` is its known slot_idle."""

    lengths: NDArray[np.int64]
    prompts: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    slots: int | None
    clock: float

    @property
    def duration(self) -> float:
        return float(self.end.max() - self.start.min())


CLOCK = {"wide": (0.672, 0.817, 0.570, 0.726, 0.646), "queue": (0.194, 0.453, 0.525, 0.395)}
FILES = {"wide": ("wide_256_requests.jsonl", None), "queue": ("queue_32slots_requests.jsonl", 32)}


@pytest.fixture(scope="session")
def measured(corpus: Path) -> dict[str, list[MeasuredStep]]:
    """Runs `wide` (5 steps of 256 requests) and `queue` (4 steps of 128 requests on 32 slots)."""
    return {run: _measured(corpus / "engine" / "vllm_0.32_cpu" / FILES[run][0], run) for run in FILES}


def _measured(path: Path, run: str) -> list[MeasuredStep]:
    steps: dict[int, list[tuple[float, int, int, int, float]]] = defaultdict(list)
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            r = json.loads(line)
            steps[r["step"]].append((r["start"], r["i"], r["response_len"], r["prompt_len"], r["end"]))
    out = []
    for step, clock in zip(sorted(steps), CLOCK[run], strict=True):
        start, _, length, prompt, end = map(np.array, zip(*sorted(steps[step]), strict=True))
        out.append(MeasuredStep(length, prompt, start, end, FILES[run][1], clock))
    return out


@dataclass(frozen=True)
class SlowReplay:
    """What the token loop saw. `slot_seconds` sums (slots in use) * (seconds of the step)."""

    start: list[float]
    finish: list[float]
    engine_finish: list[float]
    slot_seconds: float
    full_batch_seconds: float


def decode_token_by_token(
    lengths: list[int],
    prompts: list[int],
    cost: DecodeCost,
    slots: int | None,
    engines: list[int],
    count: int,
) -> SlowReplay:
    """An engine loop as an engine runs: admit, decode one token for everybody, let the finished go."""
    n = len(lengths)
    start, finish = [0.0] * n, [0.0] * n
    engine_finish = [0.0] * count
    slot_seconds = 0.0
    for e in range(count):
        queue = [i for i in range(n) if engines[i] == e]
        if not queue:
            continue
        now, first = cost.k0, set(queue[:slots])
        running: dict[int, int] = {}
        slot_seconds += cost.k0 * min(len(queue), slots or len(queue))
        while queue or running:
            while queue and (slots is None or len(running) < slots):
                i = queue.pop(0)
                start[i] = 0.0 if i in first else now
                if lengths[i]:
                    running[i] = 0
                else:
                    finish[i] = now
            if not running:
                continue
            context = sum(prompts[i] + made for i, made in running.items())
            seconds = cost.a + cost.b * len(running) + cost.c * context
            slot_seconds += seconds * len(running)
            now += seconds
            for i in list(running):
                running[i] += 1
                if running[i] == lengths[i]:
                    finish[i] = now
                    del running[i]
        engine_finish[e] = now
    capacity = n if slots is None else min(n, count * slots)
    full = cost.k0 * sum(f > 0 for f in engine_finish) + cost.b * sum(lengths)
    full += cost.c * sum(
        prompt + t for length, prompt in zip(lengths, prompts, strict=True) for t in range(length)
    )
    full += cost.a * sum(lengths) * count / capacity if capacity else 0.0
    return SlowReplay(start, finish, engine_finish, slot_seconds, full)


@pytest.fixture(scope="session")
def slow_replay() -> Callable[..., SlowReplay]:
    return decode_token_by_token
