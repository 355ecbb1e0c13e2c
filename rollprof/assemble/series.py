"""Rollout dumps: files that belong together, and a first look at what they hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from rollprof.adapters import registry
from rollprof.adapters.base import Arranger, RolloutSummary
from rollprof.assemble.inputs import Input
from rollprof.errors import RollprofError
from rollprof.parallel.convert import convert_chunk
from rollprof.parallel.tasks import ChunkTask, ConvertOptions, StepTotals, plan
from rollprof.schema.ledger import Ledger

PEEK_BYTES = 8 << 20
PEEK_FILES = 3

StepKey = tuple[int | None, str]


@dataclass(frozen=True, slots=True)
class Series:
    """The files of one dump, in step order. `name` is the folder, or the file."""

    name: str
    adapter: str
    split: Literal["train", "eval"]
    inputs: tuple[Input, ...]

    @property
    def is_copy(self) -> bool:
        """Whether its adapter says that other files would hold the same rollouts."""
        return bool(self.inputs) and "copy" in self.inputs[0].claim.hints


def group_series(inputs: Sequence[Input]) -> list[Series]:
    """Rollout files by the series that their claims name, in the order found."""
    groups: dict[tuple[str, str, str], list[Input]] = {}
    for item in inputs:
        if item.claim.role == "rollouts":
            key = (item.claim.series or item.file.name, item.claim.adapter, item.claim.split)
            groups.setdefault(key, []).append(item)
    return [
        Series(name, adapter, items[0].claim.split, tuple(items))
        for (name, adapter, _), items in groups.items()
    ]


def arranged(series: Series, config: Mapping[str, Any], ledger: Ledger) -> Series:
    """The series as its adapter wants it read: files left out, claims that carry what it learnt."""
    adapter = registry.load(series.adapter)
    if not isinstance(adapter, Arranger):
        return series
    files = adapter.arrange([(i.file, i.claim) for i in series.inputs], config, ledger)
    return replace(series, inputs=tuple(Input(file, claim) for file, claim in files))


def peek(
    series: Series, steps: Collection[int], options: ConvertOptions, config: Mapping[str, Any]
) -> dict[StepKey, RolloutSummary]:
    """Summaries of a few steps of a series, from as little reading as possible.

    `config` is that of the run whose dump it may be: it decides how the dump is read.

    Of a dump with one file per step, files whose step is among `steps`; of a single large file the head,
    without its last step, which the cut may have split.
    """
    summaries: dict[StepKey, RolloutSummary] = {}
    for task, whole in _peek_tasks(series, steps, options, config):
        try:
            totals = convert_chunk(task).totals
        except RollprofError:
            continue  # said again, loudly, if this series is chosen
        keys = list(totals)
        for key in keys if whole else keys[:-1]:
            summaries[key] = summary_of(totals[key])
    return summaries


def _peek_tasks(
    series: Series, steps: Collection[int], options: ConvertOptions, config: Mapping[str, Any]
) -> list[tuple[ChunkTask, bool]]:
    numbered = [i for i in series.inputs if i.file.stem.isdigit() and int(i.file.stem) in steps]
    chosen = numbered or list(series.inputs)
    if len(chosen) > PEEK_FILES:
        chosen = [chosen[0], chosen[len(chosen) // 2], chosen[-2]]
    tasks = []
    for item in arranged(replace(series, inputs=tuple(chosen)), config, Ledger()).inputs:
        task = plan([(item.file, item.claim, 0)], options, workers=1)[0]
        whole = task.hi is None
        if item.file.kind != "parquet" and item.file.size > PEEK_BYTES:
            task, whole = replace(task, hi=PEEK_BYTES), False
        tasks.append((task, whole))
    return tasks


def summary_of(totals: StepTotals) -> RolloutSummary:
    """The averages of one step's totals."""
    return RolloutSummary(
        rollouts=totals.rollouts,
        prompts=0,
        chars_mean=totals.chars / totals.with_chars if totals.with_chars else None,
        chars_max=totals.chars_max,
        tokens_mean=totals.tokens / totals.with_tokens if totals.with_tokens else None,
        reward_mean=totals.reward / totals.with_reward if totals.with_reward else None,
    )
