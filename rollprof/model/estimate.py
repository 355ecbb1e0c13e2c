"""A value that is not known exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

ENDS = (0.05, 0.5, 0.95)


class Estimate(NamedTuple):
    """`value` with its 90 % interval; all nan where nothing can be said."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: ArrayLike) -> Estimate:
        """Median, 5 % and 95 % quantile of equally likely values."""
        return cls.of_rows([draws])[0]

    @classmethod
    def of_rows(cls, draws: Sequence[ArrayLike]) -> list[Estimate]:
        """The same of each of several sets of as many values, in one go."""
        rows = np.asarray(draws, dtype=np.float64)
        return [cls(value, low, high) for low, value, high in np.quantile(rows, ENDS, axis=1).T.tolist()]

    def within(self, at_least: float, at_most: float) -> Estimate:
        """Moved inside bounds that are known better than the estimate; nan bounds are none."""
        low = -math.inf if math.isnan(at_least) else at_least
        high = math.inf if math.isnan(at_most) else at_most
        return Estimate(*(x if math.isnan(x) else min(max(x, low), high) for x in self))
