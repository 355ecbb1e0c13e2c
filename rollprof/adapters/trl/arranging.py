"""What the files of a completions dump mean, which none of them says alone: which repeat an earlier one,
which were overwritten by an evaluation, how large groups are, which columns are rewards.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Claim
from rollprof.adapters.trl import completions, groups, processes
from rollprof.adapters.trl.derived import EVALUATED, FUNCTIONS, LAST_STEP, WEIGHTS
from rollprof.adapters.trl.tables import arrange_tables
from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.columnar import COLUMNAR
from rollprof.sources.parquet_columns import float_columns, read_columns, same_values
from rollprof.sources.records import SniffedFile

Pair = tuple[SniffedFile, Claim]
Config = Mapping[str, Any]

LOOKED_AT = 6
"""Files whose prompts and advantages are looked at where the settings do not say what they mean."""


@dataclass(frozen=True, slots=True)
class Dumped:
    """A file of the dump and the step in its name."""

    file: SniffedFile
    claim: Claim
    step: int


def arrange(files: Sequence[Pair], config: Config, ledger: Ledger) -> list[Pair]:
    """The files to read, each with a claim whose hints tell the mapper what it needs to know."""
    tables = [pair for pair in files if COLUMNAR in pair[1].hints]
    if tables:
        return arrange_tables(tables, config, _weights, _length_hints(config), ledger)
    dumped = sorted(
        (Dumped(file, claim, step_of(file)) for file, claim in files if _readable(file, ledger)),
        key=lambda d: d.step,
    )
    dumped = _of_this_run(dumped, config, ledger)
    fresh = _without_repeats(dumped, ledger)
    evaluated = _evaluated(fresh, config, ledger)
    train = [d for d in fresh if d.step not in evaluated]
    size = groups.group_size([d.file for d in train[:LOOKED_AT]], config)
    shared = _length_hints(config) | _reward_hints(
        [d.file for d in train[:LOOKED_AT] or fresh[:LOOKED_AT]], size, config, ledger
    )
    out: list[Pair] = []
    for d in fresh:
        hints = {**d.claim.hints, **shared}
        rows = d.file.rows or 0
        if d.step in evaluated:
            split, own = _evaluation_hints(rows, evaluated[d.step], size, config)
            out.append((d.file, replace(d.claim, split=split, hints={**hints, **own})))
            continue
        if size and rows % size == 0:
            hints[completions.GROUP_SIZE] = str(size)
        hints |= processes.engine_hints(rows, config)
        out.append((d.file, replace(d.claim, hints=hints)))
    return out


def step_of(file: SniffedFile) -> int:
    """The step in a file's name; 0 without one."""
    match = completions.NUMBERED.search(file.name)
    return int(match.group(1)) if match is not None else 0


def _readable(file: SniffedFile, ledger: Ledger) -> bool:
    problem = file.metadata.get("problem")
    if problem is not None:
        ledger.skip(file.name, 0, f"{problem} (was the run killed while it wrote it?)")
    return problem is None


def _of_this_run(dumped: Sequence[Dumped], config: Config, ledger: Ledger) -> list[Dumped]:
    """Without files beyond the end of a finished run: an earlier one in the same folder left them."""
    last = values.integer(config.get(LAST_STEP))
    if last is None:
        return list(dumped)
    for d in dumped:
        if d.step > last:
            ledger.note(
                d.file.name, 0, f"left out: the run ended at step {last}, an earlier one left this file"
            )
    return [d for d in dumped if d.step <= last]


def _without_repeats(dumped: Sequence[Dumped], ledger: Ledger) -> list[Dumped]:
    """Without files that repeat their predecessor: TRL writes the last generation batch at every log, also
    where no new one was generated."""
    kept: list[Dumped] = []
    for d in dumped:
        if kept and same_values(kept[-1].file, d.file, ignoring=("step",)):
            ledger.dropped += d.file.rows or 0
            ledger.note(
                d.file.name,
                0,
                f"left out: the same completions as {kept[-1].file.name}, logged again without new ones",
            )
            continue
        kept.append(d)
    return kept


def _evaluated(dumped: Sequence[Dumped], config: Config, ledger: Ledger) -> dict[int, int]:
    """Steps whose file an evaluation overwrote -> prompts evaluated (0 unknown)."""
    logged = {
        int(key.removeprefix(EVALUATED)): int(count)
        for key, count in config.items()
        if key.startswith(EVALUATED)
    }
    found = {d.step: logged[d.step] for d in dumped if d.step in logged}
    if not logged and FUNCTIONS not in config:
        found = dict.fromkeys(groups.recurring([(d.step, d.file) for d in dumped]), 0)
    for d in dumped:
        if d.step in found:
            ledger.note(d.file.name, 0, "an evaluation overwrote this step's training completions")
    return found


