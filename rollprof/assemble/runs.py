"""Which parts are one run.

Parts join on one run id or on agreeing values at shared steps, never on standing in the same folder
alone. What cannot be told apart is listed, and the user chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rollprof.adapters.base import MetricPart, RolloutSummary
from rollprof.assemble.merge import values_by_step
from rollprof.assemble.renumbering import renumber
from rollprof.assemble.resumes import goes_on, kind_of_id, superseded
from rollprof.assemble.series import Series, StepKey
from rollprof.errors import InputProblem, UsageProblem

SHARED_STEPS_COMPARED = 20
AGREEING_SHARE = 0.9
MIN_AGREEING_KEYS = 3
ROUNDING = 6e-4
"""Absolute: a console line keeps three decimals."""
RELATIVE = 6e-4
"""transformers 5 prints four significant digits."""
MEASURED = ("log/", "bar/")
"""Starts of keys that a reader measured itself (times between lines, bars): as exact as its clock."""
NO_FRAMEWORK = "generic"
"""The adapter of records that a script of one's own may have written beside any framework."""
CHARS_PER_TOKEN = (0.3, 16.0)
"""Weak evidence: characters per token of any language and tokenizer lie in here."""

StepRow = Mapping[str, object]
Peek = Callable[[Series, set[int], Sequence[MetricPart]], Mapping[StepKey, RolloutSummary]]
Rows = Callable[[MetricPart], Sequence[StepRow]]


@dataclass(slots=True)
class Candidate:
    """Parts that belong together. `older` are earlier runs found in the same file."""

    name: str
    parts: list[MetricPart] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    older: int = 0

    @property
    def steps(self) -> int:
        return len({r.step for p in self.parts for r in p.metrics if r.step is not None})

    def describe(self) -> str:
        files = [s.name for s in self.series] + [p.file.name for p in self.parts if p.metrics]
        more = f" and {len(files) - 3} more" if len(files) > 3 else ""
        return f"{self.name}: {', '.join(files[:3])}{more}"


def candidates(
    parts: Sequence[MetricPart], series: Sequence[Series], rows: Rows, peek: Peek
) -> list[Candidate]:
    """Group parts and rollout dumps into runs.

    `rows(part)` gives a part's step rows in the schema's words, `peek(series, steps, parts)` summaries of
    a few of its steps, read as a dump of those parts' run. Each metrics run takes every dump it agrees
    with; two training dumps that claim the same run make two candidates, since only one of them can be it.
    """
    parts = renumber(parts, lambda a, b: _agree([(a, b)]))
    stepped = [p for p in parts if any(r.step is not None for r in p.metrics)]
    runs = [Candidate("", list(group)) for group in _join_parts(stepped)]
    bare = [p for p in parts if p not in stepped]
    training = [s for s in series if s.split == "train"]
    evaluation = [s for s in series if s.split == "eval"]
    found: list[Candidate] = []
    placed: set[int] = set()
    for run in runs:
        steps = {r.step for p in run.parts for r in p.metrics if r.step is not None}
        step_rows = {r["step"]: r for p in run.parts for r in rows(p) if r.get("split", "train") == "train"}
        matching = [
            s
            for s in training
            if _of_one_file(s, run)
            or (_of_one_framework(s, run) and _agrees(peek(s, steps, run.parts), step_rows))
        ]
        placed.update(id(s) for s in matching)
        matching = _without_copies(matching)
        found += [Candidate("", list(run.parts), [s]) for s in matching] or [run]
    found += [Candidate("", [], [s]) for s in _without_copies(training) if id(s) not in placed]
    if not found:
        found = [Candidate("", [], [s]) for s in evaluation[:1]]
        evaluation = evaluation[1:]
    for extra in evaluation:
        _nearest(found, extra.name).series.append(extra)
    for part in bare:
        # A configuration alone belongs to the run only where there is no other it could belong to.
        if not found:
            break
        if len(found) == 1 or all(part.file.path == p.file.path for c in found for p in c.parts):
            found[0].parts.append(part)
            continue
        for candidate in _alone_near(found, part.file.name):
            candidate.parts.append(part)
    if not found and bare:
        found = [Candidate("", list(bare))]
    _set_names(found)
    return found


