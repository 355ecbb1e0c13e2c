"""The metric dicts that the transformers Trainer prints: `{'loss': 0.36, ..., 'epoch': 0.17}`.

transformers 4 prints raw floats (bare `nan` among them), 5 prints every float as a string of four
significant digits. The dict stands anywhere in a line, glued to progress bars and prefixes, and may be
printed over several lines. A dict behind a backtick is somebody's prose. Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Value = float | str | None

TRAINER_KEYS = frozenset({"loss", "grad_norm", "learning_rate", "epoch", "eval_loss", "train_runtime"})
"""Keys of any transformers Trainer, whatever it trains."""

ROLLOUT_KEYS = frozenset(
    {
        "completion_length",
        "mean_completion_length",
        "reward",
        "reward_std",
        "frac_reward_zero_std",
        "objective/rlhf_reward",
        "objective/scores",
        "eval_reward",
        "perf/rollout_wait_s",
        "queue_wait_time_s",
    }
)
ROLLOUT_FAMILIES = ("completions/", "eval_completions/", "rollout/")
"""Keys, and starts of keys, of a Trainer that generates its own data."""

MIN_KEYS = 3

_OPEN = re.compile(r"(?<!`)\{\s*(?=['\"][\w./ ()-]{1,200}['\"]\s*:)")
_PAIR = re.compile(
    r"\s*(?:'(?P<single>[^'\n]{1,200})'|\"(?P<double>[^\"\n]{1,200})\")\s*:\s*"
    r"(?P<value>'[^'\n]*'|\"[^\"\n]*\"|(?:np\.|numpy\.|torch\.)?[a-z]+\d*\([^()\n]*\)|[^\s,{}'\"()\[\]:]+)"
    r"\s*(?P<end>[,}])"
)
_WRAPPED = re.compile(r"^[a-z.]+\d*\(([^(),]*)", re.IGNORECASE)
_NUMBER = re.compile(
    r"^[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|nan|inf(?:inity)?)$", re.IGNORECASE
)
_HEADLESS = re.compile(r"^\s*'(?:[\w./ -]+)'\s*:\s*[^,{}]+,.*\}\s*$", re.DOTALL)

State = Literal["whole", "open"]


@dataclass(frozen=True, slots=True)
class Found:
    """A dict in a text. `open`: it goes on beyond the text. `quoted`: numbers stand as strings (four
    digits). `start` and `end` are its place."""

    start: int
    end: int
    values: Mapping[str, Value]
    state: State
    quoted: bool

    @property
    def numbers(self) -> dict[str, float]:
        """The entries that are numbers, NaN included."""
        return {k: v for k, v in self.values.items() if isinstance(v, float)}


def find_dicts(text: str) -> Iterator[Found]:
    """The metric dicts in `text` in order; only the last can be open."""
    at = 0
    while (opening := _OPEN.search(text, at)) is not None:
        found = _read(text, opening.start(), opening.end())
        if found is None:
            at = opening.end()
            continue
        yield found
        at = found.end


def is_trainer_log(values: Mapping[str, Value]) -> bool:
    """True for what `Trainer.log` prints: enough keys, and some that every Trainer logs."""
    return len(values) >= MIN_KEYS and any(k in TRAINER_KEYS for k in values)


def generates(values: Mapping[str, object]) -> bool:
    """True where the keys are those of a trainer that samples its own responses."""
    return any(k in ROLLOUT_KEYS or k.startswith(ROLLOUT_FAMILIES) for k in values)


def headless(text: str) -> bool:
    """True for the rest of a metric dict whose opening brace is missing."""
    if not _HEADLESS.match(text) or "{" in text:
        return False
    values = {m["single"] or m["double"]: None for m in _PAIR.finditer(text)}
    return is_trainer_log(values) and generates(values)


def number(text: str) -> Value:
    """A printed value: a number, None, or other text as it stands."""
    wrapped = _WRAPPED.match(text)
    plain = wrapped.group(1) if wrapped is not None else text
    if _NUMBER.match(plain):
        return float(plain)
    return {"None": None, "True": 1.0, "False": 0.0}.get(text, text)


def _read(text: str, start: int, at: int) -> Found | None:
    """The dict that opens at `start` with its first key at `at`; None when it is no flat dict."""
    values: dict[str, Value] = {}
    quoted = False
    while (pair := _PAIR.match(text, at)) is not None:
        raw = pair["value"]
        is_text = raw[0] in "'\""
        value = number(raw[1:-1] if is_text else raw)
        quoted = quoted or (is_text and isinstance(value, float))
        values[pair["single"] or pair["double"]] = value
        at = pair.end()
        if pair["end"] == "}":
            return Found(start, at, values, "whole", quoted)
    if not _may_go_on(text[at:]):
        return None
    return Found(start, len(text), values, "open", quoted)


_TAIL = re.compile(r"\s*(?:['\"][^'\"\n]{0,200}(?:['\"]\s*(?::\s*[^,{}\n]{0,80})?)?)?\s*$")


def _may_go_on(rest: str) -> bool:
    """Whether `rest` is the start of another pair, cut off."""
    return len(rest) < 300 and _TAIL.match(rest) is not None
