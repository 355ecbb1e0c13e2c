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
    """Requests running and waiting in one engine, as sampled at `time` (epoch seconds)."""

    engine: str
    time: tuple[float, ...]
    running: tuple[float, ...]
    waiting: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class GpuCurve:
    """Utilisation (0 to 1) of one GPU, as sampled at `time` (epoch seconds)."""

    node: str
    gpu: str
    time: tuple[float, ...]
    utilization: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SampleCurves:
    """What was sampled over time. `windows` are (start, end, step) of each generation the engines worked on;
    step None where it belongs to none. `how` they were joined to steps: clock, order, alone, "" not at
    all."""

    engines: Sequence[EngineCurve] = ()
    gpus: Sequence[GpuCurve] = ()
    windows: Sequence[tuple[float, float, int | None]] = ()
    how: str = ""
    why: str = ""


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
    have: frozenset[str] = frozenset()
    """Columns with any value and facts of this run, as `FigureSpec.needs` names them."""
    brings: Mapping[str, Any] = field(default_factory=dict)
    """By column or fact: the framework's `option` that would bring it, and since which `releases`."""
