"""How far two distributions are apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def ks_distance(one: NDArray[np.generic], other: NDArray[np.generic]) -> float:
    """Kolmogorov-Smirnov distance of two sorted samples, shapes (n,) and (m,), n and m >= 1: the largest
    difference of their cumulative shares."""
    both = np.concatenate([one, other])
    shares = (np.searchsorted(x, both, side="right") / len(x) for x in (one, other))
    return float(np.abs(np.subtract(*shares)).max())
