"""What `[tool.rollprof.check]`, or `[check]` of rollprof.toml, and ROLLPROF_CHECK_* say.

Unknown keys are errors that say which key, in which file and line, and what was probably meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, cast

from rollprof.analyzers.registry import REGISTRY
from rollprof.config import ConfigFile
from rollprof.errors import ConfigProblem
from rollprof.gate.places import Path, line_of, lines_of
from rollprof.gate.rules import (
    HEADLINE,
    LEVELS,
    Kind,
    Level,
    Place,
    Rule,
    aggregate_of,
    basis_of,
    choice,
    flag_rule,
    limit,
)

OptionKind = Literal["limit", "rules", "text", "path", "count", "flag", "reports"]

OPTIONS: Mapping[str, OptionKind] = {
    "max_idle": "limit",
    "max": "rules",
    "min": "rules",
    "max_increase": "rules",
    "baseline": "path",
    "aggregate": "text",
    "skip_steps": "count",
    "min_steps": "count",
    "require_basis": "text",
    "report": "reports",
    "strict": "flag",
    "allow_missing": "flag",
    "exit_zero": "flag",
    "error_on_warning": "flag",
}
"""Settings of `check` by name. `max`, `min`, `max_increase` are for the environment; a file has rules."""

IN_FILE = (*(n for n, kind in OPTIONS.items() if kind != "rules"), "rules")
RULE_KEYS = ("max", "min", "max_increase", "aggregate", "level", "require_basis")
KINDS: tuple[Kind, ...] = ("max", "min", "max_increase")
PREFIX = "ROLLPROF_CHECK_"


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Options by name, and rules, of one layer."""

    values: Mapping[str, Any]
    rules: tuple[Rule, ...] = ()
    remarks: tuple[str, ...] = ()


def from_file(file: ConfigFile | None) -> CheckSettings:
    """The settings of a file; nothing where there is none, or where it does not speak of check."""
    if file is None or "check" not in file.table:
        return CheckSettings({})
    return _Reader(file).read()


