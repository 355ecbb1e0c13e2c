"""What a what-if says: the calibration it stands on, one result a policy, and the advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Source = Literal["fit-rollouts", "fit-steps", "engine-samples", "prior", "unit"]
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The decode cost, in seconds (relative to one decode step where `relative`), and how well it is known.

    Errors are means relative to what was measured: `held_out_error` of this cost on what it had not seen,
    `constant_error` of the median. `ratio` is `b/a` with its 90 % interval. `drift`: `factor` is how much
    slower the second half of the steps decodes; `time_error` and `idle_error` are those of each step's
    duration and slot_idle by a fit to the other steps. `rough` says why the replay is only rough, "" if not.
    """

    k0: float
    a: float
    b: float
    c: float
    source: Source
    steps: int
    held_out_error: float | None = None
    constant_error: float | None = None
    ratio: tuple[float, float, float] | None = None
    drift: Mapping[str, float] = field(default_factory=dict)
    relative: bool = False
    rough: str = ""


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """The simulated synchronous run; seconds are None where only ratios are known. Without training times
    `step_s` is the generation phase."""

    step_s: float | None
    generate_s: float | None
    slot_idle: float
    engine_idle: float
    effective_idle: float
    useful_tokens_per_s: float | None
    most: float
    """`1/(1 - effective_idle)`: no tail remedy gains more at equal work in flight."""


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """One policy with its parameters. Without `speedup`, `needs` says which facts the log lacks.

    `speedup` is of the whole step where training times are known, of generation otherwise;
    `generation_speedup` always of generation. Policies that carry work over steps are compared per trained
    token. `useful_gain` is the ratio of useful tokens per second. `intervals` are 95 % ones by figure,
    `interval` that of the speed-up; `range` is what unknown facts (the cost ratio, how alike the responses
    of a prompt are) make of it. `staleness[k]` is the share of trained tokens that are `k` versions old.
    """

    name: str
    parameters: Mapping[str, float | str] = field(default_factory=dict)
    speedup: float | None = None
    interval: Interval | None = None
    range: Interval | None = None
    generation_speedup: float | None = None
    useful_gain: float | None = None
    step_s: float | None = None
    useful_tokens_per_s: float | None = None
    slot_idle: float | None = None
    engine_idle: float | None = None
    effective_idle: float | None = None
    step_idle: float | None = None
    trainer_idle: float | None = None
    rollout_idle: float | None = None
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    off_policy_share: float | None = None
    staleness: Sequence[float] = ()
    staleness_max: int | None = None
    generated_tokens: int | None = None
    trained_tokens: int | None = None
    dropped_tokens: int | None = None
    buffered_tokens: int | None = None
    lost_tokens: int | None = None
    dropped_share: float | None = None
    length_bias: float | None = None
    length_ks: float | None = None
    starved_prompts: int | None = None
    needs: Sequence[str] = ()
    notes: Sequence[str] = ()
    pareto: bool = False
    within_limits: bool = True


@dataclass(frozen=True, slots=True)
class Advice:
    """A remedy worth trying, or a remark (`policy` "baseline"), with the numbers behind it and the option
    to set in each framework."""

    policy: str
    text: str
    why: Mapping[str, Any] = field(default_factory=dict)
    enable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tail:
    """The tail of the lengths: pooled ratios, the share cut at a common cap, and the ICC of log lengths."""

    max_over_median: float
    p99_over_p50: float
    max_over_p99: float
    truncated_share: float
    icc: float | None
    kind: Literal["capped", "runaway", "prompts", "responses", "mixed"]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Everything `rollprof whatif` shows. `unit` is that of lengths. `steps` and `rollouts` were replayed,
    of `of_steps` that the run has (None: all of them)."""

    calibration: Calibration
    baseline: BaselineResult
    policies: Sequence[PolicyResult]
    advice: Sequence[Advice]
    tail: Tail
    framework: str
    steps: int
    rollouts: int
    engines: int
    slots: int | None
    unit: str
    whole_step: bool
    notes: Sequence[str] = ()
    of_steps: int | None = None