def _without_copies(dumps: Sequence[Series]) -> list[Series]:
    """The dumps, without those that only repeat another one that is there."""
    originals = [s for s in dumps if not s.is_copy]
    return originals or list(dumps)


def choose(found: Sequence[Candidate], wanted: str | None, shown: str) -> Candidate:
    """The run to analyse. `wanted` is `--run`: a name, or a number counted from 1.

    Raises InputProblem when several runs are there and none was chosen, UsageProblem for an unknown one.
    """
    current = [c for c in found if not c.older]
    if wanted is None:
        if len(current) == 1:
            return current[0]
        listing = "; ".join(c.describe() for c in current[:8])
        more = f"; and {len(current) - 8} more" if len(current) > 8 else ""
        raise InputProblem(
            f"{shown}: {len(current)} runs there: {listing}{more}",
            hint="choose one with --run NAME; parts of one run are joined by a run id or by values that "
            "agree at the same steps, such as a mean length or reward",
        )
    for candidate in found:
        if candidate.name == wanted:
            return candidate
    if wanted.isdigit() and 1 <= int(wanted) <= len(found):
        return found[int(wanted) - 1]
    raise UsageProblem(
        f"no run {wanted!r} in {shown}", hint=f"there are: {', '.join(c.name for c in found[:12])}"
    )


def _join_parts(parts: Sequence[MetricPart]) -> list[list[MetricPart]]:
    """Groups of parts of one run. A part that agrees with several groups joins them, unless these overlap
    and are known to be different runs."""
    groups: list[list[MetricPart]] = []
    values = {id(p): values_by_step(p) for p in parts}

    def same(a: MetricPart, b: MetricPart) -> bool:
        return _same_run(a, b, values[id(a)], values[id(b)])

    for part in parts:
        home: list[MetricPart] | None = None
        for group in list(groups):
            if not any(same(part, other) for other in group):
                continue
            if home is None:
                home = group
                home.append(part)
            elif not any(_apart(a, b, values[id(a)], values[id(b)]) for a in home for b in group):
                home += group
                groups.remove(group)
        if home is None:
            groups.append([part])
    return groups


def _apart(
    a: MetricPart,
    b: MetricPart,
    a_values: Mapping[int, Mapping[str, float]],
    b_values: Mapping[int, Mapping[str, float]],
) -> bool:
    """True for parts that cannot be one run: two runs of a file, or of a tracker, with steps in common."""
    if a.file.path == b.file.path and a.label != b.label:
        return True
    if not _comparable_ids(a, b):
        return False
    if a.run_id == b.run_id:
        return superseded(a, b) or superseded(b, a)
    return bool(a_values.keys() & b_values.keys()) and not goes_on(a, b)


def _comparable_ids(a: MetricPart, b: MetricPart) -> bool:
    """Whether the run ids are of one kind: those of two trackers name the same run differently."""
    return kind_of_id(a) is not None and kind_of_id(a) == kind_of_id(b)


def _same_run(
    a: MetricPart,
    b: MetricPart,
    a_values: Mapping[int, Mapping[str, float]],
    b_values: Mapping[int, Mapping[str, float]],
) -> bool:
    if _comparable_ids(a, b):
        if a.run_id != b.run_id:
            return goes_on(a, b)
        return not superseded(a, b) and not superseded(b, a)
    if a.file.path == b.file.path:
        return False  # its reader told them apart
    shared = sorted(a_values.keys() & b_values.keys())[:SHARED_STEPS_COMPARED]
    return _agree((a_values[step], b_values[step]) for step in shared)


def _agree(pairs: Iterable[tuple[Mapping[str, float], Mapping[str, float]]]) -> bool:
    """Whether the values that both sides have are the same ones, and enough."""
    agreeing = compared = 0
    for one, other in pairs:
        for key in one.keys() & other.keys():
            x, y = one[key], other[key]
            if key.startswith(MEASURED):
                continue
            if math.isnan(x) or math.isnan(y) or max(abs(x), abs(y)) < ROUNDING:
                continue  # numbers that every run has say nothing about which one this is
            compared += 1
            agreeing += close(x, y)
    return compared >= MIN_AGREEING_KEYS and agreeing >= AGREEING_SHARE * compared


