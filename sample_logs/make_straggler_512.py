"""Makes sample_logs/straggler_512.jsonl: the smallest log in which stragglers are the whole story.

One step of 64 prompts with 8 responses each, all sent at once: 500 responses are done after exactly 2 s, 12
after exactly 30 s. Worked out by hand, 1 - (500 * 2 + 12 * 30) / (512 * 30) = 0.9115 of the decode slots are
empty, and the last (30 - 2) / 30 = 0.933 of the time is spent on 12 responses. Every response decodes at 64
tokens per second. The stragglers belong to the hardest prompts.

    python sample_logs/make_straggler_512.py

The output is the same every time.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

START = 1781427600.0  # 2026-06-14 09:00:00 UTC; sums with 2 and 30 are exact
TOKENS_PER_SECOND = 64
SAMPLES = 8
STRAGGLERS = (4, 3, 2, 2, 1)
"""Per prompt, hardest first."""
RIGHT = (0, 1, 1, 2, 2, *[3] * 5, *[4] * 6, *[5] * 8, *[6] * 10, *[7] * 14, *[8] * 16)
"""Correct responses per prompt, hardest first."""


def prompts() -> list[str]:
    """64 short questions, hardest first."""
    hard = [
        f"How many ways are there to pay {5 * k + 40} cents with coins of 1, 5, 10 and 25?" for k in range(5)
    ]
    middle = [f"What is the last digit of {k + 3} to the power {7 * k + 11}?" for k in range(19)]
    easy = [f"What is {13 * k + 17} + {7 * k + 25}?" for k in range(40)]
    return hard + middle + easy


def rows() -> list[dict[str, object]]:
    """512 records in the order in which they were sampled."""
    rng = random.Random(512)
    made: list[list[dict[str, object]]] = []
    for rank, prompt in enumerate(prompts()):
        slow = STRAGGLERS[rank] if rank < len(STRAGGLERS) else 0
        group = []
        for sample in range(SAMPLES):
            seconds = 30 if sample < slow else 2
            # the correct ones are the quick ones of a group
            right = sample >= SAMPLES - RIGHT[rank]
            group.append(
                {
                    "step": 1,
                    "prompt": prompt,
                    "response_tokens": seconds * TOKENS_PER_SECOND,
                    "started_at": START,
                    "completed_at": START + seconds,
                    "reward": 1.0 if right else 0.0,
                    "finish_reason": "stop",
                }
            )
        rng.shuffle(group)
        made.append(group)
    rng.shuffle(made)
    return [row for group in made for row in group]


def main() -> None:
    """Write the file beside this script."""
    out = Path(__file__).resolve().parent / "straggler_512.jsonl"
    out.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
