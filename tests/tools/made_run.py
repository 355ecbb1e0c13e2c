"""A run made from a decode model, so that what changed between two runs is known.

Every engine decodes with `a + b*B` seconds a step for `B` rollouts in flight, all submitted at once; the
generation call takes `elsewhere_s` longer than the rollouts. Each step's times have noise of their own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class MadeRun:
    """What the run is made of. `slower` scales decode times, `longer` all lengths, `tail` the spread of
    lengths at the same mean, `seed` draws lengths and noise. `times=False` leaves out rollouts' clocks."""

    steps: int = 24
    slower: float = 1.0
    longer: float = 1.0
    tail: float = 0.5
    elsewhere_s: float = 2.0
    noise: float = 0.01
    seed: int = 0
    rollouts: int = 64
    engines: int = 4
    cap: int = 32768
    times: bool = True
    first_step: int = 1

    def write(self, folder: Path) -> Path:
        """Write `rollouts.jsonl` and `steps.jsonl`; returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        draw = np.random.default_rng(self.seed)
        rows, steps, clock = [], [], 1_760_000_000.0
        for step in range(self.first_step, self.first_step + self.steps):
            lengths = self._lengths(draw)
            factor = float(np.exp(self.noise * draw.standard_normal()))
            done = self._completions(lengths) * factor
            generate = float(done.max()) + self.elsewhere_s
            update = 0.0004 * float(lengths.sum()) * float(np.exp(self.noise * draw.standard_normal()))
            for i, tokens in enumerate(lengths.tolist()):
                row = {
                    "step": step,
                    "prompt": f"problem {step}-{i // 8}",
                    "response_tokens": tokens,
                    "reward": float(draw.random() < 0.5),
                    "engine": f"engine-{i % self.engines}",
                }
                if self.times:
                    row |= {"started_at": round(clock, 4), "completed_at": round(clock + float(done[i]), 4)}
                rows.append(row)
            steps.append(
                {
                    "step": step,
                    "generate_s": generate,
                    "update_s": update,
                    "step_s": generate + update + 1.0,
                    "gpus": 8,
                    "rollouts": self.rollouts,
                    "response_tokens_mean": float(lengths.mean()),
                    "response_tokens_max": int(lengths.max()),
                }
            )
            clock += generate + update + 1.0
        for name, lines in (("rollouts", rows), ("steps", steps)):
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"{name}.jsonl").write_text(text)
        return folder

    def _lengths(self, draw: np.random.Generator) -> np.ndarray:
        # the mean of a lognormal is exp(mu + sigma^2/2): a wider tail leaves it where it was
        level = np.log(400 * self.longer) + 0.1 * draw.standard_normal() - self.tail**2 / 2
        found = np.exp(level + self.tail * draw.standard_normal(self.rollouts))
        return np.clip(found.round(), 8, self.cap).astype(int)

    def _completions(self, lengths: np.ndarray) -> np.ndarray:
        done = np.zeros(len(lengths))
        for engine in range(self.engines):
            mine = np.arange(engine, len(lengths), self.engines)
            mine = mine[np.argsort(lengths[mine], kind="stable")]
            now, before = 0.3, 0
            for position, i in enumerate(mine):
                running = len(mine) - position
                now += (lengths[i] - before) * (0.011 + 0.0002 * running) * self.slower
                before = lengths[i]
                done[i] = now
        return done
