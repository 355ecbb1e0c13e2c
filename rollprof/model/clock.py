"""Idle as a clock saw it: from the submission and completion of every rollout. Nothing is modelled here."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollprof.stats.quantiles import nearest_rank

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ClockIdle:
    """`duration` T in seconds, from the first submission to the last completion.

    `in_flight[i]` rollouts are submitted and not complete from `time_s[i]` (seconds after the first
    submission) until `time_s[i+1]`; the last entry is 0 at T. `n` rollouts counted, `left_out` lack a time
    or end before they start. `slot_idle` is nan where no time passes.
    """

    duration: float
    slot_idle: float
    time_s: Floats
    in_flight: NDArray[np.int64]
    n: int
    left_out: int


def clock_idle(start: ArrayLike, end: ArrayLike, capacity: float) -> ClockIdle:
    """`slot_idle = 1 - integral of min(n(t), C) dt / (C*T)`; O(N log N).

    `start`, `end` (N,) in seconds on one clock; `capacity` is `C = min(N, E*max_num_seqs)`. With a queue a
    rollout counts from its submission, hence the min. ValueError for a capacity below 1.
    """
    if not capacity >= 1:
        raise ValueError(f"capacity must be at least 1, got {capacity}")
    s, e = _pair(start, end)
    good = np.isfinite(s) & np.isfinite(e) & (e >= s)
    s, e = s[good], e[good]
    left_out = int((~good).sum())
    if not len(s):
        return ClockIdle(math.nan, math.nan, np.empty(0), np.empty(0, np.int64), 0, left_out)
    at = np.concatenate([s, e])
    order = np.argsort(at, kind="stable")
    at = at[order] - at[order[0]]
    n = np.cumsum(np.where(order < len(s), 1, -1))
    last_of_tie = np.append(at[1:] != at[:-1], True)
    time_s, n = at[last_of_tie], n[last_of_tie]
    T = float(time_s[-1])
    used = float(np.minimum(n[:-1], capacity) @ np.diff(time_s))
    idle = 1.0 - used / (capacity * T) if T > 0 else math.nan
    return ClockIdle(T, idle, time_s, n, len(s), left_out)


def engine_idle(start: ArrayLike, end: ArrayLike, engine: ArrayLike, engines: int | None = None) -> float:
    """`1 - sum(T_e)/(E*T)`, `T_e` from the first submission to any engine to the last completion on `e`.

    `engine` (N,) are labels of any kind; `engines` is E where some engines served nothing and have no
    label. Rollouts that lack a time are left out; nan where no time passes. ValueError for fewer engines
    than labels.
    """
    s, e = _pair(start, end)
    labels = np.unique(np.asarray(engine), return_inverse=True)[1].ravel()
    if labels.shape != s.shape:
        raise ValueError("one engine label per rollout")
    good = np.isfinite(s) & np.isfinite(e) & (e >= s)
    if not good.any():
        return math.nan
    E = int(labels.max()) + 1
    if engines is not None and engines < E:
        raise ValueError(f"{E} engine labels but {engines} engines")
    done = np.zeros(E)
    np.maximum.at(done, labels[good], e[good] - s[good].min())
    T = float(done.max())
    return 1.0 - float(done.sum()) / ((engines or E) * T) if T > 0 else math.nan


def t90(end: ArrayLike, start: float = 0.0, share: float = 0.9) -> float:
    """Seconds after `start` when 90 % of the rollouts are complete (nearest rank); nan without any."""
    e = np.asarray(end, dtype=np.float64)
    return nearest_rank(e[np.isfinite(e)], share) - start


def _pair(start: ArrayLike, end: ArrayLike) -> tuple[Floats, Floats]:
    s, e = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    if s.shape != e.shape or s.ndim != 1:
        raise ValueError("start and end are flat arrays of the same length")
    return s, e
