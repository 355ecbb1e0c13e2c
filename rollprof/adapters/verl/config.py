"""The configuration of a run, from what its console shows of it.

verl prints its resolved configuration (a `pprint` of up to 929 lines, each behind Ray's prefix, other
workers' lines in between); scripts run with `set -x` show the command line. Both end as dotted paths:
`trainer.n_gpus_per_node` -> 8. Never evaluated: literals only. What looks like a secret is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Config = dict[str, Any]

START = "{'actor_rollout_ref': {"
MAX_LINES = 5_000
MAX_CHARS = 1 << 20

_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_ITEM = re.compile(
    r"(?P<key>'(?:[^'\\]|\\.)*'):(?: (?P<value>\{(?!\})|\{\}|\[[^\[\]]*\]|"
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s,{}\[\]()'\"]+))?|(?P<close>\})"
)
_SECRET = re.compile(
    r"(?:^|[._])(?:api_?key|secret\w*|passwo?r?d|passphrase|access_key\w*|private_key|credentials?|"
    r"(?:auth|hf|hub|wandb|access|bearer|api)_?(?:token|key)|token)$",
    re.IGNORECASE,
)
_ROOTS = (
    "actor_rollout_ref|data|trainer|algorithm|critic|reward_model|reward|rollout|async_training|"
    "ray_kwargs|ray_init|global_profiler|custom_reward_function|distillation|skip"
)
_OVERRIDE = re.compile(
    rf"(?<![\w./=$-])[+]{{0,2}}((?:{_ROOTS})(?:\.\w+)+)="
    r"(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|\$\{?\w+\}?|[^\s'\"\\,;`)\]]+)"
)
_VARIABLE = re.compile(r"^\s*(?:\++\s)?(?:export\s)?([A-Za-z_]\w*)=(\"[^\"]*\"|'[^']*'|[^\s#;'\"$()]+)")
_REFERENCE = re.compile(r"^\$\{?(\w+)\}?$")
ENTRY = re.compile(r"\bpython3?\s+(?:-\S+\s+)*?-m\s+([\w.]*(?:main_\w+|fully_async\w*)[\w.]*)")
"""The module a command line starts: `verl.trainer.main_ppo`, `recipe.dapo.main_dapo`, …"""


def begins(text: str) -> bool:
    """True for the first line of a configuration dump."""
    return text.lstrip().startswith(START)


class DumpReader:
    """Collects the lines of one configuration dump; the caller feeds lines of one actor and process."""

    def __init__(self, first: str) -> None:
        self._lines = [first.lstrip()]
        self._depth = _balance(self._lines[0])
        self._chars = len(first)

    @property
    def done(self) -> bool:
        """All brackets closed, or more text than any dump has."""
        return self._depth <= 0 or len(self._lines) >= MAX_LINES or self._chars > MAX_CHARS

    def feed(self, text: str) -> bool:
        """Take a line if it can be part of the dump (pprint indents every line but the first)."""
        if not text.startswith(" ") or not text.strip():
            return False
        self._lines.append(text)
        self._chars += len(text)
        self._depth += _balance(text)
        return True

    def result(self) -> tuple[Config, bool]:
        """(settings, whole): `whole` false when pieces of the dump are missing or foreign text is in it."""
        nested = _literal("\n".join(self._lines)) if self._depth == 0 else None
        if isinstance(nested, dict):
            return flatten(nested), True
        return by_columns(self._lines), False


def flatten(nested: Mapping[Any, Any]) -> Config:
    """Nested mappings as dotted paths; lists stay lists; secrets are left out."""
    flat: Config = {}
    stack: list[tuple[str, Mapping[Any, Any]]] = [("", nested)]
    while stack:
        prefix, mapping = stack.pop()
        for key, value in mapping.items():
            path = f"{prefix}{key}"
            if isinstance(value, dict):
                stack.append((f"{path}.", value))
            elif not _SECRET.search(path):
                flat[path] = value
    return flat


def by_columns(lines: Sequence[str]) -> Config:
    """Settings of a damaged dump, nested by the column in which each key stands.

    pprint puts the keys of a mapping exactly behind its opening brace, in order, so a key belongs to the
    open mapping whose column it stands in and whose keys it follows, and to none when the line that opened
    it is lost. Values that span lines (lists, long strings) are left out.
    """
    flat: Config = {}
    stack = [_Open("", 1, -1)]
    for number, line in enumerate(lines):
        for item in _ITEM.finditer(line):
            if item["close"]:
                if len(stack) > 1:
                    stack.pop()
                continue
            key = str(_literal(item["key"]))
            depth = _home(stack, item.start(), number, key)
            if depth is None:
                continue
            del stack[depth:]
            stack[-1].last = key
            if item["value"] == "{":
                stack.append(_Open(key, item.end(), number))
            elif item["value"] and line[item.end() : item.end() + 1] in (",", "}"):
                path = ".".join([*(level.key for level in stack[1:]), key])
                value = _literal(item["value"])
                known = value is not None or item["value"] == "None"
                if known and value != {} and not _SECRET.search(path):
                    flat[path] = value
    return flat


@dataclass(slots=True)
class _Open:
    """A mapping whose keys stand at `column`; opened on `line`; `last` is its latest key."""

    key: str
    column: int
    line: int
    last: str = ""


def _home(stack: Sequence[_Open], column: int, line: int, key: str) -> int | None:
    """How many levels of `stack` enclose a key at `column`; None when it is nobody's."""
    for depth in range(len(stack), 0, -1):
        level = stack[depth - 1]
        if level.column == column or level.line == line:
            return depth if key > level.last else None
    return None


class CommandReader:
    """Collects Hydra overrides from command lines and scripts that a log begins with."""

    def __init__(self) -> None:
        self.settings: Config = {}
        self._variables: dict[str, str] = {}

    def feed(self, text: str) -> bool:
        """Take the overrides in a line; True when it had any."""
        found = False
        if "=" not in text:
            return False
        for path, raw in _OVERRIDE.findall(text):
            value = self._resolve(raw)
            if value is not None and not _SECRET.search(path):
                self.settings[path] = _scalar(value)
                found = True
        if not found:
            variable = _VARIABLE.match(text)
            if variable is not None:
                self._variables[variable.group(1)] = variable.group(2).strip("'\"")
        return found

    def _resolve(self, raw: str) -> str | None:
        reference = _REFERENCE.match(raw.strip("'\""))
        if reference is not None:
            return self._variables.get(reference.group(1))
        return None if "$" in raw else raw


def merged(configs: Iterable[Config]) -> Config:
    """Settings of several launches of one run: the latest word counts."""
    out: Config = {}
    for config in configs:
        out.update(config)
    return out


def _balance(text: str) -> int:
    bare = _STRING.sub("", text)
    return sum(map(bare.count, "{[(")) - sum(map(bare.count, "}])"))


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _scalar(raw: str) -> Any:
    """A Hydra value: null, true, numbers, lists and quoted strings; anything else is text."""
    text = raw.strip().strip("'\"")
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(item) for item in text[1:-1].split(",") if item.strip()]
    lowered = text.lower()
    if lowered in ("null", "none", "true", "false"):
        return {"true": True, "false": False}.get(lowered)
    value = _literal(text) if re.fullmatch(r"[-+]?[\d._eE+-]+", text) else None
    return value if isinstance(value, int | float) else text
