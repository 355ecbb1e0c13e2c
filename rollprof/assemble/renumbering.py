"""Steps of a log that does not say them, from another log of the same run that does.

A console without a progress bar shows metrics in order but not at which steps; a state file of the same
run has the same values with their steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from rollprof.adapters.base import MetricPart
from rollprof.assemble.merge import values_by_step

HINT = "steps"
COUNTED = "counted"
"""`hints[HINT]` of a part whose steps are only the order of its entries."""

Values = Mapping[str, float]
Agree = Callable[[Values, Values], bool]


def renumber(parts: Sequence[MetricPart], agree: Agree) -> list[MetricPart]:
    """The parts, with counted steps replaced where another part has the same values in the same order."""
    exact = [p for p in parts if p.hints.get(HINT) != COUNTED and p.metrics]
    return [_renumbered(p, exact, agree) if p.hints.get(HINT) == COUNTED else p for p in parts]


def _renumbered(part: MetricPart, exact: Sequence[MetricPart], agree: Agree) -> MetricPart:
    own = sorted(values_by_step(part).items())
    for other in exact:
        told = sorted(values_by_step(other).items())
        start = _start(own, told, agree)
        if start is None:
            continue
        steps = _steps(len(own), [step for step, _ in told], start)
        new = {old: step for (old, _), step in zip(own, steps, strict=True)}
        metrics = [r if r.step is None else r._replace(step=new[r.step]) for r in part.metrics]
        hints = {k: v for k, v in part.hints.items() if k != HINT}
        return replace(part, metrics=metrics, hints=hints)
    return part


def _start(own: Sequence[tuple[int, Values]], told: Sequence[tuple[int, Values]], agree: Agree) -> int | None:
    """Where in `told` the first of `own` stands, so that all entries that overlap agree."""
    for start in range(len(told)):
        overlap = list(zip(own, told[start:], strict=False))
        if overlap and all(agree(a, b) for (_, a), (_, b) in overlap):
            return start
    return None


def _steps(count: int, told: Sequence[int], start: int) -> list[int]:
    """Steps of `count` entries; those beyond the end of `told` go on at its distance."""
    known = list(told[start : start + count])
    apart = told[-1] - told[-2] if len(told) > 1 else told[-1]
    return known + [known[-1] + apart * (i + 1) for i in range(count - len(known))]
