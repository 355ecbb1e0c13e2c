"""Which steps generated, alone or for others, and which have a barrier to measure against.

A step that is served from a buffer was generated with the step before it: the two are pooled. A step that
generated in several rounds has an end of its own for each round, which no log tells. An asynchronous run
has no barrier at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.run_data import RunData

Floats = NDArray[np.float64]

BUFFERED = 0.01
"""A generation call this much shorter than the run's longer ones did not generate: OpenRLHF takes
0.0006 s to serve from its buffer and 2 s to generate."""
OVERLAPPING = 0.1
"""Share of neighbouring steps whose rollouts may overlap in time before the run is taken as asynchronous."""
TOUCH = 0.01
"""Overlap, as a share of the step, that is only clocks and rounding."""

ASYNC = "asynchronous run: no barrier to wait for"
OVERLAP = "rollouts of neighbouring steps overlap: no barrier to wait for"
ROUNDS = "generated in several rounds: the end of each is not logged"
UNFILLED = "served from a buffer that was filled before the log begins"


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation phase: that of `run.steps[index]`, which also served the later steps of `members`.

    `span` is where its rollouts lie in `run.rollouts`; `generate_s` and `step_s` are summed over members,
    NaN when unknown; `reason` says why its figures of waiting are absent, "" when they are not.
    """

    index: int
    members: tuple[int, ...]
    span: slice | None
    generate_s: float
    step_s: float
    reason: str = ""

    @property
    def pooled(self) -> bool:
        """It served more than one step."""
        return len(self.members) > 1


def generations(run: RunData) -> list[Generation]:
    """The generation phases of a run, in step order. Every step is a member of exactly one."""
    buffered = _buffered(run)
    rounds, took, step_s = (run.column(c) for c in ("gen_batches", "generate_s", "step_s"))
    found = []
    for members in _groups(run, buffered):
        index, rows = members[0], list(members)
        reason = ""
        if run.facts.mode == "async":
            reason = ASYNC
        elif (rounds[rows] > 1).any():
            reason = ROUNDS
        elif buffered[index]:
            reason = UNFILLED
        span = _span(run, members)
        found.append(Generation(index, members, span, _sum(took[rows]), _sum(step_s[rows]), reason))
    return _without_barrier(run, found)


def _buffered(run: RunData) -> NDArray[np.bool_]:
    took = run.column("generate_s")
    known = took[~np.isnan(took)]
    if len(known) < 2:
        return np.zeros(len(run), dtype=bool)
    long = float(np.quantile(known, 0.9))
    return np.nan_to_num(took, nan=np.inf) < BUFFERED * long


def _groups(run: RunData, buffered: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    groups: list[list[int]] = []
    pool = run.facts.mode != "async"
    for i, served in enumerate(buffered.tolist()):
        if served and pool and groups:
            groups[-1].append(i)
        else:
            groups.append([i])
    return [tuple(g) for g in groups]


def _span(run: RunData, members: tuple[int, ...]) -> slice | None:
    spans = [run.slices[i] for i in members if i in run.slices]
    return slice(spans[0].start, spans[-1].stop) if spans else None


def _sum(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.sum()) if len(known) else float("nan")


def _without_barrier(run: RunData, found: list[Generation]) -> list[Generation]:
    """The same generations, marked where the rollouts of neighbours overlap too often for a barrier."""
    start, finish = run.rollouts.start, run.rollouts.finish
    timed = [g for g in found if g.span is not None and not g.reason]
    if start is None or finish is None or len(timed) < 2:
        return found
    first = np.array([_least(start[g.span]) for g in timed if g.span is not None])
    last = np.array([-_least(-finish[g.span]) for g in timed if g.span is not None])
    took = last - first
    later = np.diff(first) > TOUCH * took[:-1]
    if run.meta.get("clock") == "relative" and not later.mean() > 0.5:
        return found  # each step counts from its own zero
    overlaps = first[1:] < last[:-1] - TOUCH * took[:-1]
    if not overlaps.mean() > OVERLAPPING:
        return found
    return [
        g if g.reason else Generation(g.index, g.members, g.span, g.generate_s, g.step_s, OVERLAP)
        for g in found
    ]


def _least(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.min()) if len(known) else float("nan")
