"""What an adapter is: it recognises files by content, maps rollout records to columns, reads metric
text into records, and interprets a run's metrics in the words of the schema.

An adapter is split so that each piece can be tested alone and the heavy one can run anywhere:

* `claim(file)` looks at a `SniffedFile` and says what the file is, and why;
* `mapper(context)` gives a callable that turns one rollout record into one row, in worker processes
  (cheap imports only: no polars, no scipy);
* `read(file, claim, ledger)` turns a metrics, console or config file into `MetricPart`s, one per run
  found in it, oldest first;
* `interpret(evidence)` maps the merged keys of one run to columns of `steps` and to facts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from rollprof.schema.ledger import Ledger
from rollprof.sources.records import EngineSample, GpuSample, MetricRecord, SniffedFile

Role = Literal["rollouts", "metrics", "console", "config"]
Precision = Literal["exact", "float32", "printed", "unknown"]
FactOrigin = Literal["user", "config", "logged", "derived", "default"]


@dataclass(frozen=True, slots=True)
class Claim:
    """An adapter's word that a file is its own.

    `score` 0..1: 1 only this framework writes it, .5 plausible, below .2 a last resort. `why` is a
    sentence for people. `split` for rollouts. `series` names the rollout dump the file belongs to (the
    folder for `{dir}/{step}.jsonl`, the file itself otherwise): files of one series are one dump.
    `beside`: claims on what else the file holds of the same run (columns of steps among rollouts).
    """

    adapter: str
    role: Role
    score: float
    why: str
    split: Literal["train", "eval"] = "train"
    series: str = ""
    hints: Mapping[str, str] = field(default_factory=dict)
    beside: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class MapperContext:
    """What a row mapper knows about the file its records come from. Picklable."""

    name: str
    stem: str
    split: Literal["train", "eval"]
    columns: Mapping[str, str] = field(default_factory=dict)
    """--map COLUMN=KEY."""
    hints: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    """Keys (or Parquet columns) seen in the head of the file."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """A record that is understood and left out on purpose (a padding row); without a reason where it is no
    rollout and another reader takes it."""

    reason: str


RowValue = Any
Row = tuple[RowValue, ...]


class RowMapper(Protocol):
    """Turns one record into values of `columns`, in that order; None where the record lacks one.

    `columns` are names of schema.ROLLOUTS, and these which the converter digests:
    `prompt` and `response` (text, or a chat as a list of messages: hashed and measured, never stored),
    `group` (whatever identifies the group within its step; default the prompt).
    `rewards` is a dict of floats. Raise ValueError (one line) for a record that cannot be used.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...

    def __call__(self, record: dict[str, Any]) -> Row | Dropped: ...


@runtime_checkable
class BatchMapper(RowMapper, Protocol):
    """A mapper that turns many records at once into columns: most logs are plain, and a look at a column
    costs far less than a look at each of its values."""

    def batch(self, records: Sequence[dict[str, Any]]) -> Mapping[str, Sequence[RowValue]] | None:
        """Every column of `columns`, as the records' rows one by one would give them; None where any of the
        records is out of the ordinary."""
        ...


@dataclass(frozen=True, slots=True)
class Fact:
    """Something about the run: `value`, and how it is known."""

    value: Any
    origin: FactOrigin
    how: str
    """For people: `trainer.n_gpus_per_node x trainer.nnodes`, `default of verl 0.8`."""


@dataclass(slots=True)
class MetricPart:
    """What one file says about one run: metric records in file order, and the configuration.

    `config` maps dotted paths to plain Python values. `hints` are the reader's remarks for
    `interpret` (`trainer`, `dump_dir`, ...). `label` says which of several runs in a file this is.
    `run_id` begins with the name of whoever gave it (`wandb:`), `name` is the run's for people. `precision`
    is what the file keeps of a number: all of it, a float32, or what was printed.
    """

    file: SniffedFile
    claim: Claim
    metrics: list[MetricRecord] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)
    engines: list[EngineSample] = field(default_factory=list)
    gpus: list[GpuSample] = field(default_factory=list)
    run_id: str | None = None
    label: str = ""
    name: str = ""
    precision: Precision = "unknown"


