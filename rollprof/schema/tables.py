"""The tables of a dataset, column by column: the one truth that the store, the checks, the docs and
`rollprof schema` read.

Importing this module is cheap; `arrow_schema` loads pyarrow when it is called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 1
"""1: first public layout."""

VERSION_KEY = b"rollprof.schema_version"
RUN_KEY = b"rollprof.run"

ColumnType = Literal["int16", "int32", "int64", "uint64", "float64", "bool", "string", "category", "map"]

SPLITS = ("train", "eval")
FINISH_REASONS = ("stop", "length", "abort", "tool", "unknown")
TOKEN_BASES = ("exact", "tokenized", "scaled", "characters")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `type` as stored, `unit` for people, `doc` one sentence, `values` where it is an enum."""

    name: str
    type: ColumnType
    unit: str
    doc: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A Parquet file of the dataset."""

    name: str
    doc: str
    columns: tuple[Column, ...]

    @property
    def filename(self) -> str:
        return f"{self.name}.parquet"

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)


def _seconds(name: str, doc: str) -> Column:
    return Column(name, "float64", "s", doc)


def _tokens(name: str, doc: str) -> Column:
    return Column(name, "int32", "tokens", doc)


def _mean_tokens(name: str, doc: str) -> Column:
    return Column(name, "float64", "tokens", doc)


_SPLIT = Column("split", "category", "", "training or evaluation", SPLITS)
_STEP = Column("step", "int64", "", "training step that consumed it")

ROLLOUTS = Table(
    "rollouts",
    "one row per sampled response (one trajectory in multi-turn)",
    (
        _STEP,
        _SPLIT,
        Column(
            "prompt_id",
            "uint64",
            "",
            "BLAKE2b-64 of the prompt's UTF-8 text, or of canonical JSON for chats: "
            "the same prompt has the same id in every step, file and run",
        ),
        Column("dataset", "category", "", "data source or task, where logged"),
        Column("group_id", "uint64", "", "rollouts sampled together for one prompt in one step"),
        Column("sample_index", "int32", "", "position in the group, where known"),
        _tokens("prompt_tokens", "prompt length"),
        _tokens("response_tokens", "response as the framework counts it (tool text included where it does)"),
        _tokens("generated_tokens", "tokens that the policy itself produced"),
        Column("prompt_chars", "int32", "characters", "prompt length in characters"),
        Column("response_chars", "int32", "characters", "response length in characters"),
        Column("token_basis", "category", "", "how the token counts are known", TOKEN_BASES),
        Column("reward", "float64", "", "the scalar the trainer used"),
        Column("rewards", "map", "", "every named reward component that the log has"),
        Column("correct", "bool", "", "where the log says so"),
        Column("advantage", "float64", "", "advantage, where logged"),
        Column("finish_reason", "category", "", "why generation ended", FINISH_REASONS),
        Column("started_at", "float64", "s", "submission time, seconds since the Unix epoch"),
        Column("completed_at", "float64", "s", "completion time, seconds since the Unix epoch"),
        _seconds("queue_s", "time in the queue before the engine took it"),
        _seconds("generate_s", "duration of its generation, as the client sees it"),
        _seconds("tool_s", "time in tools and environments"),
        _seconds("reward_s", "time to score it"),
        Column("turns", "int16", "turns", "turns of a multi-turn trajectory"),
        Column("engine", "category", "", "replica that served it"),
        Column("policy_version_first", "int64", "", "version of the weights that produced its first token"),
        Column("policy_version_last", "int64", "", "version of the weights that produced its last token"),
        Column("source", "int32", "", "index into the metadata's list of sources"),
    ),
)

SEGMENTS = Table(
    "segments",
    "one row per generation call of a rollout, where the log has them",
    (
        _STEP,
        Column("rollout", "int64", "", "row of rollouts.parquet"),
        Column("turn", "int16", "", "turn of the trajectory"),
        Column("policy_version", "int64", "", "version of the weights"),
        _tokens("tokens", "tokens produced"),
        Column("started_at", "float64", "s", "start, seconds since the Unix epoch"),
        Column("completed_at", "float64", "s", "end, seconds since the Unix epoch"),
        Column("engine", "category", "", "replica that served it"),
    ),
)

STEPS = Table(
    "steps",
    "one row per step and split",
    (
        Column("step", "int64", "", "training step"),
        _SPLIT,
        Column("logged_at", "float64", "s", "when the step was logged, seconds since the Unix epoch"),
        _seconds("step_s", "wall time of the whole step"),
        _seconds("generate_s", "wall time of the framework's own generation call"),
        _seconds("reward_s", "scoring"),
        _seconds("old_logprob_s", "log-probabilities under the old policy"),
        _seconds("reference_s", "log-probabilities under the reference policy"),
        _seconds("values_s", "critic's values"),
        _seconds("advantage_s", "advantages"),
        _seconds("update_s", "policy (and critic) update"),
        _seconds("weight_sync_s", "weights from trainer to engines"),
        _seconds("checkpoint_s", "saving"),
        _seconds("eval_s", "evaluation inside the step"),
        _seconds("wait_s", "trainer waiting for rollouts"),
        Column("rollouts", "int64", "", "responses trained on"),
        Column("prompts", "int64", "", "distinct prompts (groups)"),
        _mean_tokens("response_tokens_mean", "mean response length"),
        _mean_tokens("response_tokens_min", "shortest response"),
        _mean_tokens("response_tokens_max", "longest response"),
        Column("truncated_share", "float64", "fraction", "share of responses cut at the cap"),
        _mean_tokens("prompt_tokens_mean", "mean prompt length"),
        _mean_tokens("prompt_tokens_max", "longest prompt"),
        Column("reward_mean", "float64", "", "mean of the scalar the trainer used"),
        _seconds("rollout_s_min", "fastest single rollout"),
        _seconds("rollout_s_mean", "mean time of a single rollout"),
        _seconds("rollout_s_max", "slowest single rollout"),
        _seconds("group_s_mean", "mean time until all rollouts of a prompt group are done"),
        _seconds("group_s_p90", "when 90 % of the prompt groups are done"),
        _seconds("group_s_max", "slowest prompt group"),
        _seconds("engine_s_mean", "mean over engines of the time each generated"),
        _seconds("engine_s_max", "slowest engine"),
        _seconds("tool_s_mean", "mean tool time of a rollout"),
        _seconds("tool_s_max", "longest tool time of a rollout"),
        Column("tokens_total", "float64", "tokens", "prompt and response tokens of the step"),
        Column("tokens_per_gpu_s", "float64", "tokens/s", "tokens per GPU and second, as logged"),
        Column("gen_batches", "float64", "", "generation rounds of the step"),
        Column("trainer_idle", "float64", "fraction", "share of its time the trainer waited"),
        Column("rollout_idle", "float64", "fraction", "share of its time the rollout side was paused"),
        Column("staleness_mean", "float64", "versions", "mean staleness of the trained tokens"),
        Column("staleness_max", "float64", "versions", "largest staleness"),
        Column("gpus", "float64", "", "GPUs at work in the step"),
    ),
)

METRICS = Table(
    "metrics",
    "every scalar that the log had, as it stood",
    (
        Column("step", "int64", "", "step as logged"),
        Column("key", "category", "", "the framework's own name"),
        Column("value", "float64", "", "value as logged"),
        Column("logged_at", "float64", "s", "when, seconds since the Unix epoch"),
        Column("source", "int32", "", "index into the metadata's list of sources"),
    ),
)

ENGINES = Table(
    "engines",
    "samples of the inference engines over time",
    (
        Column("time", "float64", "s", "seconds since the Unix epoch"),
        Column("engine", "category", "", "replica"),
        Column("running", "float64", "requests", "requests being decoded"),
        Column("waiting", "float64", "requests", "requests in the queue"),
        Column("prompt_tokens_s", "float64", "tokens/s", "prefill throughput"),
        Column("generation_tokens_s", "float64", "tokens/s", "decode throughput"),
        Column("kv_usage", "float64", "fraction", "KV cache in use"),
    ),
)

GPUS = Table(
    "gpus",
    "samples of the GPUs over time",
    (
        Column("time", "float64", "s", "seconds since the Unix epoch"),
        Column("node", "category", "", "host"),
        Column("gpu", "category", "", "index or UUID"),
        Column("utilization", "float64", "fraction", "share of the sampling period with a kernel running"),
        Column("memory_mb", "float64", "MB", "memory in use"),
        Column("power_w", "float64", "W", "power draw"),
    ),
)

TABLES: tuple[Table, ...] = (ROLLOUTS, SEGMENTS, STEPS, METRICS, ENGINES, GPUS)
BY_NAME: dict[str, Table] = {t.name: t for t in TABLES}

PHASE_COLUMNS: tuple[str, ...] = (
    "generate_s",
    "reward_s",
    "old_logprob_s",
    "reference_s",
    "values_s",
    "advantage_s",
    "update_s",
    "weight_sync_s",
    "checkpoint_s",
    "eval_s",
    "wait_s",
)
"""Columns of `steps` that are parts of a step, in the order they are shown."""


def arrow_type(column: Column) -> pa.DataType:
    """The Arrow type a column is stored as. Enums and repeated strings are dictionaries."""
    import pyarrow as pa

    simple = {
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "uint64": pa.uint64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "string": pa.string(),
        "category": pa.dictionary(pa.int32(), pa.string()),
        "map": pa.map_(pa.string(), pa.float64()),
    }
    return simple[column.type]


def arrow_schema(table: Table, extra: tuple[Column, ...] = ()) -> pa.Schema:
    """The Arrow schema of a table; column docs and units travel as field metadata.

    `extra` columns (prompt and response text under `--keep-text`) stand at the end.
    """
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(c.name, arrow_type(c), nullable=True, metadata={"unit": c.unit, "doc": c.doc})
            for c in (*table.columns, *extra)
        ]
    )


TEXT_COLUMNS: tuple[Column, ...] = (
    Column("prompt", "string", "", "prompt text (only with --keep-text)"),
    Column("response", "string", "", "response text (only with --keep-text)"),
)
