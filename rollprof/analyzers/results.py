"""What analyzers return. Frozen; the same names in Python, JSON, terminal, report and `check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Basis = Literal["measured", "logged", "calibrated", "modelled"]
BASES: tuple[Basis, ...] = ("measured", "logged", "calibrated", "modelled")
"""Strongest first."""
Bound = Literal["upper", "lower"]
Severity = Literal["alarm", "high", "medium", "low", "info"]


def weaker(*bases: Basis | None) -> Basis | None:
    """The weakest of the bases that combine into one figure."""
    known = [b for b in bases if b is not None]
    return max(known, key=BASES.index) if known else None


@dataclass(frozen=True, slots=True)
class Beside:
    """A figure on another basis: a value or a bracket `(low, high)`, and how much larger it is than the
    figure's own value. A bracket that holds the value is 0 away, another one as far as its nearest end."""

    basis: Basis
    value: float | tuple[float, float]
    apart: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure over the run. `value` None with an `interval` is a bracket; None without is absent.

    `interval` is the 90 % interval (a bracket for modelled figures), `others` the same figure on other
    bases, `note` a remark that belongs beside it ("engines unknown: one per GPU assumed").
    """

    name: str
    value: float | None
    unit: str
    basis: Basis | None
    bound: Bound | None = None
    n: int = 0
    interval: tuple[float, float] | None = None
    others: Mapping[str, float | tuple[float, float]] = field(default_factory=dict)
    note: str = ""

    def beside(self) -> list[Beside]:
        """The other bases, strongest first, and how far each is from the value; none without a value."""
        if self.value is None:
            return []
        known = [(b, self.others[b]) for b in BASES if b in self.others]
        nearest = [
            min(max(self.value, other[0]), other[1]) if isinstance(other, tuple) else other
            for _, other in known
        ]
        return [Beside(b, o, n - self.value) for (b, o), n in zip(known, nearest, strict=True)]


@dataclass(frozen=True, slots=True)
class StepFigure:
    """One figure of one step."""

    value: float | None
    basis: Basis | None
    interval: tuple[float, float] | None = None
    bound: Bound | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """All figures of one step, beside the columns of steps.parquet that are not null."""

    step: int
    columns: Mapping[str, float]
    figures: Mapping[str, StepFigure]


@dataclass(frozen=True, slots=True)
class Straggler:
    """The last rollout of a step. `why`: queued | long | slow per token | tools | truncated | unknown."""

    step: int
    prompt_id: int | None
    length: float | None
    reward: float | None
    finish_reason: str | None
    wait_s: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """`edges` has one more entry than `counts`. `unit` is tokens or characters."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    unit: str
    scale: Literal["linear", "log"]


@dataclass(frozen=True, slots=True)
class Lengths:
    """Pooled length distribution: two histograms and the quantiles of the ECDF (101 points, 0..100 %)."""

    unit: str
    token_basis: str | None
    linear: Histogram | None
    log: Histogram | None
    ecdf: tuple[float, ...] = ()
    cap: float | None = None


@dataclass(frozen=True, slots=True)
class InFlight:
    """R(t), rollouts in flight over one step: step function, `running[i]` from `time_s[i]` on."""

    step: int
    kind: Literal["typical", "worst"]
    time_s: tuple[float, ...]
    running: tuple[float, ...]
    capacity: float
    t90_s: float
    end_s: float
    basis: Basis
    unit: str = "s"


@dataclass(frozen=True, slots=True)
class EngineCurve:
    """Requests running and waiting in one engine, as sampled at `time` (epoch seconds); None where samples
    are missing. `slots` is what it can run at once."""

    engine: str
    time: tuple[float, ...]
    running: tuple[float | None, ...]
    waiting: tuple[float | None, ...]
    slots: float = 0.0


@dataclass(frozen=True, slots=True)
class GpuCurve:
    """Utilisation (0 to 1) of one GPU, as sampled at `time` (epoch seconds)."""

    node: str
    gpu: str
    time: tuple[float, ...]
    utilization: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GpuBand:
    """Utilisation of all GPUs in cells of time around `time` (epoch seconds): least, mean and most; None
    where there is no sample."""

    time: tuple[float, ...]
    low: tuple[float | None, ...]
    mean: tuple[float | None, ...]
    high: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class EngineResult:
    """One inference engine over the generations it was sampled in. Its figures carry the names of the
    fleet's."""

    engine: str
    figures: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class SampleJoin:
    """How samples of engines belong to steps: `how` is clock, order, alone (the generations that only they
    show are the steps) or "" where they were refused, and `why` says so.

    `tick` is the usual time between samples. `zone_s` and `corrected_s` were added to the engines' clock: a
    time zone it does not name, and a clock that is wrong; `skew_s` is how much later than the steps' clock it
    sees generation end, before that correction. `refused` steps have no figure from samples, and why.
    """

    how: str = ""
    why: str = ""
    tick: float | None = None
    zone_s: float = 0.0
    skew_s: float | None = None
    corrected_s: float = 0.0
    slots_how: str = ""
    refused: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampleCurves:
    """What was sampled over time. `windows` are (start, end, step) of each generation the engines worked on;
    step None where it belongs to none; `shaded` the same as a picture shows them."""

    engines: Sequence[EngineCurve] = ()
    gpus: Sequence[GpuCurve] = ()
    windows: Sequence[tuple[float, float, int | None]] = ()
    shaded: Sequence[tuple[float, float]] = ()
    gpu_band: GpuBand | None = None
    join: SampleJoin = field(default_factory=SampleJoin)

    @property
    def how(self) -> str:
        """How the engines' samples were joined to the steps."""
        return self.join.how

    @property
    def inferred(self) -> bool:
        """Whether the steps are the generations that only the samples show."""
        return self.join.how == "alone"


@dataclass(frozen=True, slots=True)
class Finding:
    """A plain sentence with its evidence, cause and next step."""

    code: str
    severity: Severity
    text: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    next: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """A figure this log cannot give, why, and the framework's option that would bring it."""

    figure: str
    why: str
    enable: str = ""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Who wrote the run and how big it is. Facts carry their origin in `facts`."""

    framework: str
    framework_version: str | None
    trainer: str | None
    steps: int
    rollouts: int
    prompts: int
    gpus: float | None
    engines: float | None
    response_cap: float | None
    facts: Mapping[str, Mapping[str, Any]]
    sources: Sequence[Mapping[str, Any]]
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything the renderers show and the gate compares."""

    run: RunInfo
    figures: Mapping[str, Figure]
    steps: Sequence[StepResult]
    eval_steps: Sequence[StepResult]
    headline: str
    """The name of the figure that is the GPU-idle headline: step_idle, generation_idle, trainer_idle."""
    lengths: Lengths
    phases: Mapping[str, Figure]
    stragglers: Sequence[Straggler]
    in_flight: Sequence[InFlight]
    findings: Sequence[Finding]
    missing: Sequence[Missing]
    ledger: Mapping[str, Any]
    difficulty: Sequence[Mapping[str, Any]] = ()
    sampling: Mapping[str, Any] | None = None
    staleness: Mapping[str, Any] | None = None
    samples: SampleCurves | None = None
    """Curves of engines and GPUs, where the run has samples of them."""
    engines: Sequence[EngineResult] = ()
    """Each engine by itself, where the samples tell engines apart."""
    have: frozenset[str] = frozenset()
    """Columns with any value and facts of this run, as `FigureSpec.needs` names them."""
    brings: Mapping[str, Any] = field(default_factory=dict)
    """By column or fact: the framework's `option` that would bring it, and since which `releases`."""
