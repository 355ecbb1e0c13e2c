"""A run that is being written: looked at again and again, read again when something changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rollprof.assemble.build import BuildOptions, build, planned
from rollprof.assemble.survey import no_step, survey
from rollprof.errors import InputProblem
from rollprof.schema.store import Dataset
from rollprof.sources.tree import stamps

INTERVAL_S = 2.0
SLOWER, SLOWEST = 1.25, 5.0
"""While nothing changes the time between looks grows by SLOWER, to SLOWEST times the interval."""

NOTHING_YET = "nothing to read yet"


@dataclass(frozen=True, slots=True)
class Look:
    """What a look found. `dataset`: read anew at this look, None where nothing changed or nothing can be
    read yet; `problem`: why not. `size`: bytes of all files."""

    dataset: Dataset | None
    problem: str | None
    files: int
    size: int


def follow(
    arguments: Sequence[str],
    options: BuildOptions,
    target: str,
    *,
    interval: float = INTERVAL_S,
    force: bool = False,
    workers: int | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Look]:
    """Looks without end, `interval` seconds apart or more; each dataset replaces the one before in one move.

    After a reading that took longer than the interval as much time passes again, so that a slow disk is busy
    half of the time at most. Whatever is not there yet is waited for; several runs where none was chosen
    are an InputProblem, as are other errors of the input that time will not heal.
    """
    known: object = None
    problem: str | None = NOTHING_YET
    pause = interval
    while True:
        began = time.monotonic()
        now = stamps(arguments)
        dataset = None
        changed = now != known
        if changed:
            known = now
            try:
                dataset, problem = (
                    _read(arguments, options, target, force, workers) if now else (None, NOTHING_YET)
                )
            except OSError as error:  # a file went while it was read
                known, problem = None, str(error.strerror or error)
        yield Look(dataset, problem, len(now), sum(size for _, size, _, _ in now))
        pause = interval if changed else min(pause * SLOWER, SLOWEST * interval)
        sleep(max(pause, time.monotonic() - began if changed else 0.0))


def _read(
    arguments: Sequence[str], options: BuildOptions, target: str, force: bool, workers: int | None
) -> tuple[Dataset | None, str | None]:
    try:
        found = survey(arguments, options.framework, options.columns, follow=True)
        if not found.usable:
            raise no_step(", ".join(found.arguments), found)
    except InputProblem as error:
        return None, error.message
    plan = planned(found, options)
    try:
        return build(plan, target, force=force, workers=workers, keep_parts=True), None
    except InputProblem as error:
        return None, error.message
