"""Quantities that verl does not log but that its averages give back: responses and GPUs of a step.

`responses = total_num_tokens / (prompt_length/mean + response_length/mean)` and
`GPUs = total_num_tokens / (throughput * time_per_step)` are whole numbers up to the digits of the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Metrics = Mapping[str, float]

HALF_DIGIT = 5e-4
"""Rounding error of a value with three decimals (releases before 0.5)."""

REPR_ERROR = 1e-6
"""Relative error of a mean that was computed in float32."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number recovered from rounded values: `off` how far it was from one, `within` how far the
    digits of the log allow."""

    value: int
    off: float
    within: float

    @property
    def exact(self) -> bool:
        return self.off <= self.within


def first(metrics: Metrics, *names: str) -> float | None:
    """The first finite value among the keys `names`."""
    for name in names:
        value = metrics.get(name)
        if value is not None and math.isfinite(value):
            return value
    return None


def total_tokens(metrics: Metrics) -> float | None:
    """Prompt and response tokens of the step."""
    return first(metrics, "perf/total_num_tokens", "total_num_tokens")


def logged_step_seconds(metrics: Metrics) -> float | None:
    """The step's time as verl logs it (its own definition of a step)."""
    return first(metrics, "timing_s/step", "perf/time_per_step", "time_per_step")


def throughput(metrics: Metrics) -> float | None:
    """Tokens per GPU and second."""
    return first(metrics, "perf/throughput", "Tokens/Sec/GPU")


def responses(metrics: Metrics) -> Whole | None:
    """Responses of a step; None where a factor is missing or the digits leave several whole numbers."""
    total = total_tokens(metrics)
    prompt, response = first(metrics, "prompt_length/mean"), first(metrics, "response_length/mean")
    if total is None or prompt is None or response is None or total <= 0 or prompt + response <= 0:
        return None
    n = total / (prompt + response)
    rounding = _rounding(prompt) + _rounding(response)
    return _whole(n, n * rounding / (prompt + response) + n * REPR_ERROR)


def gpus(metrics: Metrics) -> Whole | None:
    """GPUs of a step, all of its resource pools."""
    total, speed = total_tokens(metrics), throughput(metrics)
    seconds = first(metrics, "perf/time_per_step", "time_per_step", "timing_s/step")
    if total is None or speed is None or seconds is None or min(total, speed, seconds) <= 0:
        return None
    n = total / (speed * seconds)
    return _whole(n, n * (_rounding(speed) / speed + _rounding(seconds) / seconds + REPR_ERROR))


@dataclass(frozen=True, slots=True)
class Agreed:
    """The whole number that most steps give: in how many of how many, and how near to it they come."""

    value: int
    steps: int
    of: int
    off: float

    @property
    def how(self) -> str:
        return f"{self.value} in {self.steps} of {self.of} steps, off by at most {max(self.off, 1e-9):.1g}"


def agreed(found: Iterable[Whole | None]) -> Agreed | None:
    """What the steps agree on; None where none of them gives a whole number."""
    exact = [w for w in found if w is not None and w.exact]
    if not exact:
        return None
    values = [w.value for w in exact]
    best = max(sorted(set(values)), key=values.count)
    return Agreed(best, values.count(best), len(values), max(w.off for w in exact if w.value == best))


def _whole(n: float, within: float) -> Whole | None:
    within = max(within, 1e-6)
    nearest = round(n)
    if nearest < 1 or within > 0.25:
        return None
    return Whole(nearest, abs(n - nearest), within)


def _rounding(value: float) -> float:
    """Half of the last digit of a value that may have been printed with three decimals."""
    return HALF_DIGIT if math.isclose(value, round(value, 3), rel_tol=0, abs_tol=1e-9) else 0.0