def _evaluation_hints(
    rows: int, prompts: int, size: int | None, config: Config
) -> tuple[Any, dict[str, str]]:
    """(split of the file, hints): the newest rows are the evaluation's; where it had fewer than the file
    holds, training rows stand before them."""
    own = values.integer(config.get("num_generations_eval")) or size
    count = prompts * own if prompts and own else rows
    if count >= rows or own is None:
        grouped = own is not None and rows % own == 0
        return "eval", {completions.GROUP_SIZE: str(own)} if grouped else {}
    hints = {completions.TRAIN_ROWS: str(rows - count), completions.EVAL_ROWS: str(own)}
    if size and (rows - count) % size == 0:
        hints[completions.GROUP_SIZE] = str(size)
    return "train", hints


def _length_hints(config: Config) -> dict[str, str]:
    """TRL counts the end-of-sequence token, which the decoded text lacks, up to the cap."""
    hints = {completions.END_TOKENS: "1"}
    for name in ("response_cap", "max_completion_length"):
        cap = values.integer(config.get(name))
        if cap is not None and cap > 0:
            hints.setdefault(completions.RESPONSE_CAP, str(cap))
    return hints


def _reward_hints(
    files: Sequence[SniffedFile], size: int | None, config: Config, ledger: Ledger
) -> dict[str, str]:
    """Which columns are rewards, and their weights where they can be known."""
    if not files:
        return {}
    try:
        floats = [n for n in float_columns(files[0]) if n not in completions.TEXTS]
    except InputProblem:
        return {}
    told = {str(n) for n in config.get(FUNCTIONS) or []}
    # In the order of the columns, which is that of the functions: trainer_state.json sorts its keys.
    logged = [n for n in files[0].columns if n in told]
    names = logged or floats
    weights = _weights(names, config)
    if weights is None or not logged:
        checked = _fitting(files, names, size, weights)
        if checked is None and weights is None:
            ledger.note(
                files[0].name,
                0,
                "the advantages are not those of a plain sum of the reward columns and their weights are "
                "not logged: no reward per response, only its components",
            )
        elif checked is not None:
            names, weights = checked
    hints = {completions.REWARDS: json.dumps(names)}
    if weights is not None:
        hints[completions.WEIGHTS] = json.dumps(weights)
    return hints


def _weights(names: Sequence[str], config: Config) -> list[float] | None:
    """The configured weights, else those that the logged means add up with."""
    given = config.get("reward_weights")
    if isinstance(given, list) and all(isinstance(w, int | float) for w in given):
        weights = [float(w) for w in given]
        if len(weights) == len(names) - 1:
            weights.append(1.0)  # an environment's own reward, which TRL appends
        return weights if len(weights) == len(names) else None
    solved = config.get(WEIGHTS)
    if isinstance(solved, dict) and set(solved) == set(names):
        return [float(solved[n]) for n in names]
    return None


def _fitting(
    files: Sequence[SniffedFile], names: Sequence[str], size: int | None, weights: Sequence[float] | None
) -> tuple[list[str], list[float]] | None:
    """The longest run of leading columns whose sum explains the advantages, and its weights.

    Reward columns stand first; numbers that reward functions logged beside them follow. A single column
    needs no proof.
    """
    for count in range(len(names), 0, -1):
        some = list(names[:count])
        tried = list(weights[:count]) if weights is not None else [1.0] * count
        if all(_explains(file, some, tried, size) for file in files):
            return some, tried
    return (list(names), [1.0]) if len(names) == 1 else None


def _explains(file: SniffedFile, names: Sequence[str], weights: Sequence[float], size: int | None) -> bool:
    """Whether in every group the advantages rise with the weighted sums, in proportion to their distance
    from the mean."""
    try:
        columns = read_columns(file, [*names, "advantage"])
    except InputProblem:
        return False
    advantages = columns.get("advantage", [])
    if not advantages or not size or len(advantages) % size:
        return False
    sums = [
        sum(w * v for w, n in zip(weights, names, strict=True) if (v := columns[n][i]) is not None and v == v)
        for i in range(len(advantages))
    ]
    for at in range(0, len(sums), size):
        if not _proportional(sums[at : at + size], advantages[at : at + size]):
            return False
    return True


def _proportional(rewards: Sequence[float], advantages: Sequence[float | None]) -> bool:
    mean = sum(rewards) / len(rewards)
    offsets = [r - mean for r in rewards]
    known = [a if a is not None and math.isfinite(a) else 0.0 for a in advantages]
    size = math.sqrt(sum(o * o for o in offsets) * sum(a * a for a in known))
    if size < 1e-6:  # no spread: then there must be no advantage either
        return sum(a * a for a in known) < 1e-3 * len(known) or sum(o * o for o in offsets) > 1e-9
    return sum(o * a for o, a in zip(offsets, known, strict=True)) > 0.999 * size
