"""What a run must keep to: a figure, a limit, and how seriously it is meant."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.analyzers.registry import spec
from rollprof.analyzers.results import BASES, Basis
from rollprof.compare.change import AGGREGATES, Aggregate
from rollprof.errors import ConfigProblem, UsageProblem

Kind = Literal["max", "min", "max_increase"]
Level = Literal["error", "warn"]
LEVELS: tuple[Level, ...] = get_args(Level)
BASES_TO_REQUIRE = tuple(b for b in BASES if b != "modelled")
"""Every figure is at least modelled."""

HEADLINE = "idle"
"""Stands for the figure that is the GPU-idle headline of the run: what `--max-idle` compares."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A number as it was written: `relative` for a share of the baseline's value."""

    value: float
    text: str
    relative: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rule was written: a line of a file, or a flag or variable (`file` is then None)."""

    words: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `figure` is a name of the registry or `HEADLINE`.

    `aggregate` and `require_basis` are None where the rule does not name its own.
    """

    figure: str
    kind: Kind
    limit: Limit
    place: Place
    aggregate: Aggregate | None = None
    level: Level = "error"
    require_basis: Basis | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Rules of the same figure and kind replace each other: flags over environment over file."""
        return self.figure, self.kind


Problem = type[ConfigProblem] | type[UsageProblem]


def limit(text: str, kind: Kind, figure: str, where: str, problem: Problem = UsageProblem) -> Limit:
    """`0.3`, `30%`, for an increase `10%` (of the baseline's value) or `0.05` (in the figure's own unit).

    Raises `problem` that says what is wrong with it.
    """
    unit = "fraction" if figure == HEADLINE else spec_at(figure, where, problem).unit
    match = re.fullmatch(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)\s*", text)
    if match is None:
        raise problem(f"{where}: {text.strip() or 'nothing'} is not a number", hint="0.3 or 30%")
    value, percent = float(match[1]), bool(match[2])
    if not math.isfinite(value):
        raise problem(f"{where}: {text.strip()} is not a number", hint="0.3 or 30%")
    if kind == "max_increase":
        return _increase(value, percent, text, where, problem)
    if percent and unit != "fraction":
        words = f"in {unit}" if unit else "a plain number"
        raise problem(f"{where}: {figure} is {words}, not a share: {text.strip()} has no meaning")
    value = value / 100 if percent else value
    if unit == "fraction" and not 0 <= value <= 1:
        hint = f"{value:g}% or {value / 100:g}" if 1 < value <= 100 else "a share from 0 to 1, or 0% to 100%"
        raise problem(f"{where}: {text.strip()} is not a share", hint=hint)
    return Limit(value, text.strip())


def _increase(value: float, percent: bool, text: str, where: str, problem: Problem) -> Limit:
    if value < 0:
        raise problem(f"{where}: an increase of {text.strip()} is a decrease", hint="10% or 0.05")
    return Limit(value / 100 if percent else value, text.strip(), relative=percent)


def spec_at(figure: str, where: str, problem: Problem) -> FigureSpec:
    """The figure's spec. Raises `problem` with the place and the nearest names."""
    try:
        return spec(figure)
    except UsageProblem as unknown:
        raise problem(f"{where}: {unknown.message}", hint=unknown.hint) from None


def with_defaults(rules: Sequence[Rule], aggregate: Aggregate, basis: Basis | None) -> tuple[Rule, ...]:
    """The rules, with the aggregate and the basis of those that do not name their own."""
    return tuple(
        replace(rule, aggregate=rule.aggregate or aggregate, require_basis=rule.require_basis or basis)
        for rule in rules
    )


def flag_rule(text: str, kind: Kind, words: str) -> Rule:
    """`FIGURE=VALUE` of a flag or variable, called `words`. Raises UsageProblem."""
    figure, separator, value = text.partition("=")
    figure = figure.strip()
    where = f"{words} {text}"
    if not separator or not figure or not value.strip():
        raise UsageProblem(f"{where}: not of the form FIGURE=VALUE", hint=f"{words} step_idle=0.3")
    return Rule(figure, kind, limit(value, kind, figure, where), Place(where))


def choice(value: str, choices: tuple[str, ...], where: str, problem: Problem = UsageProblem) -> str:
    """`value` if it is one of `choices`. Raises `problem` with those."""
    if value not in choices:
        raise problem(f"{where}: {value} is no such choice", hint=" or ".join(choices))
    return value


def aggregate_of(value: str, where: str, problem: Problem = UsageProblem) -> Aggregate:
    """How steps become one number, by its name."""
    return cast("Aggregate", choice(value, AGGREGATES, where, problem))


def basis_of(value: str, where: str, problem: Problem = UsageProblem) -> Basis:
    """A basis that can be required, by its name."""
    return cast("Basis", choice(value, BASES_TO_REQUIRE, where, problem))
