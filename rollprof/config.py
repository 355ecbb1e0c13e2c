"""Settings that are not on the command line: `rollprof.toml`, `[tool.rollprof]` in pyproject.toml, and
ROLLPROF_* in the environment. A flag wins over the environment, the environment over the file.

The nearest file upwards counts. Unknown keys are errors that say where, and what was probably meant.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from rollprof.errors import ConfigProblem

Kind = Literal["text", "path", "flag", "number", "table"]
FILE = "rollprof.toml"
PROJECT_FILE = "pyproject.toml"
PREFIX = "ROLLPROF_"
NOT_OPTIONS = frozenset({"ROLLPROF_DEBUG"})
"""Variables that are read elsewhere."""
SECTIONS = ("check",)
"""Tables of settings that are one command's own, and are read by it; so are variables ROLLPROF_CHECK_*."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option that may be set outside the command line. A `table` holds KEY=VALUE pairs."""

    name: str
    kind: Kind
    doc: str
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return PREFIX + self.name.upper()


OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option("from", "text", "framework that wrote the logs"),
        Option("config", "table", "facts that the log lacks"),
        Option("map", "table", "columns and the keys that hold them"),
        Option("tokenizer", "path", "tokenizer.json to count tokens with"),
        Option("keep_text", "flag", "keep prompts and responses in the dataset"),
        Option("output", "path", "dataset directory that analyze writes"),
        Option("run", "text", "which run, where the input holds several"),
        Option("tz", "text", "time zone of clocks in the log that name none"),
        Option("steps", "text", "range of training steps, A:B"),
        Option("split", "text", "which rollouts", ("train", "eval")),
        Option("reward", "text", "reward component that difficulty is judged by"),
        Option("by", "text", "rows of the difficulty table", ("difficulty", "dataset")),
        Option("gpu_hour_cost", "number", "price of a GPU-hour"),
        Option("idle_figure", "text", "figure to use as the headline"),
        Option("allow_modelled", "flag", "accept the upper end of a bracket as a value"),
        Option("quiet", "flag", "no progress, no remarks"),
        Option("verbose", "flag", "everything"),
    )
}


@dataclass(frozen=True, slots=True)
class Configured:
    """Values by option name, where each came from, and remarks for the user."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    remarks: tuple[str, ...] = ()


def resolve(flags: Mapping[str, Any], *, start: Path, environ: Mapping[str, str]) -> Configured:
    """Flags (None where not given) over environment over the nearest file above `start`.

    Tables are merged key by key. Raises ConfigProblem that names the file and line, or the variable.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    environment, remarks = _from_environment(environ)
    given = {
        name: (value, f"--{name.replace('_', '-')}") for name, value in flags.items() if value is not None
    }
    for layer in (_from_file(start), environment, given):
        for name, (value, origin) in layer.items():
            merged = {**values.get(name, {}), **value} if isinstance(value, Mapping) else value
            values[name], origins[name] = merged, origin
    return Configured(values, origins, remarks)


