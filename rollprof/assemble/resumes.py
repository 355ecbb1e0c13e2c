"""Files that one tracker wrote one after the other: a run that was resumed, or a folder that was used again.

A resumed run goes back to its last checkpoint. What the earlier file holds beyond the step at which the later
one begins was trained again, and no longer counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from rollprof.adapters.base import MetricPart
from rollprof.assemble.merge import first_time, last_time
from rollprof.schema.ledger import Ledger

MIN_SETTINGS = 5
"""Equal settings that it takes to say that a run with another id goes on where one stopped."""
DERIVED = "log."
"""Settings that a reader derived from the metrics."""


def kind_of_id(part: MetricPart) -> str | None:
    """Who gave the run its id: `wandb`, `tensorboard`, …; None without one."""
    if part.run_id is None:
        return None
    return part.run_id.partition(":")[0] if ":" in part.run_id else ""


def in_turn(a: MetricPart, b: MetricPart) -> tuple[MetricPart, MetricPart] | None:
    """(earlier, later) where one file was begun after the other had ended; None where they overlap in time or
    have no clock. Two writers at once (a file per role) are not in turn."""
    if a.file.path == b.file.path:
        return None
    earlier, later = (a, b) if first_time(a) <= first_time(b) else (b, a)
    if not last_time(earlier) or math.isinf(first_time(later)) or first_time(later) < last_time(earlier):
        return None
    return earlier, later


def superseded(a: MetricPart, b: MetricPart) -> bool:
    """True where `b` has the id of `a` and was written after it, from the first step on: a new run."""
    turn = in_turn(a, b)
    if turn is None or a.run_id is None or a.run_id != b.run_id:
        return False
    return turn[0] is a and first_step(b) <= first_step(a)


def goes_on(a: MetricPart, b: MetricPart) -> bool:
    """True where one of two files of different ids resumes the other: begun after it, with the same settings,
    at a step that it had nearly reached or had passed."""
    turn = in_turn(a, b)
    if turn is None or kind_of_id(a) != kind_of_id(b) or a.claim.adapter != b.claim.adapter:
        return False
    earlier, later = turn
    settings = [{k: v for k, v in p.config.items() if not k.startswith(DERIVED)} for p in turn]
    if len(settings[0]) < MIN_SETTINGS or settings[0] != settings[1]:
        return False
    steps = sorted({r.step for r in earlier.metrics if r.step is not None})
    stride = min((y - x for x, y in pairwise(steps)), default=1)
    return steps[0] < first_step(later) <= steps[-1] + stride


def without_voided(parts: Sequence[MetricPart], ledger: Ledger) -> list[MetricPart]:
    """The parts of a run, without what a resume made void."""
    out: list[MetricPart] = []
    for part in parts:
        cuts = [first_step(other) for other in parts if _resumed_by(part, other)]
        cut = min(cuts, default=None)
        lost = {r.step for r in part.metrics if cut is not None and r.step is not None and r.step > cut}
        if cut is not None and lost:
            shown = f"steps {min(lost)} to {max(lost)}" if len(lost) > 1 else f"step {min(lost)}"
            ledger.note(part.file.name, 0, f"resumed at step {cut}: {shown} of this file no longer count")
            kept = [r for r in part.metrics if r.step is None or r.step <= cut]
            part = replace(part, metrics=kept)
        out.append(part)
    return out


def first_step(part: MetricPart) -> int:
    """The first step that a part has."""
    return min((r.step for r in part.metrics if r.step is not None), default=0)


def _resumed_by(part: MetricPart, other: MetricPart) -> bool:
    """Whether `other` is a later file of the same tracker (of one run by now)."""
    if part.claim.role != "metrics" or other.claim.role != "metrics":
        return False
    if kind_of_id(part) is None or kind_of_id(part) != kind_of_id(other):
        return False
    turn = in_turn(part, other)
    return turn is not None and turn[0] is part and first_step(other) > first_step(part)
