"""Which steps of a very long run are replayed: all of them, or a systematic sample of stated size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.generations import Generation
from rollprof.analyzers.run_data import RunData

MOST_ROLLOUTS = 1_200_000
"""A run with more rollouts is replayed in part, unless the user says how many steps."""
SAMPLED_ROLLOUTS = 200_000
"""About as many rollouts are then replayed."""
FEWEST_STEPS = 60
"""Of few and large steps so many are replayed, whatever their rollouts."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """The `phases` that are replayed, and `of` how many generation phases the run has."""

    phases: Sequence[Generation]
    of: int

    @property
    def note(self) -> str:
        """What the reader must know of a sample; "" where there is none."""
        if len(self.phases) >= self.of:
            return ""
        return (
            f"{len(self.phases):,} of {self.of:,} steps are replayed, evenly spaced over the run; intervals "
            "are those of a sample of steps (--sample N replays more)"
        )


def sampled(run: RunData, phases: Sequence[Generation], asked: int | None) -> Sampled:
    """The phases to replay: `asked` of them, or as many as a very long run affords, evenly spaced over the
    run (each in the middle of its stretch); all where that is no fewer."""
    counts = _rollouts(run, phases)
    usable = [g for g, n in zip(phases, counts.tolist(), strict=True) if n > 0]
    wanted = asked if asked is not None else _affordable(counts)
    if wanted >= len(usable):
        return Sampled(phases, len(phases))
    middle = (np.arange(wanted) + 0.5) * (len(usable) / wanted)
    return Sampled([usable[i] for i in middle.astype(np.int64).tolist()], len(usable))


def _rollouts(run: RunData, phases: Sequence[Generation]) -> NDArray[np.float64]:
    """Rollouts of each phase: rows, or as logged where only aggregates stand in."""
    if len(run.rollouts):
        return np.array([g.span.stop - g.span.start if g.span is not None else 0.0 for g in phases])
    logged = run.counts()[[g.index for g in phases]]
    return np.where(logged > 0, logged, run.facts.responses_per_step or 1.0)


def _affordable(counts: NDArray[np.float64]) -> int:
    steps, total = int((counts > 0).sum()), float(counts.sum())
    if not total > MOST_ROLLOUTS:
        return steps
    return max(FEWEST_STEPS, round(steps * SAMPLED_ROLLOUTS / total))
