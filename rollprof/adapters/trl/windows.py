"""How many steps and generations a log entry covers.

TRL logs the mean of everything since the last log. Over one generation `completions/max_length` is the
longest response; over several it is the mean of their longest, which is no response's length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rollprof.adapters.trl.processes import number
from rollprof.adapters.trl.vocabulary import MAX, MIN, generated, value

Config = Mapping[str, Any]
Logs = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Window:
    """A log entry covers `steps` optimizer steps and `generations` generation batches (0: a reuse step).

    `since` is the step before its first one. `whole` false: logs between it and the one before are lost,
    so a running total differs by more than the window's share.
    """

    since: int
    steps: int
    generations: float
    whole: bool = True

    @property
    def single(self) -> bool:
        """Whether its extremes are those of one generation batch."""
        return self.generations <= 1


def steps_per_generation(config: Config) -> float | None:
    """Optimizer steps that one generation batch serves: `steps_per_generation x num_iterations /
    gradient_accumulation_steps` (steps_per_generation defaults to the accumulation steps)."""
    accumulation = number(config, "gradient_accumulation_steps")
    per_generation = number(config, "steps_per_generation") or accumulation
    if accumulation is None or per_generation is None:
        return None
    return per_generation * (number(config, "num_iterations") or 1) / accumulation


def windows(logs: Logs, config: Config) -> dict[int, Window]:
    """The window of each training log. Without settings, entries that lack generation keys show that a
    batch serves several steps, and fractional extremes that an entry covers several batches."""
    steps = sorted(logs)
    stride = _stride(steps, config)
    served = steps_per_generation(config)
    reuses = any(not generated(v) for v in logs.values())
    fractional = not reuses and _fractional(logs, steps, stride)
    found: dict[int, Window] = {}
    before = max(0, steps[0] - stride) if steps else 0
    for step in steps:
        count = max(1, min(step - before, stride))
        if not generated(logs[step]):
            generations = 0.0
        elif served is not None:
            generations = max(1.0, count / served)
        else:
            generations = 1.0 if reuses else float(count)
            if fractional and generations <= 1:
                generations = 2.0
        found[step] = Window(step - count, count, generations, whole=count == step - before)
        before = step
    return found


def _stride(steps: Sequence[int], config: Config) -> int:
    """Steps from log to log: the commonest distance, else `logging_steps`, else 1."""
    apart = Counter(b - a for a, b in pairwise(steps))
    if apart:
        return apart.most_common(1)[0][0]
    return number(config, "logging_steps") or 1


def _fractional(logs: Logs, steps: Sequence[int], stride: int) -> bool:
    """Whether extremes of entries that should cover one generation are no whole numbers."""
    if stride > 1:
        return False
    extremes = [value(logs[step], key) for step in steps for key in (MIN, MAX)]
    return any(e is not None and not e.is_integer() for e in extremes)