@dataclass(frozen=True, slots=True)
class RolloutSummary:
    """What the rollouts of one step say, for cross-checks against the metrics."""

    rollouts: int
    prompts: int
    chars_mean: float | None
    chars_max: int | None
    tokens_mean: float | None
    reward_mean: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one run before interpretation.

    `metrics[step][key]` is the merged value (the last writer within a file; the more exact source
    between files). `times[step]` is when the step was logged. `config` is merged from all parts,
    `overrides` are the user's `--config KEY=VALUE`, `rollouts[(step, split)]` the dump's summary.
    """

    metrics: Mapping[int, Mapping[str, float]]
    times: Mapping[int, float]
    config: Mapping[str, Any]
    hints: Mapping[str, str]
    overrides: Mapping[str, Any]
    rollouts: Mapping[tuple[int, str], RolloutSummary]


@dataclass(frozen=True, slots=True)
class Alarm:
    """Numbers that contradict each other, or a trap of this framework met in this log.

    `code` is stable, `text` one sentence, `evidence` the numbers. `handled`: a known trap that the reading
    has taken account of, worth a remark; anything else casts doubt on the figures and mutes advice.
    """

    code: str
    text: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    handled: bool = False


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One run in the schema's words.

    `steps`: one mapping per (step, split) with column names of schema.STEPS (step and split included).
    `facts`: at least those of FACT_NAMES that can be known. `mode`: `sync`, `async` or `unknown`
    (async: no barrier, so no per-step slot_idle). `colocated` None when unknown. `requests_may_queue`
    when it cannot be excluded. `version`: release or range ("0.8", ">=0.5,<0.7") or None.
    """

    steps: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Fact]
    version: str | None = None
    trainer: str | None = None
    alarms: Sequence[Alarm] = ()
    notes: Sequence[str] = ()


FACT_NAMES: tuple[str, ...] = (
    "gpus",  # all GPUs of the job
    "rollout_gpus",  # those that generate, where they are separate
    "trainer_gpus",
    "gpus_per_engine",  # tensor x pipeline x data parallel size of one replica
    "engines",  # replicas
    "max_num_seqs",  # slots per engine
    "response_cap",  # tokens
    "group_size",  # responses per prompt
    "prompts_per_step",
    "responses_per_step",
    "mode",  # "sync" | "async" | "unknown"
    "colocated",  # bool
    "multi_turn",  # bool
    "engine_name",  # vllm | sglang | hf | ...
    "model",
    "grader",  # what scored the responses: a reward function, manager or model
)

CONFIG_OVERRIDES: tuple[str, ...] = ("gpus", "engines", "max_num_seqs", "response_cap", "group_size")
"""Keys of `--config KEY=VALUE`."""


@dataclass(frozen=True, slots=True)
class Brings:
    """The framework's option that would bring a column (or a fact), and since which release."""

    option: str
    releases: str = ""


@runtime_checkable
class Adapter(Protocol):
    """A framework, or a generic format. Registered under the entry point group `rollprof.adapters`."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def brings(self) -> Mapping[str, Brings]: ...

    def claim(self, file: SniffedFile) -> Claim | None: ...

    def mapper(self, context: MapperContext) -> RowMapper: ...

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]: ...

    def interpret(self, evidence: Evidence) -> Interpretation: ...


@runtime_checkable
class Arranger(Protocol):
    """An adapter whose dump can only be understood across files implements this too.

    `arrange` sees all rollout files of one series in step order before they are converted and returns
    those to read, with claims whose hints tell the mapper what it needs to know (`whole_file: "1"` keeps
    a file in one task, so that its mapper sees the rows in order). Files left out are noted.
    """

    def arrange(
        self, files: Sequence[tuple[SniffedFile, Claim]], config: Mapping[str, Any], ledger: Ledger
    ) -> list[tuple[SniffedFile, Claim]]: ...
