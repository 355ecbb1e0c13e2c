"""Conversion work as small tasks: a file, a byte range, and what to do with it; and what comes back.

Tasks and results are plain data, so that they can travel to another process or another machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from rollprof.adapters.base import Claim
from rollprof.schema.ledger import Ledger
from rollprof.sources.parquet import group_sizes
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import keys_of

if TYPE_CHECKING:
    import pyarrow as pa

SMALLEST_CHUNK = 4 << 20
LARGEST_CHUNK = 32 << 20
CHUNKS_PER_WORKER = 4
"""Enough for the workers to finish together, whatever is in the chunks."""

WHOLE_FILE = "whole_file"
"""Hint of a claim: one task reads the file, so that its mapper sees the rows in order."""

StepKey = tuple[int | None, str]
"""(step, split); step None where the log has none."""


@dataclass(frozen=True, slots=True)
class ConvertOptions:
    """What the user and the run say about all rollout files."""

    columns: Mapping[str, str] = field(default_factory=dict)
    tokenizer: str | None = None
    keep_text: bool = False
    hints: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChunkTask:
    """One unit of work: the lines that start at bytes `lo..hi` of a file, or row groups `lo..hi` of a
    Parquet file; to the end without `hi`. `weight`: bytes of the file that this task stands for."""

    file: SniffedFile
    claim: Claim
    source: int
    options: ConvertOptions
    lo: int = 0
    hi: int | None = None
    weight: int = 0


@dataclass(frozen=True, slots=True)
class StepTotals:
    """Sums over the rollouts of one step in one chunk; `with_*` count those that have the value.

    `latest` is the largest start or completion time seen.
    """

    rollouts: int = 0
    chars: int = 0
    chars_max: int | None = None
    with_chars: int = 0
    prompt_chars: int = 0
    with_prompt: int = 0
    tokens: int = 0
    with_tokens: int = 0
    reward: float = 0.0
    with_reward: int = 0
    latest: float | None = None

    def plus(self, other: StepTotals) -> StepTotals:
        """The totals of both together."""

        def largest(a: float | None, b: float | None) -> float | None:
            return b if a is None else a if b is None else max(a, b)

        chars_max = largest(self.chars_max, other.chars_max)
        return StepTotals(
            rollouts=self.rollouts + other.rollouts,
            chars=self.chars + other.chars,
            chars_max=None if chars_max is None else int(chars_max),
            with_chars=self.with_chars + other.with_chars,
            prompt_chars=self.prompt_chars + other.prompt_chars,
            with_prompt=self.with_prompt + other.with_prompt,
            tokens=self.tokens + other.tokens,
            with_tokens=self.with_tokens + other.with_tokens,
            reward=self.reward + other.reward,
            with_reward=self.with_reward + other.with_reward,
            latest=largest(self.latest, other.latest),
        )


@dataclass(slots=True)
class Remark:
    """Something met many times in a chunk: how often, and the byte offset of the first time."""

    count: int
    offset: int


@dataclass(slots=True)
class ChunkResult:
    """What a worker sends home: batches as an Arrow IPC stream, totals per step, and its ledger.

    `remarks` (text -> how often) become one note per file in the ledger of the file's last chunk.
    """

    task: ChunkTask
    ipc: bytes
    totals: dict[StepKey, StepTotals]
    ledger: Ledger
    rows: int = 0
    remarks: dict[str, Remark] = field(default_factory=dict)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The record batches (categories as plain strings)."""
        import pyarrow as pa

        if self.ipc:
            yield from pa.ipc.open_stream(self.ipc)


def plan(
    inputs: Sequence[tuple[SniffedFile, Claim, int]], options: ConvertOptions, *, workers: int | None = None
) -> list[ChunkTask]:
    """Tasks in file order; (file, claim, source index) each.

    Plain JSON lines are cut into byte ranges, large Parquet files into row groups; compressed files and
    JSON documents are read whole, and so is a file whose claim hints `whole_file`. Raises InputProblem
    for a damaged Parquet file.
    """
    chunk = _chunk(sum(file.size for file, _, _ in inputs), workers)
    tasks = []
    for file, claim, source in inputs:
        whole = ChunkTask(_slim(file), claim, source, options, weight=file.size)
        tasks += [
            replace(whole, lo=lo, hi=hi, weight=weight)
            for lo, hi, weight in _ranges(file, chunk, apart=not claim.hints.get(WHOLE_FILE))
        ]
    return tasks


def file_tasks(tasks: Sequence[ChunkTask]) -> list[list[ChunkTask]]:
    """The tasks of each file, in order."""
    return [list(group) for _, group in groupby(tasks, key=lambda task: task.file.path)]


def cut(whole: ChunkTask, lo: int, hi: int, workers: int | None = None) -> list[ChunkTask]:
    """Tasks for the lines that start at bytes `lo..hi` of a plain file, none where there are none."""
    count = -(-(hi - lo) // _chunk(hi - lo, workers))
    cuts = [lo + (hi - lo) * i // count for i in range(count + 1)] if count else []
    return [replace(whole, lo=a, hi=b, weight=b - a) for a, b in pairwise(cuts)]


def _chunk(total: int, workers: int | None) -> int:
    """Bytes of a task, where all tasks together have `total`."""
    return min(LARGEST_CHUNK, max(SMALLEST_CHUNK, total // (CHUNKS_PER_WORKER * (workers or 1))))


def _ranges(file: SniffedFile, chunk: int, *, apart: bool) -> list[tuple[int, int | None, int]]:
    """(lo, hi, bytes) of a file's tasks; the last one goes to the end, wherever that is by then."""
    if apart and file.size > chunk and file.compression == "none":
        if file.kind == "json_lines":
            count = -(-file.size // chunk)
            cuts = [file.size * i // count for i in range(count + 1)]
            return _between(cuts, [b - a for a, b in pairwise(cuts)])
        if file.kind == "parquet":
            return _grouped(group_sizes(file), chunk)
    return [(0, None, file.size)]


def _grouped(sizes: Sequence[int], chunk: int) -> list[tuple[int, int | None, int]]:
    """Row groups put together until they are about a chunk."""
    cuts, weights = [0], [0]
    for group, size in enumerate(sizes):
        if weights[-1] and weights[-1] + size > chunk:
            cuts.append(group)
            weights.append(0)
        weights[-1] += size
    return _between([*cuts, len(sizes)], weights)


def _between(cuts: Sequence[int], weights: Sequence[int]) -> list[tuple[int, int | None, int]]:
    ends: list[int | None] = [*cuts[1:-1], None]
    return list(zip(cuts[:-1], ends, weights, strict=True))


def _slim(file: SniffedFile) -> SniffedFile:
    """The file without its head, and with its keys only: thousands of tasks must stay light."""
    return replace(file, head=b"", objects=(dict.fromkeys(keys_of(file)),) if file.objects else ())
