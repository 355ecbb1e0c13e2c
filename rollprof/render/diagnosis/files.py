"""Files of a diagnosis as lines: those of one dump stand on one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rollprof.doctor.results import Source
from rollprof.render.numbers import plural
from rollprof.render.summary.page import joined

LINES = 24
PRECISION = {"exact": "every digit", "float32": "7 digits", "printed": "printed digits"}


@dataclass(frozen=True, slots=True)
class FileLine:
    """One file, or several of one dump: `name`, what they are, and why they were taken for that."""

    name: str
    what: str
    why: str
    source: Source
    """The first of them."""


def together(sources: Sequence[Source]) -> list[FileLine]:
    """One line for each file, or for each folder of rollouts of one kind, in the order given."""
    groups: dict[tuple[str, ...], list[Source]] = {}
    for source in sources:
        alone = source.path if source.role != "rollouts" else source.path.rpartition("/")[0] or source.path
        key = (alone, source.role, source.adapter, source.split, source.why)
        groups.setdefault(key, []).append(source)
    return [_line(group) for group in groups.values()]


def _line(group: Sequence[Source]) -> FileLine:
    first, last = group[0], group[-1]
    name = first.path if first is last else f"{first.path} … {last.path.rpartition('/')[2]}"
    steps = [s for source in group for s in (source.first_step, source.last_step) if s is not None]
    what = joined(
        (
            first.adapter,
            first.sink or first.role,
            "evaluation" if first.split == "eval" else "",
            plural(len(group), "file") if len(group) > 1 else "",
            _steps(sum(s.steps for s in group), steps),
            PRECISION.get(first.precision, ""),
            plural(sum(s.samples for s in group), "sample") if any(s.samples for s in group) else "",
        )
    )
    return FileLine(name, what, first.why, first)


def _steps(count: int, ends: Sequence[int]) -> str:
    if not count:
        return ""
    low, high = min(ends), max(ends)
    return f"step {low}" if low == high else f"{plural(count, 'step')}, {low} to {high}"
