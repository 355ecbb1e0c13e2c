"""Columns of steps that stand in a file of rollouts: repeated on each rollout of the step, or in records of
their own between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Claim, MetricPart
from rollprof.adapters.generic.aliases import resolve, step_of_name
from rollprof.adapters.generic.metrics import COLUMNS, EVAL, SINGLE, TELLING
from rollprof.adapters.mapping import lookup, split_name
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import MetricRecord, SniffedFile

STEPS_TOO = "steps_too"
"""Hint of a claim of rollouts: columns of steps are in it as well."""
OF_STEP = "of_step"
"""Hint: columns that both tables have, and that hold the step's value here."""
STEP_KEY = "step_key"

BOTH = ("generate_s", "reward_s")
"""Durations of a rollout or of its step, by the same name."""
ENOUGH = 4
"""Rollouts of a step that have to agree before a duration is taken for the step's."""
HEAD_ROWS = 24
OWN = TELLING | {"gpus"}
"""What a rollout's record says of its step."""


def hints_for(file: SniffedFile, named: Mapping[str, str]) -> dict[str, str]:
    """Hints of a file of rollouts (`named`: column -> key) that says something about steps as well."""
    shared = [column for column in BOTH if column in named]
    objects = _head(file) if shared else ()
    of_step = [column for column in shared if _is_of_step(objects, named, column)]
    keys = {key for record in file.objects for key in record} or set(file.columns)
    if not of_step and not OWN & keys:
        return {}
    return {STEPS_TOO: "1", **({OF_STEP: ",".join(of_step)} if of_step else {})}


def beside(claim: Claim, named: Mapping[str, str]) -> tuple[Claim, ...]:
    """The claim on the steps in a file that is claimed as rollouts."""
    if STEPS_TOO not in claim.hints:
        return ()
    hints = {k: claim.hints[k] for k in (STEPS_TOO, OF_STEP) if k in claim.hints}
    if "step" in named:
        hints[STEP_KEY] = named["step"]
    return (Claim(claim.adapter, "metrics", claim.score, "columns of steps among the rollouts", hints=hints),)


@lru_cache(maxsize=1024)
def is_of_a_step(keys: tuple[str, ...]) -> bool:
    """Whether a record with these keys is of a step alone: nothing in it is a rollout's."""
    return not TELLING.isdisjoint(keys) and not SINGLE & resolve(keys).keys()


def read(file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
    """One part with the steps' columns. A column that differs among the rollouts of a step is left out
    there, and noted."""
    part = MetricPart(file, claim)
    of_step = frozenset(filter(None, claim.hints.get(OF_STEP, "").split(",")))
    found: dict[tuple[int, str], dict[str, tuple[float, int]]] = defaultdict(dict)
    differing: dict[str, int] = {}
    step_of = lookup(claim.hints[STEP_KEY]) if STEP_KEY in claim.hints else None
    layouts: dict[tuple[str, ...], tuple[str | None, frozenset[str]]] = {}
    for record, offset in _records(file, claim, of_step):
        step = values.integer(step_of(record)) if step_of else step_of_name(file.stem)
        if step is None:
            continue
        keys = tuple(record)
        if keys not in layouts:
            own = COLUMNS if is_of_a_step(keys) else OWN | of_step
            layouts[keys] = next(iter(resolve(keys).get("split", ())), None), own & record.keys()
        split, wanted = layouts[keys]
        evaluated = split is not None and split_name(record[split]) == "eval"
        known = found[step, EVAL if evaluated else ""]
        for column in wanted:
            value = values.number(record[column])
            if value is not None and known.setdefault(column, (value, offset))[0] != value:
                differing.setdefault(column, offset)
                known[column] = (float("nan"), offset)
    for (step, prefix), known in found.items():
        part.metrics += [
            MetricRecord(step, prefix + column, value, None, offset)
            for column, (value, offset) in known.items()
            if value == value
        ]
    for column, offset in differing.items():
        ledger.note(file.name, offset, f"{column} differs between the rollouts of a step: left out there")
    for column in sorted(of_step):
        ledger.inform(file.name, 0, f"{column} is the same for all rollouts of a step: read as the step's")
    return [part]


def _records(
    file: SniffedFile, claim: Claim, of_step: frozenset[str]
) -> Iterator[tuple[dict[str, Any], int]]:
    from rollprof.sources.lines import read_json
    from rollprof.sources.parquet import read_parquet

    counted = Ledger()  # the rollouts' reader counts the lines
    if file.kind == "parquet":
        step = claim.hints.get(STEP_KEY, "").partition(".")[0]
        split = resolve(file.columns).get("split", ())
        wanted = [c for c in file.columns if c == step or c in split or c in OWN | of_step]
        yield from ((row, 0) for row in read_parquet(file, counted, columns=wanted))
    else:
        yield from ((record.data, record.offset) for record in read_json(file, counted))


def _head(file: SniffedFile) -> Sequence[Mapping[str, Any]]:
    if file.kind != "parquet":
        return file.objects
    from rollprof.sources.parquet import read_parquet

    return list(islice(read_parquet(file, Ledger()), HEAD_ROWS))


def _is_of_step(objects: Sequence[Mapping[str, Any]], named: Mapping[str, str], column: str) -> bool:
    """Whether the head's rollouts of a step all took the same time, though their lengths differ."""
    length = named.get("response_tokens") or named.get("response")
    if length is None or "step" not in named:
        return False
    took: dict[Any, list[float]] = defaultdict(list)
    lengths: dict[Any, set[Any]] = defaultdict(set)
    for record in map(dict, objects):
        step, size = lookup(named["step"])(record), lookup(length)(record)
        value = values.number(lookup(named[column])(record))
        if value is not None and isinstance(size, int | str) and isinstance(step, int | float | str):
            took[step].append(value)
            lengths[step].add(size)
    full = [step for step, times in took.items() if len(times) >= ENOUGH and len(lengths[step]) > 1]
    return bool(full) and all(len(set(times)) == 1 for times in took.values())
