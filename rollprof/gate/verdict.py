"""Whether a run keeps its rules.

A rule is broken when the whole 90 % interval of the figure lies beyond the limit, holds when none of it
does, and is undecided in between. Comparison is strict: a figure that is the limit keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import Analysis, Basis, Bound
from rollprof.compare.change import Change, change, steps_needed
from rollprof.compare.series import RunSeries, series_of
from rollprof.errors import EXIT_CHECK_FAILED, EXIT_OK, EXIT_USAGE
from rollprof.gate.measure import Measured, measure, strong_enough, ways
from rollprof.gate.rules import HEADLINE, Kind, Rule

Status = Literal["broken", "unknown", "undecided", "holds", "skipped"]
"""`unknown`: cannot be computed from this log; `skipped`: the same where that is allowed."""

ORDER: tuple[Status, ...] = ("broken", "unknown", "undecided", "skipped", "holds")
"""Worst first."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How strictly a verdict is read."""

    min_steps: int = 1
    strict: bool = False
    allow_missing: bool = False
    allow_modelled: bool = False
    exit_zero: bool = False
    error_on_warning: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one rule. `figure` is the one compared, by its name in the registry.

    `value` and `interval` are in `unit`, or for an increase of the baseline's value in shares (`relative`);
    `old` and `new` are then the two values. `beyond` is how far the value lies beyond the limit, in the
    limit's unit, None when it cannot be told. `why` and `enable` say why a rule cannot be computed and what
    would bring the figure. `steps_needed` is how many steps an undecided increase takes.
    """

    rule: Rule
    figure: str
    status: Status
    unit: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    basis: Basis | None = None
    bound: Bound | None = None
    steps: int = 0
    worst: tuple[int, float] | None = None
    old: float | None = None
    new: float | None = None
    relative: bool = False
    matched: bool = False
    how: str = ""
    note: str = ""
    why: str = ""
    enable: str = ""
    steps_needed: int | None = None
    strictly: bool = False
    """Undecided, and broken because that is asked for."""

    @property
    def limit(self) -> float:
        """The number that must not be passed."""
        return self.rule.limit.value

    @property
    def kind(self) -> Kind:
        """What the limit limits."""
        return self.rule.kind

    @property
    def beyond(self) -> float | None:
        """How far beyond its limit the nearest end of what is known lies; negative where it keeps it."""
        known = self.value if self.value is not None else _middle(self.interval)
        if known is None:
            return None
        return self.limit - known if self.kind == "min" else known - self.limit


def _middle(interval: tuple[float, float] | None) -> float | None:
    return None if interval is None else (interval[0] + interval[1]) / 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """All outcomes, in the order of the rules."""

    outcomes: tuple[Outcome, ...]
    policy: Policy
    steps: int

    @property
    def worst_first(self) -> tuple[Outcome, ...]:
        """Broken error rules, then what cannot be computed, then warnings; the furthest beyond first."""
        return tuple(sorted(self.outcomes, key=_badness))

    def of(self, *statuses: Status) -> tuple[Outcome, ...]:
        """Outcomes with one of these statuses."""
        return tuple(o for o in self.outcomes if o.status in statuses)

    @property
    def errors(self) -> tuple[Outcome, ...]:
        """Broken rules that are meant as errors."""
        return tuple(o for o in self.of("broken") if o.rule.level == "error")

    @property
    def warnings(self) -> tuple[Outcome, ...]:
        """Broken rules that only warn, and rules that are undecided."""
        return tuple(
            o
            for o in self.outcomes
            if o.status == "undecided" or (o.status == "broken" and o.rule.level == "warn")
        )

    def fails(self, outcome: Outcome) -> bool:
        """Whether this outcome alone makes the run fail, as the policy reads it."""
        return outcome in self.errors or (self.policy.error_on_warning and outcome in self.warnings)

    @property
    def failed(self) -> bool:
        """A rule is broken, as the policy reads it."""
        return any(self.fails(o) for o in self.outcomes)

    @property
    def exit_code(self) -> int:
        """1 where a rule is broken, else 2 where one cannot be computed, else 0."""
        if self.failed and not self.policy.exit_zero:
            return EXIT_CHECK_FAILED
        return EXIT_USAGE if self.of("unknown") else EXIT_OK


def _badness(outcome: Outcome) -> tuple[int, int, float]:
    level = 0 if outcome.rule.level == "error" else 1
    beyond, limit = outcome.beyond, abs(outcome.limit) or 1.0
    return ORDER.index(outcome.status), level, -(beyond or 0.0) / limit


def judge(
    analysis: Analysis, rules: Sequence[Rule], policy: Policy, baseline: RunSeries | None = None
) -> Verdict:
    """The verdict on a run. Rules about increases need the series of a baseline (else ValueError)."""
    series = series_of(analysis) if baseline is not None else None
    outcomes = []
    for rule in rules:
        if rule.kind == "max_increase":
            if baseline is None or series is None:
                raise ValueError("a rule about an increase needs a baseline")
            found = _increase(analysis, rule, policy, baseline, series)
        else:
            found = _against_limit(analysis, rule, policy)
        outcomes.append(_read(found, policy))
    return Verdict(tuple(outcomes), policy, analysis.run.steps)


def _read(found: Outcome, policy: Policy) -> Outcome:
    if found.status == "undecided" and policy.strict:
        return replace(found, status="broken", strictly=True)
    if found.status == "unknown" and policy.allow_missing:
        return replace(found, status="skipped")
    return found


def _name(analysis: Analysis, rule: Rule) -> str:
    return analysis.headline if rule.figure == HEADLINE else rule.figure


def _against_limit(analysis: Analysis, rule: Rule, policy: Policy) -> Outcome:
    name = _name(analysis, rule)
    found = measure(analysis, name, rule.aggregate or "run", allow_modelled=policy.allow_modelled)
    unit = REGISTRY[name].unit
    if isinstance(found, str):
        return _unknown(rule, name, unit, found, ways(name, analysis))
    too_few = _too_few(found.steps, policy)
    if too_few:
        return _unknown(rule, name, found.unit, too_few, "")
    weak = _too_weak(rule, name, found.basis, analysis)
    if weak is not None:
        return weak
    low, high = found.interval
    if rule.kind == "max":
        status = _status(low > rule.limit.value, high <= rule.limit.value)
    else:
        status = _status(high < rule.limit.value, low >= rule.limit.value)
    return _outcome(rule, name, status, found)


def _outcome(rule: Rule, name: str, status: Status, found: Measured) -> Outcome:
    return Outcome(
        rule,
        name,
        status,
        found.unit,
        value=found.value,
        interval=found.interval,
        basis=found.basis,
        bound=found.bound,
        steps=found.steps,
        worst=found.best if rule.kind == "min" else found.worst,
        note=found.note,
    )


def _status(broken: bool, holds: bool) -> Status:
    return "broken" if broken else "holds" if holds else "undecided"


def _too_few(steps: int, policy: Policy) -> str:
    if steps >= policy.min_steps:
        return ""
    return f"{steps} {'step has' if steps == 1 else 'steps have'} it, --min-steps asks for {policy.min_steps}"


def _too_weak(rule: Rule, name: str, basis: Basis | None, analysis: Analysis) -> Outcome | None:
    required = rule.require_basis
    if required is None or strong_enough(basis, required):
        return None
    why = f"known only as {basis or 'nothing'}, the rule asks for {required}"
    return _unknown(rule, name, REGISTRY[name].unit, why, ways(name, analysis, better=True))


def _unknown(rule: Rule, name: str, unit: str, why: str, enable: str) -> Outcome:
    return Outcome(rule, name, "unknown", unit, why=why, enable=enable)


def _increase(
    analysis: Analysis, rule: Rule, policy: Policy, baseline: RunSeries, series: RunSeries
) -> Outcome:
    name = _name(analysis, rule)
    now = measure(analysis, name, allow_modelled=policy.allow_modelled)
    if isinstance(now, str):
        return _unknown(rule, name, REGISTRY[name].unit, now, ways(name, analysis))
    too_few = _too_few(now.steps, policy)
    if too_few:
        return _unknown(rule, name, now.unit, too_few, "")
    weak = _too_weak(rule, name, now.basis, analysis)
    if weak is not None:
        return weak
    found = change(baseline, series, name, aggregate=rule.aggregate or "run")
    relative = rule.limit.relative
    value = found.relative if relative else found.difference
    interval = found.relative_interval if relative else found.interval
    why = found.why or _no_share(found, relative)
    if why:
        return _unknown(rule, name, now.unit, why.replace("the old run", "the baseline"), "")
    status = _increase_status(value, interval, rule.limit.value)
    needed = steps_needed(found, rule.limit.value, relative=relative) if status == "undecided" else None
    return Outcome(
        rule,
        name,
        status,
        now.unit,
        value=value,
        interval=interval,
        basis=now.basis,
        steps=min(found.steps) if max(found.steps) else now.steps,
        worst=now.worst,
        old=found.old,
        new=found.new,
        relative=relative,
        matched=found.matched,
        how=found.how,
        steps_needed=needed,
    )


def _no_share(found: Change, relative: bool) -> str:
    """Why an increase in percent has no meaning, "" when it has."""
    if not relative or found.relative is not None or found.relative_interval is not None:
        return ""
    if found.old == 0:
        return "it is 0 in the baseline, of which nothing is a share: give the limit in its own unit"
    return "only a range of it is known, of which no share can be taken: give the limit in its own unit"


def _increase_status(value: float | None, interval: tuple[float, float] | None, limit: float) -> Status:
    """Without an interval nothing says how much of a change is noise, and it decides nothing."""
    if interval is None:
        return "undecided" if value is None or value != 0.0 or limit < 0 else "holds"
    return _status(interval[0] > limit, interval[1] <= limit)