def close(x: float, y: float) -> bool:
    """Equal up to the three decimals that the least exact sink keeps."""
    return x == y or abs(x - y) <= ROUNDING + RELATIVE * max(abs(x), abs(y))


def _of_one_file(series: Series, run: Candidate) -> bool:
    """Whether rollouts and metrics were read from the same file."""
    return not {i.file.path for i in series.inputs}.isdisjoint(p.file.path for p in run.parts if p.metrics)


def _of_one_framework(series: Series, run: Candidate) -> bool:
    """False for a dump and metrics that two frameworks wrote: equal counts say nothing then."""
    theirs = {p.claim.adapter for p in run.parts} - {NO_FRAMEWORK}
    return series.adapter == NO_FRAMEWORK or not theirs or series.adapter in theirs


def _agrees(summaries: Mapping[StepKey, RolloutSummary], rows: Mapping[object, StepRow]) -> bool:
    """True when a dump's summaries agree with the metrics at some shared step.

    Strong evidence (the mean reward, the count, exact token means) decides; a reward that disagrees alone
    does not part them, since a reward function may overwrite the dumped score.
    """
    strong: list[bool] = []
    weak: list[bool] = []
    for (step, split), summary in summaries.items():
        row = rows.get(step)
        if row is None or split == "eval":
            continue
        # A row that is the mean of several generations cannot be told by the one that the dump holds.
        several = isinstance(row.get("generations"), int | float)
        for mine, column in (
            (None if several else summary.reward_mean, "reward_mean"),
            (float(summary.rollouts), "rollouts"),
            (None if several else summary.tokens_mean, "response_tokens_mean"),
        ):
            logged = row.get(column)
            if mine is not None and isinstance(logged, int | float) and not math.isnan(logged):
                strong.append(close(mine, float(logged)))
        logged = row.get("response_tokens_mean")
        if summary.chars_mean and isinstance(logged, int | float) and logged > 0:
            weak.append(CHARS_PER_TOKEN[0] <= summary.chars_mean / logged <= CHARS_PER_TOKEN[1])
    if strong:
        return any(strong) and all(weak)
    return bool(weak) and all(weak)


def _nearest(found: Sequence[Candidate], name: str) -> Candidate:
    """The candidate that shares the longest path with `name`."""
    return max(found, key=lambda c: _shared_path(c, c.parts, name))


def _alone_near(found: Sequence[Candidate], name: str) -> list[Candidate]:
    """The candidates in whose folder `name` lies, where others lie elsewhere."""
    depths = [_shared_path(c, [p for p in c.parts if p.metrics], name) for c in found]
    return [c for c, d in zip(found, depths, strict=True) if d == max(depths) > min(depths)]


def _shared_path(candidate: Candidate, parts: Sequence[MetricPart], name: str) -> int:
    """How many folders `name` has in common with the dumps of a candidate and with `parts` of it."""
    names = [s.name for s in candidate.series] + [p.file.name for p in parts]
    return max((_common(name, n) for n in names), default=0)


def _common(a: str, b: str) -> int:
    n = 0
    for x, y in zip(a.split("/"), b.split("/"), strict=False):
        if x != y:
            break
        n += 1
    return n


def _set_names(found: Sequence[Candidate]) -> None:
    """Name each candidate after what tells it apart; earlier runs of a file are `FILE#1`, `FILE#2`."""
    last: dict[str, int] = {}
    for i, candidate in enumerate(found):
        if candidate.parts and candidate.parts[0].label:
            last[candidate.parts[0].file.path] = i
    for i, candidate in enumerate(found):
        part = candidate.parts[0] if candidate.parts else None
        name = candidate.series[0].name if candidate.series else part.file.name if part else "run"
        named = next((p.name for p in candidate.parts if p.run_id and p.name), None)
        if named is not None:
            name = named
        elif part and part.run_id and ":" not in part.run_id:
            name = part.run_id
        elif part and part.label and last.get(part.file.path) != i:
            name, candidate.older = f"{name}#{part.label}", 1
        if any(
            superseded(p, q) for c in found if c is not candidate for p in candidate.parts for q in c.parts
        ):
            candidate.older = 1  # its folder was used again
        taken = {c.name for c in found[:i]}
        candidate.name = name if name not in taken else f"{name}@{i + 1}"
