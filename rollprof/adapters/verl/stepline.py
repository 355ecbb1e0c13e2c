"""One step line of verl's console logger: `step:12 - timing_s/gen:4.1 - critic/score/mean:0.63`.

Pure functions on strings. Until 0.4.1 every value has three decimals; since 0.5.0 values are Python reprs,
NumPy scalars included (`np.float64(0.0123)`), and both may stand in one line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

FAMILIES = frozenset(
    {
        "timing_s",
        "timing",
        "timing_per_token_ms",
        "actor",
        "critic",
        "global_seqlen",
        "response_length",
        "response_length_non_aborted",
        "response",
        "prompt_length",
        "perf",
        "mfu",
        "training",
        "train",
        "val",
        "val-core",
        "val-aux",
        "test_score",
        "num_turns",
        "tool_call_counts",
        "fully_async",
        "rollouter",
        "trainer",
        "dynamic_resource",
        "separate_async",
        "rollout",
        "rollout_corr",
        "reward_extra_info",
        "Tokens",
    }
)
"""First parts of verl's metric keys."""

BARE_KEYS = frozenset({"total_num_tokens", "time_per_step"})
"""Keys without a slash (0.2 and 0.3.dev)."""

STEP_START = re.compile(r"(?:^|(?<=it/s\])|(?<=s/it\])|(?<=\) )|(?<=\)))\s*step:(\d{1,12})(?= -|\s*$)")
"""Where a step line starts: at the start of a line, or glued to a progress bar or to Ray's prefix."""

_GLUED_START = re.compile(r"(?<=[\d)])(?=step:\d{1,12} - [\w.@-]+[/:])")
"""A step line that begins where another one was cut, without a newline between them."""

_SEPARATOR = re.compile(r"\s+-\s+(?=\S)|\s-(?=[A-Za-z])|(?<=[\d)nfe])-\s(?=[A-Za-z])")
"""` - `, and what is left of it where a terminal wrapped the line at one of its blanks."""

_GAP = re.compile(r"\s+(?:-\s*)?(?:\.{3,}|…)\s*|\s*-?\s*(?:\.{3,}|…)\s+(?=[A-Za-z])")
"""An ellipsis somebody left where they cut the line."""

_NUMPY = re.compile(r"^(?:np|numpy)\.[a-z]+\d*_?\((.+)\)$")
_NUMBER = re.compile(r"^[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|infinity)$", re.I)
_THREE_DECIMALS = re.compile(r"^-?(?:\d+\.\d{3}|nan|inf)$")
_GLUED_VALUE = re.compile(r":\s*[-+]?\d[\d.]*(?:e[-+]?\d+)?\s+\S|[\x00-\x1f]")
_BARE_NUMBER = re.compile(r"^[\s-]*[\d.eE+]*\)?$")

Format = Literal["fixed3", "repr"]


@dataclass(frozen=True, slots=True)
class StepLine:
    """What a step line says. `step` None: its head is missing. `dropped`: pieces that are no key and
    value; `format` None when the values do not tell."""

    step: int | None
    pairs: tuple[tuple[str, float], ...]
    dropped: tuple[str, ...] = ()
    format: Format | None = None


def parse_step_lines(text: str, *, complete: bool = True) -> list[StepLine]:
    """The step lines in `text`: none, one, or several that were glued together.

    `complete` false: the text ends where the file was cut, so a last value without a mark of its own end
    is not believed.
    """
    parts = _GLUED_START.split(text) if "step:" in text[1:] else [text]
    lines = [_parse(part, complete if at == len(parts) - 1 else False) for at, part in enumerate(parts)]
    return [line for line in lines if line is not None]


def _parse(text: str, complete: bool) -> StepLine | None:
    start = STEP_START.search(text)
    if start is not None:
        pairs, dropped, form = parse_pairs(text[start.end() :], complete=complete)
        if any(is_known(key) for key, _ in pairs) or any(is_known(piece) for piece in dropped):
            return StepLine(int(start.group(1)), pairs, dropped, form)
        return None
    if text.count(":") < 3 or " -" not in text:
        return None
    pairs, dropped, form = parse_pairs(text, complete=complete)
    known = [p for p in pairs if is_known(p[0])]
    if len(known) < 3 or 2 * len(known) < len(pairs) + len(dropped):
        return None
    return StepLine(None, pairs, dropped, form)


def parse_single(text: str) -> tuple[str, float] | None:
    """The pair of a line that holds one metric, ` - timing_s/gen:4.1` (a step line that somebody broke
    up); None for any other line."""
    stripped = text.strip()
    if not stripped.startswith("- "):
        return None
    pair, _ = _pair(stripped[2:].strip())
    return pair if pair is not None and is_known(pair[0]) else None


def parse_pairs(
    body: str, *, complete: bool = True
) -> tuple[tuple[tuple[str, float], ...], tuple[str, ...], Format | None]:
    """(pairs, dropped pieces, format of the values) of the part of a line after its step number."""
    pairs: list[tuple[str, float]] = []
    dropped: list[str] = []
    written: list[str] = []
    seen: set[str] = set()
    damaged = False
    parts = _GAP.split(body)
    pieces = [p for part in parts for p in _SEPARATOR.split(part)]
    for at, piece in enumerate(pieces):
        piece = piece.strip().removeprefix("- ").removesuffix(" -").strip()
        if not piece or piece == "-":
            continue
        pair, raw = _pair(piece)
        if pair is None or (damaged and not is_known(pair[0])):
            dropped.append(piece)
            damaged = damaged or at > 0 or not _BARE_NUMBER.match(piece)
            continue
        if pair[0] in seen:  # from here on it is another step's line
            dropped.extend(p.strip() for p in pieces[at:])
            break
        seen.add(pair[0])
        pairs.append(pair)
        written.append(raw)
    cut = not complete and bool(pairs) and pieces[-1].strip().endswith(written[-1])
    form = _format(written[:-1] if cut else written)
    if cut and not _shows_its_end(written[-1], form):
        dropped.append(f"{pairs[-1][0]}:{written[-1]}")
        pairs.pop()
    return tuple(pairs), (*dropped, *["..."] * (len(parts) - 1)), form


def is_known(key: str) -> bool:
    """True for a key of one of verl's families."""
    return key.partition("/")[0] in FAMILIES if "/" in key else key in BARE_KEYS


def parse_value(raw: str) -> float | None:
    """A value as either logger writes it; None when it is none."""
    if raw[:1] in "nN":
        wrapped = _NUMPY.match(raw)
        if wrapped is not None:
            raw = wrapped.group(1)
    if _NUMBER.match(raw):
        return float(raw)
    return {"True": 1.0, "False": 0.0}.get(raw)


def _pair(piece: str) -> tuple[tuple[str, float] | None, str]:
    key, colon, raw = piece.rpartition(":")
    key, raw = key.strip(), raw.strip()
    if not colon or not key or not raw or len(key) > 256 or _GLUED_VALUE.search(key):
        return None, raw
    value = parse_value(raw)
    return (None, raw) if value is None else ((key, value), raw)


def _shows_its_end(raw: str, form: Format | None) -> bool:
    """True for a value that cannot be the beginning of a longer one."""
    if raw.endswith((")", "True", "False")):
        return True
    return form == "fixed3" and bool(_THREE_DECIMALS.match(raw))


def _format(written: list[str]) -> Format | None:
    """Three decimals everywhere, or not. A single odd value may be a cut one; few pairs tell nothing."""
    odd = sum(not _THREE_DECIMALS.match(raw) for raw in written)
    if odd == 0:
        return "fixed3" if len(written) >= 3 else None
    return "repr" if odd > 1 else None
