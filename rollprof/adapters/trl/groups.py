"""Groups of a dump whose settings are not logged: from prompts that repeat, checked against advantages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rollprof.adapters import values
from rollprof.errors import InputProblem
from rollprof.sources.parquet_columns import digest_column, read_columns
from rollprof.sources.records import SniffedFile

NEARLY_ZERO = 0.05
"""Mean advantage of a group up to which it counts as centred."""


def group_size(files: Sequence[SniffedFile], config: Mapping[str, Any]) -> int | None:
    """Responses per prompt: the user's word, the setting, else what the rows show. None where they show
    nothing."""
    for key in ("group_size", "num_generations"):
        told = values.integer(config.get(key))
        if told is not None and told > 0:
            return told
    return inferred_size(files)


def inferred_size(files: Sequence[SniffedFile]) -> int | None:
    """The greatest common divisor of the runs of equal prompts.

    Neighbouring groups may share a prompt, so it can be a multiple of the true size: the smallest divisor
    above 1 whose groups are centred (their advantages add up to zero) is taken.
    """
    common = 0
    advantages: list[list[float]] = []
    for file in files:
        try:
            columns = read_columns(file, ["prompt", "advantage"])
        except InputProblem:
            continue
        for _, run in groupby(columns.get("prompt", [])):
            common = math.gcd(common, sum(1 for _ in run))
        advantages.append([a if a is not None else math.nan for a in columns.get("advantage", [])])
    if not common:
        return None
    for size in range(2, common):
        if common % size == 0 and all(_centred(column, size) for column in advantages):
            return size
    return common


def _centred(advantages: Sequence[float], size: int) -> bool:
    if not advantages or any(map(math.isnan, advantages)) or not any(advantages):
        return False
    sums = (sum(advantages[at : at + size]) for at in range(0, len(advantages), size))
    return all(abs(total) <= NEARLY_ZERO * size for total in sums)


def recurring(files: Sequence[tuple[int, SniffedFile]]) -> list[int]:
    """Steps whose files hold the same prompts in the same order, at s, 2s, 3s, …: an evaluation's.

    Shuffled training data never comes back in order. An unshuffled epoch does, but from its first step on
    and with all its files; so only one sequence may recur, among others that do not.
    """
    families: dict[str, list[int]] = {}
    for step, file in files:
        try:
            families.setdefault(digest_column(file, "prompt"), []).append(step)
        except InputProblem:
            continue
    again = [steps for steps in families.values() if len(steps) > 1]
    if len(again) != 1 or 2 * len(again[0]) >= len(files):
        return []
    first = again[0][0]
    regular = first > 1 and again[0] == [first * (i + 1) for i in range(len(again[0]))]
    return again[0] if regular else []