Layer = dict[str, tuple[Any, str]]


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The file whose settings count: its text, and the table of ours that stands under `section` of it."""

    path: Path
    text: str
    section: tuple[str, ...]
    table: Mapping[str, Any]


def nearest_file(start: Path) -> ConfigFile | None:
    """The nearest file at or above `start` that has settings of ours. Raises ConfigProblem."""
    for folder in (start.resolve(), *start.resolve().parents):
        own, project = folder / FILE, folder / PROJECT_FILE
        if own.is_file():
            text = _read(own)
            return ConfigFile(own, text, (), _parse(text, own))
        if project.is_file():
            text = _read(project)
            # A broken pyproject.toml that never mentions rollprof is somebody else's business.
            if "rollprof" not in text:
                continue
            tool = _parse(text, project).get("tool")
            table = tool.get("rollprof") if isinstance(tool, dict) else None
            if table is not None:
                if not isinstance(table, dict):
                    raise ConfigProblem(f"{project}: tool.rollprof must be a table")
                return ConfigFile(project, text, ("tool", "rollprof"), table)
    return None


def _from_file(start: Path) -> Layer:
    file = nearest_file(start)
    if file is None:
        return {}
    return _checked(file.table, file.path, file.text, ".".join(file.section))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigProblem(f"{file}: cannot be read ({problem})") from problem


def _parse(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        words = str(problem)
        place = re.search(r"\(at line (\d+), column (\d+)\)", words)
        where = f"{file}:{place[1]}:{place[2]}" if place else str(file)
        reason = words[: place.start()].strip() if place else words
        raise ConfigProblem(f"{where}: not valid TOML: {reason}") from problem


def _checked(table: Mapping[str, Any], file: Path, text: str, section: str) -> Layer:
    layer: Layer = {}
    for key, value in table.items():
        where = f"{file}:{_line_of(text, section, key)}"
        name = key.replace("-", "_")
        if name in SECTIONS:
            continue
        if name not in OPTIONS:
            raise ConfigProblem(f"{where}: unknown key {key}", hint=_did_you_mean(name, section))
        option = OPTIONS[name]
        layer[name] = (_value(option, value, where), where)
        if option.kind == "path":
            layer[name] = (str(file.parent / layer[name][0]), where)
    return layer


def _did_you_mean(name: str, section: str) -> str:
    near = get_close_matches(name, (*OPTIONS, *SECTIONS), 1, 0.6)
    known = ", ".join(sorted((*OPTIONS, *SECTIONS)))
    return f"did you mean {near[0]}?" if near else f"keys of {section or FILE}: {known}"


def _line_of(text: str, section: str, key: str) -> int:
    """Line of `key` in its section, 1 where it cannot be told."""
    inside = not section
    quoted = re.escape(key)
    entry = re.compile(rf"""\s*(?:{quoted}|"{quoted}"|'{quoted}')\s*[=.]""")
    prefix = re.escape(section) + r"\." if section else ""
    opening = re.compile(rf"\s*\[\s*{prefix}{quoted}\s*[\].]")
    for number, line in enumerate(text.splitlines(), 1):
        if opening.match(line):
            return number
        if line.lstrip().startswith("["):
            inside = bool(section) and re.sub(r"\s", "", line).startswith(f"[{section}]")
        elif inside and entry.match(line):
            return number
    return 1


def _value(option: Option, value: Any, where: str) -> Any:
    wanted = {
        "flag": "true or false",
        "number": "a number, 0 or more",
        "table": "a table of KEY = VALUE",
    }.get(option.kind, "text")
    good: Any = None
    if option.kind == "flag":
        good = value if isinstance(value, bool) else None
    elif option.kind == "number":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        good = float(value) if number and math.isfinite(value) and value >= 0 else None
    elif option.kind == "table":
        plain = isinstance(value, dict) and all(
            isinstance(item, str | int | float) and not isinstance(item, bool) for item in value.values()
        )
        good = {key: str(item) for key, item in value.items()} if plain else None
    elif isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        good = str(value)
    if good is None:
        raise ConfigProblem(f"{where}: {option.name} must be {wanted}")
    if option.choices and good not in option.choices:
        raise ConfigProblem(f"{where}: {option.name} must be one of {', '.join(option.choices)}")
    return good


_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")


def _from_environment(environ: Mapping[str, str]) -> tuple[Layer, tuple[str, ...]]:
    variables = {option.variable: option for option in OPTIONS.values()}
    layer: Layer = {}
    remarks = []
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable in NOT_OPTIONS:
            continue
        if variable.startswith(tuple(f"{PREFIX}{name.upper()}_" for name in SECTIONS)):
            continue
        if variable in variables:
            option = variables[variable]
            layer[option.name] = (_value(option, _parsed(option, environ[variable]), variable), variable)
            continue
        near = get_close_matches(variable, variables, 1, 0.85)
        if near:
            remarks.append(f"{variable} is not known and has no effect: did you mean {near[0]}?")
    return layer, tuple(remarks)


def _parsed(option: Option, text: str) -> Any:
    """The text of a variable in the form that a file would give it; None where it has none."""
    if option.kind == "flag":
        word = text.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else None
    if option.kind == "number":
        try:
            return float(text)
        except ValueError:
            return None
    if option.kind == "table":
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        bad = any(not separator or not key.strip() for key, separator, _ in pairs)
        return None if bad else {key.strip(): value.strip() for key, _, value in pairs}
    return text