class _Reader:
    """One file, with its lines."""

    def __init__(self, file: ConfigFile) -> None:
        self.file = file
        self.lines = lines_of(file.text)
        self.root: Path = (*file.section, "check")

    def line(self, *keys: str) -> int:
        return line_of(self.lines, (*self.root, *keys))

    def where(self, *keys: str) -> str:
        return f"{self.file.path}:{self.line(*keys)}"

    def read(self) -> CheckSettings:
        table = self.table(self.file.table["check"], "check")
        values: dict[str, Any] = {}
        rules: list[Rule] = []
        for key, value in table.items():
            name = key.replace("-", "_")
            if name not in IN_FILE:
                hint = _meant(name, IN_FILE, f"keys of {'.'.join(self.root)}")
                if name in REGISTRY:
                    hint = f"rules stand in [{'.'.join(self.root)}.rules]"
                raise ConfigProblem(f"{self.where(key)}: unknown key {key}", hint=hint)
            if name == "rules":
                rules = self.rules(self.table(value, "rules", key))
            else:
                values[name] = self.value(name, value, key)
        if "max_idle" in values:
            place = Place(self.where("max_idle"), str(self.file.path), self.line("max_idle"))
            rules.insert(0, Rule(HEADLINE, "max", values.pop("max_idle"), place))
        return CheckSettings(values, tuple(rules))

    def table(self, value: Any, name: str, *keys: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise ConfigProblem(f"{self.where(*keys)}: {name} must be a table")
        return value

    def value(self, name: str, value: Any, key: str) -> Any:
        found = _typed(name, value, self.where(key))
        if OPTIONS[name] == "path":
            return str(self.file.path.parent / found)
        return found

    def rules(self, table: Mapping[str, Any]) -> list[Rule]:
        found: list[Rule] = []
        for figure, entry in table.items():
            where = self.where("rules", figure)
            if figure not in REGISTRY and figure != HEADLINE:
                hint = _meant(figure, tuple(REGISTRY), "") or "`rollprof explain` lists every figure"
                raise ConfigProblem(f"{where}: unknown figure {figure}", hint=hint)
            found += self.rules_of(figure, self.table(entry, figure, "rules", figure))
        return found

    def rules_of(self, figure: str, entry: Mapping[str, Any]) -> list[Rule]:
        for key in entry:
            if key not in RULE_KEYS:
                where = self.where("rules", figure, key)
                hint = _meant(key, RULE_KEYS, "keys of a rule")
                raise ConfigProblem(f"{where}: unknown key {key} in the rule for {figure}", hint=hint)
        kinds = [kind for kind in KINDS if kind in entry]
        if not kinds:
            where = self.where("rules", figure)
            raise ConfigProblem(
                f"{where}: the rule for {figure} has no limit", hint="max, min or max_increase"
            )
        return [self.rule(figure, kind, entry) for kind in kinds]

    def rule(self, figure: str, kind: Kind, entry: Mapping[str, Any]) -> Rule:
        def text(key: str) -> str:
            where = self.where("rules", figure, key)
            if not isinstance(entry[key], str):
                raise ConfigProblem(f"{where}: {key} must be text")
            return str(entry[key])

        where = self.where("rules", figure, kind)
        place = Place(where, str(self.file.path), self.line("rules", figure, kind))
        made = Rule(
            figure, kind, limit(_number(entry[kind], where), kind, figure, where, ConfigProblem), place
        )
        level, basis = made.level, made.require_basis
        aggregate = made.aggregate
        if "level" in entry:
            at = self.where("rules", figure, "level")
            level = cast("Level", choice(text("level"), LEVELS, f"{at}: level", ConfigProblem))
        if "aggregate" in entry:
            at = self.where("rules", figure, "aggregate")
            aggregate = aggregate_of(text("aggregate"), f"{at}: aggregate", ConfigProblem)
        if "require_basis" in entry:
            at = self.where("rules", figure, "require_basis")
            basis = basis_of(text("require_basis"), f"{at}: require_basis", ConfigProblem)
        return Rule(figure, kind, made.limit, place, aggregate, level, basis)


def _number(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ConfigProblem(f"{where}: a limit must be a number", hint="0.3 or '30%'")
    return str(value)


def _meant(name: str, known: Sequence[str], otherwise: str) -> str:
    near = get_close_matches(name, known, 1, 0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f"{otherwise}: {', '.join(sorted(known))}" if otherwise else ""


def _typed(name: str, value: Any, where: str) -> Any:
    """A value as its option wants it. Raises ConfigProblem."""
    kind = OPTIONS[name]
    if kind == "limit":
        return limit(_number(value, where), "max", HEADLINE, where, ConfigProblem)
    if kind == "flag":
        if isinstance(value, bool):
            return value
        raise ConfigProblem(f"{where}: {name} must be true or false")
    if kind == "count":
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise ConfigProblem(f"{where}: {name} must be a whole number, 0 or more")
    if kind == "reports":
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return list(items)
        raise ConfigProblem(f"{where}: {name} must be text, or a list of texts")
    if not isinstance(value, str):
        raise ConfigProblem(f"{where}: {name} must be text")
    if name == "aggregate":
        return aggregate_of(value, f"{where}: aggregate", ConfigProblem)
    if name == "require_basis":
        return basis_of(value, f"{where}: require_basis", ConfigProblem)
    return value


_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


def from_environment(environ: Mapping[str, str]) -> CheckSettings:
    """ROLLPROF_CHECK_MAX_IDLE=0.3, ROLLPROF_CHECK_MAX="step_idle=0.3,generate_s=20" and so on."""
    variables = {PREFIX + name.upper(): name for name in OPTIONS}
    values: dict[str, Any] = {}
    rules: list[Rule] = []
    remarks = []
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        name = variables.get(variable)
        if name is None:
            near = get_close_matches(variable, variables, 1, 0.6)
            meant = f": did you mean {near[0]}?" if near else ""
            remarks.append(f"{variable} is not known and has no effect{meant}")
            continue
        text = environ[variable]
        if OPTIONS[name] == "rules":
            parts = [part.strip() for part in text.split(",") if part.strip()]
            rules += [flag_rule(part, cast("Kind", name), variable) for part in parts]
        else:
            values[name] = _typed(name, _parsed(name, text), variable)
    if "max_idle" in values:
        rules.insert(0, Rule(HEADLINE, "max", values.pop("max_idle"), Place(variable_of("max_idle"))))
    return CheckSettings(values, tuple(rules), tuple(remarks))


def variable_of(name: str) -> str:
    """The environment variable of an option."""
    return PREFIX + name.upper()


def _parsed(name: str, text: str) -> Any:
    """The text of a variable in the form that a file would give it."""
    kind = OPTIONS[name]
    if kind == "flag":
        word = text.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else text
    if kind == "count":
        return int(text) if text.strip().isdigit() else text
    if kind == "reports":
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def combined(*layers: CheckSettings) -> CheckSettings:
    """Later layers win: value by value, and rule by rule of the same figure and kind."""
    values: dict[str, Any] = {}
    rules: dict[tuple[str, str], Rule] = {}
    remarks: list[str] = []
    for layer in layers:
        values.update(layer.values)
        rules.update({rule.key: rule for rule in layer.rules})
        remarks += layer.remarks
    return CheckSettings(values, tuple(rules.values()), tuple(remarks))
