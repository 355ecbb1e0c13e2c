"""Why a rollout was the last of its step. The rules are few and stated; else `unknown`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.completions import Completions
from rollprof.analyzers.run_data import RunData

Floats = NDArray[np.float64]

HALF = 0.5
"""Tools or queue explain a straggler when they took at least half of its time."""
SLOW = 1.5
"""Slow per token: this many times the time per token of the other long rollouts of its step."""
LONG = 90.0
"""Long: in the longest tenth of its step."""
PEERS = 3
"""Long rollouts needed to say what a normal time per token is."""


def last_of(run: RunData, c: Completions) -> int:
    """Index in `c` of the last rollout to complete; the longest of those that complete together."""
    together = np.flatnonzero(c.finish == c.finish.max())
    lengths = run.rollouts.length[c.at[together]]
    return int(together[0] if np.isnan(lengths).all() else together[np.nanargmax(lengths)])


def cause(run: RunData, c: Completions, k: int) -> str:
    """Why rollout `k` of `c` was the last: the first rule that holds.

    tools: at least half of its time in tools. queued: at least half in the queue, or submitted in the
    second half of the step. slow per token (queued, where there are more rollouts than slots and the
    queue is not logged): 1.5 times the median time per token of the step's longest tenth. truncated: cut
    at the cap. long: itself in the longest tenth, and not all equally long.
    """
    rollouts, at = run.rollouts, int(c.at[k])
    took = float(c.finish[k] - c.start[k])
    L = rollouts.length[c.at]
    if c.basis != "modelled" and took > 0:
        if rollouts.tool is not None and float(rollouts.tool[at]) >= HALF * took:
            return "tools"
        if rollouts.queue is not None and float(rollouts.queue[at]) >= HALF * took:
            return "queued"
        if float(c.start[k]) > HALF * c.end:
            return "queued"
        if _slow(L, c.finish - c.start, k):
            return "queued" if rollouts.queue is None and run.facts.queues(c.of) else "slow per token"
    if rollouts.truncated is not None and rollouts.truncated[at] == 1:
        return "truncated"
    known = L[~np.isnan(L)]
    if len(known) and known.min() < L[k] and L[k] >= np.percentile(known, LONG):
        return "long"
    return "unknown"


def _slow(L: Floats, took: Floats, k: int) -> bool:
    """Whether rollout k took much longer per token than the other rollouts of the step's longest tenth."""
    usable = (L > 0) & (took > 0)
    usable[k] = False
    n = int(usable.sum())
    if not L[k] > 0 or n < PEERS:
        return False
    among = np.flatnonzero(usable)
    most = max(PEERS, n // 10)
    peers = among[np.argpartition(L[among], n - most)[n - most :]]
    return bool(took[k] / L[k] >= SLOW * np.median(took[peers] / L[peers]))
