"""What kind of tail a run has: it decides which remedies can work at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rollprof.stats.icc import icc1
from rollprof.whatif.results import Tail
from rollprof.whatif.workload import Workload

CAPPED_SHARE = 0.10
CAPPED_RATIO = 2.0
RUNAWAY = 6.0
"""Longest over 99th percentile above which single responses run away."""
ALIKE = 0.4
UNLIKE = 0.1
"""ICC of log lengths: responses of a prompt are alike above the first, as if drawn alone below the second."""
LONG = 3.0
"""P99/P50 below which there is no tail to speak of."""
AT_CAP = 0.9
"""Share of the step's longest response from which a truncated one was cut at the step's cap; shorter ones had
limits of their own."""


def tail_of(w: Workload, *, groups_known: bool) -> Tail:
    """Ratios of pooled quantiles, the share cut at the cap, ICC; and what follows from them."""
    L = w.lengths
    p50, p99 = (float(np.quantile(L, q, method="inverted_cdf")) for q in (0.5, 0.99))
    longest, capped = float(L.max()), float(_cut_at_the_cap(w).mean())
    icc = None
    if groups_known and w.grouped:
        step = np.repeat(np.arange(w.n_steps), np.diff(w.first[w.steps]))
        found = icc1(np.log(L), w.group_of, blocks=step, resamples=50)
        icc = None if found is None else found.value
    at_median = longest / p50
    if at_median < CAPPED_RATIO or capped > CAPPED_SHARE:
        kind = "capped"
    elif longest / p99 > RUNAWAY:
        kind = "runaway"
    elif icc is not None and icc >= ALIKE and p99 / p50 > LONG:
        kind = "prompts"
    elif icc is not None and icc <= UNLIKE:
        kind = "responses"
    else:
        kind = "mixed"
    return Tail(at_median, p99 / p50, longest / p99, capped, icc, kind)  # type: ignore[arg-type]


def _cut_at_the_cap(w: Workload) -> NDArray[np.bool_]:
    """Which rollouts (N,) were truncated at about the longest response of their step: a cap for all."""
    rows = w.first[w.steps]
    longest = np.repeat(np.maximum.reduceat(w.lengths, rows[:-1]), np.diff(rows))
    return np.asarray(w.truncated & (w.lengths >= AT_CAP * longest))
