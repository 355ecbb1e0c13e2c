"""Conversion work as small picklable tasks: a file, a byte range, and what to do with it.

(Contract by the lead, used by rollprof/assemble; fill in `plan`.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rollprof.adapters.base import Claim
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

if TYPE_CHECKING:
    import pyarrow as pa

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
    """One unit of work: bytes `lo..hi` of a file (or row groups of a Parquet file)."""

    file: SniffedFile
    claim: Claim
    source: int
    options: ConvertOptions
    lo: int = 0
    hi: int | None = None


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
class ChunkResult:
    """What a worker sends home: batches as an Arrow IPC stream, totals per step, and its ledger."""

    task: ChunkTask
    ipc: bytes
    totals: dict[StepKey, StepTotals]
    ledger: Ledger
    rows: int = 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The record batches (categories as plain strings)."""
        import pyarrow as pa

        if self.ipc:
            yield from pa.ipc.open_stream(self.ipc)


def plan(
    inputs: Sequence[tuple[SniffedFile, Claim, int]], options: ConvertOptions, *, workers: int | None = None
) -> list[ChunkTask]:
    """Tasks in file order; (file, claim, source index) each."""
    raise NotImplementedError
