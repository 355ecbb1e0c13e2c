"""What decoding costs: one decode step of an engine as a linear function of what it decodes.

A step with `B` running rollouts that hold `S` context tokens takes `a + b*B + c*S` seconds: reading the
weights costs the same for any batch (`a`), sampling and the matrix products grow with the batch (`b`),
attention reads the whole KV cache (`c`). `k0` is paid once per generation phase and no remedy scales it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PRIOR_RATIO = 0.015
"""`b/a` where nothing is known: the geometric mean over four GPU runs (.0111 .0167 .0150 .0174)."""

PRIOR_RATIO_RANGE = (0.005, 0.045)
"""A factor of three either way: the range over which an unknown `b/a` is shown."""

CONTEXT_RATIO_RANGE = (4.6e-6, 1.9e-5)
"""`c/a` per context token: 33 ns over 7.2 ms (a 7B model) to 86 ns over 4.5 ms (4B, with a large cache)."""


@dataclass(frozen=True, slots=True)
class DecodeCost:
    """Seconds: `k0` fixed, `a` per step, `b` per running rollout and step, `c` per context token and step.

    All four are finite and not negative (ValueError). In units of decode steps (`a = 1`) only ratios of
    times have a meaning.
    """

    k0: float
    a: float
    b: float
    c: float

    def __post_init__(self) -> None:
        if not all(math.isfinite(x) and x >= 0 for x in (self.k0, self.a, self.b, self.c)):
            raise ValueError(f"decode costs are finite and not negative, got {self}")

    @property
    def ratio(self) -> float:
        """`b/a`; inf where only `b` is known, nan where neither is."""
        if self.a > 0:
            return self.b / self.a
        return math.inf if self.b > 0 else math.nan

    def scaled(self, factor: float) -> DecodeCost:
        """Every cost times `factor`: scales times by `factor` and changes no ratio."""
        return DecodeCost(self.k0 * factor, self.a * factor, self.b * factor, self.c * factor)

    def seconds(
        self, steps: NDArray[np.int64], running: NDArray[np.int64], context: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Seconds of `steps` decode steps during which nothing is admitted or completes.

        `context` is what the `running` rollouts hold in the first of the steps; each grows by a token per
        step, hence `k*(a + b*B + c*S) + c*B*k*(k-1)/2`. Arrays broadcast.
        """
        k = np.asarray(steps, dtype=np.float64)
        growth = running * (k * (k - 1.0) / 2.0)
        return np.asarray(k * (self.a + self.b * running + self.c * context) + self.c * growth)


UNIT_COST = DecodeCost(0.0, 1.0, PRIOR_RATIO, 0.0)
"""The fallback in units of decode steps: times are relative, only ratios may be reported."""
