"""One step line of OpenRLHF: `✨ Global step 12: {'reward': 0.5, 'timing/generation': 12.5, …}`.

Pure functions on strings. The dict is Python's repr of the trainer's status: keys in any order (since 0.9.8
the actor's keys come out of a set), values with `nan`, `inf`, `None`, NumPy scalars and tensors among them.
Nothing is evaluated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BEFORE = r"^\s*(?:\([\w ]{1,60}\)\s*)?(?:[^\]{}\n]{0,120}\]\s*)?(?:✨\s*)?"
"""What may stand between the start of a line and the words: a prefix that lost its pid, the logger's."""

STEP = re.compile(_BEFORE + r"Global step (?P<step>\d{1,12})(?: \[\w+\])?:\s*(?P<dict>\{.*)?$", re.DOTALL)
"""A step line; without `dict` where somebody reformatted it."""

_PAIR = re.compile(
    r"(?P<quote>['\"])(?P<key>(?:(?!(?P=quote)).){1,200})(?P=quote)\s*:\s*"
    r"(?P<value>(?:[\w.]+\()?[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)(?:[^(){}\[\]]*\))?"
    r"|None|True|False)(?=\s*[,}])"
)
"""A key and a number, believed only where a comma or a brace shows that the number is whole."""

_KEY = re.compile(r"(['\"])((?:(?!\1).){1,200})\1\s*:")
_REST = re.compile(r"^\s*(?:(['\"])[^'\"]{1,200}\1\s*:|[\w./+-]{0,200}['\"]?\s*[,:}])")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)")
_SAMPLE = ("['", '["')
"""A response that the trainer prints as a list: it may hold anything, a step line too."""
_WORDS = {"True": 1.0, "False": 0.0}
_WRAPPED = re.compile(r"\w[\w.]*\(([^(),]+)(?:,[^()]*)?\)")

Pairs = tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Status:
    """What a printed dict says. `absent` are keys whose value is None, `dropped` keys whose value is no
    number or was cut; `closed` false when the closing brace is missing."""

    pairs: Pairs
    absent: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    closed: bool = True


@dataclass(frozen=True, slots=True)
class StepLine:
    """A step line. `status` None: the metrics do not follow as a dict. `sparkles`: the line has ✨."""

    step: int
    status: Status | None
    sparkles: bool


def parse_step_line(text: str) -> StepLine | None:
    """The step line in `text`, None when it is none."""
    if "Global step " not in text or text.lstrip().startswith(_SAMPLE):
        return None
    found = STEP.match(text)
    if found is None:
        return None
    body = found["dict"]
    status = None if body is None else parse_status(body)
    return StepLine(int(found["step"]), status, "✨" in found[0][: found.start("step") - found.start()])


def parse_status(body: str) -> Status:
    """The pairs of a printed dict, from its opening brace on."""
    pairs: dict[str, float] = {}
    absent: list[str] = []
    end = 0
    for match in _PAIR.finditer(body):
        value = _value(match["value"])
        end = match.end()
        if match["value"] == "None":
            absent.append(match["key"])
        elif value is not None:
            pairs[match["key"]] = value
    known = {*pairs, *absent}
    dropped = tuple(dict.fromkeys(key for _, key in _KEY.findall(body) if key not in known))
    return Status(tuple(pairs.items()), tuple(absent), dropped, "}" in body[end:])


def opens(text: str) -> bool:
    """True for a step line whose dict goes on below it."""
    if "Global step " not in text:
        return False
    found = STEP.match(text)
    return found is not None and found["dict"] is not None and "}" not in found["dict"]


def continues(text: str) -> bool:
    """True for text that can be the rest of a wrapped dict: it begins with a key, or with the rest of a key
    or a number."""
    return _REST.match(text) is not None


def _value(raw: str) -> float | None:
    wrapped = _WRAPPED.fullmatch(raw)
    inner = wrapped[1].strip() if wrapped is not None else raw
    if _NUMBER.fullmatch(inner):
        return float(inner)
    return _WORDS.get(inner)
