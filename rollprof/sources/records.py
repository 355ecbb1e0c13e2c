"""What sources hand to adapters. Plain, small, picklable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

FileKind = Literal["json_lines", "json_document", "parquet", "text", "binary", "empty"]


class JsonRecord(NamedTuple):
    """One JSON object as logged. `offset`: byte offset of its first byte in the (decompressed) file."""

    data: dict[str, Any]
    offset: int


class TextLine(NamedTuple):
    """One logical line of console text, cleaned of ANSI, carriage returns and Ray's prefix.

    `actor` is the name in Ray's prefix (`TaskRunner`, `main_task`, "" without one), `pid` its process
    (0 without one), `time` epoch seconds where the line carries a clock (None otherwise), `lines` the
    physical lines it was put together from (0 for the later ones of several that stood on one), `complete`
    false when the file ends without a newline inside it, `repaired` true when the ledger already counts
    it so.
    """

    text: str
    actor: str
    pid: int
    time: float | None
    offset: int
    lines: int
    complete: bool
    repaired: bool = False


class MetricRecord(NamedTuple):
    """One scalar as it stood. `step` None when the line does not carry one."""

    step: int | None
    key: str
    value: float
    time: float | None
    offset: int


class EngineSample(NamedTuple):
    """State of one inference engine at one moment (columns of engines.parquet)."""

    time: float
    engine: str
    running: float | None
    waiting: float | None
    prompt_tokens_s: float | None
    generation_tokens_s: float | None
    kv_usage: float | None


class GpuSample(NamedTuple):
    """State of one GPU at one moment (columns of gpus.parquet)."""

    time: float
    node: str
    gpu: str
    utilization: float | None
    memory_mb: float | None
    power_w: float | None


@dataclass(frozen=True, slots=True)
class SniffedFile:
    """What is known of an input file after a look at its head: enough for adapters to claim it.

    `path` is absolute, `name` relative to what the user gave (and what every message shows). `head` is
    the first 64 KiB after decompression (4 KiB of JSON), `objects` the first JSON objects with long texts
    and lists clipped, `columns` a Parquet file's column names and `metadata` its key-value metadata.
    `metadata["problem"]` says why a file could not be read. `metadata["sink"]` names the tracker that wrote
    the file (see `sources.sinks`), and `columns` are then the keys of its scalars.
    """

    path: str
    name: str
    size: int
    kind: FileKind
    compression: Literal["none", "gz", "zst"] = "none"
    head: bytes = b""
    objects: tuple[dict[str, Any], ...] = ()
    columns: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None

    @property
    def stem(self) -> str:
        """File name without folder and without any suffix (`7` for `dump/7.jsonl.gz`)."""
        return self.name.replace("\\", "/").rsplit("/", 1)[-1].split(".", 1)[0]
