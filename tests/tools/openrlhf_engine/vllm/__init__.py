"""Stands in for vLLM, so that OpenRLHF's own command line runs on a machine without a GPU.

Only what OpenRLHF calls is here. Lengths have a heavy tail that depends on the prompt's difficulty; a decode
step with B running requests takes A + B_COST * B seconds of real time, so that all of OpenRLHF's timers and
progress bars show what they would show for such an engine.
"""

from __future__ import annotations

import asyncio
import math
import os
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

__version__ = "0.24.0"

A = float(os.environ.get("FAKE_DECODE_A", "0.009"))
"""Seconds of a decode step, however few requests run."""
B_COST = float(os.environ.get("FAKE_DECODE_B", "1.4e-5"))
"""Seconds that each running request adds."""
SLICE_S = 0.2
"""Requests that arrive join after at most this long."""
FIRST_WORD = 16
"""Token ids below are special, or levels of difficulty: 4 + level."""


class SamplingParams:
    """Holds what it is given."""

    def __init__(self, **options: Any) -> None:
        self.max_tokens = None
        self.logprobs = None
        self.__dict__.update(options)


class AsyncEngineArgs:
    """Holds what it is given."""

    def __init__(self, *_: Any, **options: Any) -> None:
        self.__dict__.update(options)


def difficulty(prompt: list[int]) -> int:
    """0 to 9, from the prompt's token of that meaning."""
    return next((t - 4 for t in prompt if 4 <= t < 14), 5)


def response_length(level: int, rng: random.Random) -> int:
    """Lognormal: harder prompts think longer, and each response has a tail of its own."""
    return 1 + int(rng.lognormvariate(math.log(70 + 45 * level), 0.75))


@dataclass
class _Request:
    tokens: int
    left: float
    done: asyncio.Event = field(default_factory=asyncio.Event)


class _Unfinished:
    def __init__(self) -> None:
        self.requests: list[_Request] = []

    def get_num_unfinished_requests(self) -> int:
        return len(self.requests)


class AsyncLLMEngine:
    """Decodes all requests together, one token each per step."""

    def __init__(self, options: AsyncEngineArgs) -> None:
        self.output_processor = _Unfinished()
        self._rng = random.Random(getattr(options, "seed", 0))
        self._go = asyncio.Event()
        self._go.set()
        self._loop: asyncio.Task[None] | None = None

    @classmethod
    def from_engine_args(cls, options: AsyncEngineArgs, **_: Any) -> AsyncLLMEngine:
        return cls(options)

    async def is_sleeping(self) -> bool:
        return False

    async def sleep(self, level: int = 1) -> None:
        await asyncio.sleep(0.3)

    async def wake_up(self, tags: list[str] | None = None) -> None:
        await asyncio.sleep(0.15)

    async def collective_rpc(self, *_: Any, **__: Any) -> None:
        return None

    async def reset_prefix_cache(self) -> None:
        return None

    async def pause_generation(self, mode: str = "abort") -> None:
        self._go.clear()

    async def resume_generation(self) -> None:
        self._go.set()

    async def generate(
        self, prompt: dict[str, Any], sampling_params: SamplingParams, request_id: str = ""
    ) -> AsyncIterator[SimpleNamespace]:
        ids = list(prompt["prompt_token_ids"])
        wanted = response_length(difficulty(ids), self._rng)
        tokens = min(wanted, sampling_params.max_tokens or wanted)
        request = _Request(tokens, float(tokens))
        self.output_processor.requests.append(request)
        if self._loop is None or self._loop.done():
            self._loop = asyncio.get_running_loop().create_task(self._decode())
        await request.done.wait()
        words = [self._rng.randrange(FIRST_WORD, FIRST_WORD + 96) for _ in range(tokens)]
        reason = "length" if tokens < wanted else "stop"
        output = SimpleNamespace(token_ids=words, text="", finish_reason=reason, logprobs=None)
        yield SimpleNamespace(prompt_token_ids=ids, outputs=[output])

    async def _decode(self) -> None:
        running = self.output_processor.requests
        while running:
            await self._go.wait()
            step = A + B_COST * len(running)
            steps = min(min(r.left for r in running), max(1.0, SLICE_S / step))
            await asyncio.sleep(steps * step * self._rng.lognormvariate(0, 0.02))
            for request in running:
                request.left -= steps
            for request in [r for r in running if r.left < 0.5]:
                running.remove(request)
                request.done.set()
