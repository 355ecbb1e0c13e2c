"""Why the parts of a run belong together, in words."""

from __future__ import annotations

from dataclasses import dataclass

from rollprof.adapters.base import MetricPart
from rollprof.assemble.merge import values_by_step
from rollprof.assemble.runs import Candidate, close


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a file is part of a run. `path` is the file or the folder of a dump."""

    path: str
    why: str


def reasons(run: Candidate, candidates: int) -> list[Reason]:
    """One reason for each file or dump of a run; `candidates` is the number of runs there are."""
    stepped = [p for p in run.parts if any(r.step is not None for r in p.metrics)]
    found: dict[str, str] = {}
    for at, part in enumerate(stepped):
        found.setdefault(part.file.name, _of_metrics(part, stepped[:at] + stepped[at + 1 :], candidates))
    for part in run.parts:
        if part not in stepped:
            lone = (
                "nothing else here it could belong to" if candidates == 1 else "lies beside the run's files"
            )
            found.setdefault(part.file.name, f"no steps in it: {lone}")
    for series in run.series:
        why = "its evaluation rollouts, by the folder" if series.split == "eval" and stepped else ""
        agrees = "agrees with the logged counts, rewards or lengths of the same steps"
        found.setdefault(series.name, why or (agrees if stepped else "rollouts without metrics"))
    return [Reason(path, why) for path, why in found.items()]


def _of_metrics(part: MetricPart, others: list[MetricPart], candidates: int) -> str:
    others = [other for other in others if other.file.path != part.file.path]
    for other in others:
        if part.run_id is not None and part.run_id == other.run_id:
            return f"the same run id as {other.file.name} ({part.run_id})"
    mine = values_by_step(part)
    best: tuple[int, int, str] = (0, 0, "")
    for other in others:
        theirs = values_by_step(other)
        steps = values = 0
        for step in mine.keys() & theirs.keys():
            same = sum(close(mine[step][k], theirs[step][k]) for k in mine[step].keys() & theirs[step].keys())
            steps, values = steps + bool(same), values + same
        best = max(best, (values, steps, other.file.name))
    if best[0]:
        return f"{best[0]} values of {best[1]} steps are the same as in {best[2]}"
    return "the only run here" if candidates == 1 else "a run of its own"
