"""The quantile of definitions that speak of rollouts, not of interpolated values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def nearest_rank(values: ArrayLike, share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed; nan without values.

    Always one of the values, which an interpolated quantile is not: "90 % of the rollouts are done" is true
    at that moment. `share` in (0, 1].
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    if not array.size:
        return math.nan
    # 0.9*10 is 9.000000000000002 in floats and would ask for the tenth
    rank = max(math.ceil(share * array.size - 1e-9), 1)
    return float(np.partition(array, rank - 1)[rank - 1])
