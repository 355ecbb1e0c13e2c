"""Makes rollout dumps as large as asked for, shaped like those of a long-reasoning verl run.

Lengths are lognormal within a prompt, whose difficulty shifts the median by a factor of up to four; a few
responses run into the cap. The text is words, numbers, formulas and some non-ASCII, because readers of JSON
are slower on escapes and on multi-byte characters. Deterministic for a given seed.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

PROMPTS, SAMPLES = 64, 8
CAP_CHARACTERS = 48_000
MEDIAN_CHARACTERS = 4_500
SHARE_AT_CAP = 0.03

SYLLABLES = ("ba", "co", "di", "fu", "ga", "he", "ki", "lo", "mu", "na", "or", "pe", "ra", "su", "ti", "vo")
ESCAPED = ('"quoted"', "\\frac{1}{2}", "a\tb", "\\(x^2\\)", "```py\nprint(1)\n```", "\\n")
WIDE = ("≤", "→", "因此", "所以", "é", "π", "√")


def _sentence(rng: random.Random) -> str:
    words = []
    for _ in range(rng.randint(6, 24)):
        draw = rng.random()
        if draw < 0.80:
            words.append("".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))))
        elif draw < 0.92:
            words.append(f"{rng.randint(0, 999)}{rng.choice('+-*=')}{rng.randint(0, 999)}")
        elif draw < 0.98:
            words.append(rng.choice(ESCAPED))
        else:
            words.append(rng.choice(WIDE))
    return " ".join(words) + ". "


class Text:
    """A long reservoir of text to cut from: cutting is much cheaper than writing."""

    def __init__(self, rng: random.Random, characters: int = 2_000_000) -> None:
        parts: list[str] = []
        length = 0
        while length < characters:
            sentence = _sentence(rng)
            parts.append(sentence)
            length += len(sentence)
        self._text = "".join(parts)
        self._rng = rng

    def cut(self, characters: int) -> str:
        """`characters` characters from anywhere."""
        start = self._rng.randrange(len(self._text) - characters)
        return self._text[start : start + characters]


def step_lines(rng: random.Random, text: Text, step: int) -> Iterator[str]:
    """The lines of one step's dump: PROMPTS x SAMPLES responses."""
    for _ in range(PROMPTS):
        prompt = f"user\n{text.cut(rng.randint(300, 1500))}\nassistant\n"
        difficulty = rng.random()
        median = math.log(MEDIAN_CHARACTERS) + math.log(4) * (difficulty - 0.5)
        answer = str(rng.randint(0, 999))
        for _ in range(SAMPLES):
            length = min(CAP_CHARACTERS, int(rng.lognormvariate(median, 0.8)))
            if rng.random() < SHARE_AT_CAP * 2 * difficulty:
                length = CAP_CHARACTERS
            right = length < CAP_CHARACTERS and rng.random() > difficulty
            yield json.dumps(
                {
                    "input": prompt,
                    "output": text.cut(length),
                    "gts": answer,
                    "score": float(right),
                    "step": step,
                    "acc": right,
                },
                ensure_ascii=False,
            )


def short_lines(rng: random.Random, text: Text, step: int) -> Iterator[str]:
    """The lines of a step of short answers: some 0.6 kB each."""
    for _ in range(PROMPTS):
        prompt = f"user\n{text.cut(150)}"
        difficulty = rng.random()
        for _ in range(SAMPLES):
            right = rng.random() > difficulty
            yield json.dumps(
                {
                    "input": prompt,
                    "output": text.cut(max(40, min(1600, int(rng.lognormvariate(5.6, 0.7))))),
                    "gts": "7",
                    "score": float(right),
                    "step": step,
                    "acc": right,
                },
                ensure_ascii=False,
            )


def token_lines(rng: random.Random, text: Text, step: int) -> Iterator[str]:
    """The lines of a step with the ids and log-probabilities of all tokens: some 30 kB each."""
    for prompt in range(PROMPTS // 8):
        for sample in range(SAMPLES):
            tokens = max(50, min(8000, int(rng.lognormvariate(6.5, 0.9))))
            yield json.dumps(
                {
                    "input": f"user: {text.cut(60)} {step} {prompt}",
                    "output": text.cut(4 * tokens),
                    "token_ids": [rng.randrange(150_000) for _ in range(tokens)],
                    "logprobs": [-3 * rng.random() for _ in range(tokens)],
                    "score": float(sample % 2),
                    "step": step,
                }
            )


KINDS = {"long": step_lines, "short": short_lines, "tokens": token_lines}


def make(folder: Path, megabytes: float, seed: int = 1, kind: str = "long") -> int:
    """Write `{folder}/{step}.jsonl` until `megabytes` (10^6 bytes) are reached; the bytes written."""
    folder.mkdir(parents=True, exist_ok=True)
    size = 0
    for step, data in _steps(megabytes, seed, kind):
        (folder / f"{step}.jsonl").write_bytes(data)
        size += len(data)
    return size


def make_file(file: Path, megabytes: float, seed: int = 1, kind: str = "long") -> int:
    """The same in one file."""
    with file.open("wb") as target:
        return sum(target.write(data) for _, data in _steps(megabytes, seed, kind))


def _steps(megabytes: float, seed: int, kind: str) -> Iterator[tuple[int, bytes]]:
    rng = random.Random(seed)
    text = Text(rng)
    size, step = 0, 0
    while size < megabytes * 1e6:
        step += 1
        data = "".join(line + "\n" for line in KINDS[kind](rng, text, step)).encode()
        size += len(data)
        yield step, data
