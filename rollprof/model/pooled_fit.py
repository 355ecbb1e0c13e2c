"""One decode cost for several steps, from the completion times of their rollouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rollprof.model.decode import DecodeCost
from rollprof.model.rollout_fit import CONTEXT_PER_A, Progress, progress_of, solve
from rollprof.model.schedule import Floats, whole_prompts, whole_tokens


@dataclass(frozen=True, slots=True)
class TimedStep:
    """Completion times of one step, in the order of completion, with what its engines had done by then."""

    seconds: Floats
    progress: Progress

    @property
    def scale(self) -> float:
        """The mean completion time: steps count the same, however long they took."""
        return float(self.seconds.mean())


def timed_step(
    finish: ArrayLike,
    lengths: ArrayLike,
    prompts: ArrayLike | None = None,
    start: ArrayLike | None = None,
    slots: int | None = None,
    engines: int | ArrayLike = 1,
) -> TimedStep | None:
    """Arguments as of `rollout_fit.fit_rollouts`; None without a completion after the start."""
    L = whole_tokens(lengths)
    end = np.asarray(finish, dtype=np.float64)
    begin = np.zeros(len(L)) if start is None else np.asarray(start, dtype=np.float64)
    first = float(np.min(begin, where=np.isfinite(begin), initial=math.inf))
    queue = np.argsort(begin, kind="stable")
    seconds = (end - first)[queue]
    progress = progress_of(L[queue], whole_prompts(prompts, len(L))[queue], slots, engines, queue)
    usable = np.flatnonzero(np.isfinite(seconds) & (seconds > 0))
    if not len(usable):
        return None
    order = usable[np.argsort(seconds[usable], kind="stable")]
    return TimedStep(seconds[order], progress.at(order))


def pooled_cost(steps: Sequence[TimedStep], *, with_context: bool) -> DecodeCost:
    """Non-negative least squares of `f = k0 + a*m + b*W(m)` over the rollouts of all steps at once, each step
    divided by its mean completion time; the context as in `fit_rollouts`. Zero without steps."""
    if not steps:
        return DecodeCost(0.0, 0.0, 0.0, 0.0)
    target = np.concatenate([s.seconds / s.scale for s in steps])
    best: tuple[float, Floats, float] | None = None
    for per_a in CONTEXT_PER_A if with_context else (0.0,):
        X = np.concatenate([s.progress.columns(per_a) / s.scale for s in steps])
        solution = solve(X, target)
        off = float(((X @ solution - target) ** 2).sum())
        if best is None or off < best[0]:
            best = (off, solution, per_a)
    assert best is not None
    k0, a, b = best[1].tolist()
    return DecodeCost(k0, a, b, best[2] * a)
