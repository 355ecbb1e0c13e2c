"""Is this file verl's, and which of its files is it? Told by content, with the reason in words.

False friends are common: papers' tables and README files name verl's metrics, launch scripts name its
options. Only what verl itself writes counts: a step line at the start of a line, a dump's keys, the
file logger's two keys, the printed configuration.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Literal

from rollprof.adapters.base import Claim
from rollprof.adapters.verl import stepline
from rollprof.adapters.verl.dumps import group_of
from rollprof.sources.records import SniffedFile

NAME = "verl"

_FAMILIES = "|".join(sorted(map(re.escape, stepline.FAMILIES), key=len, reverse=True)).encode()
_KEY = rb"(?:(?:" + _FAMILIES + rb")/[^\s:]|total_num_tokens:|time_per_step:)"
_COLOUR = rb"(?:\x1b\[[0-9;]*[A-Za-z])*"
_PREFIX = _COLOUR + rb"(?:\([^()\n]{0,200}pid=\d*[^()\n]{0,80}\)" + _COLOUR + rb" ?)?"
_START = rb"(?:^[ \t]*|\r|it/s\]|s/it\])" + _PREFIX
"""Where verl begins to write: a line, what a progress bar left of one, or behind Ray's prefix there."""

_STEP_LINE = re.compile(_START + rb"step:\d{1,12} - (?:[^\n]{0,2000}? - )?" + _KEY, re.MULTILINE)
_VALUE = rb":[ ]?(?:np\.\w+\()?[-+]?(?:\d|nan|inf)[\w.+-]*\)?"
_BEHEADED = re.compile(rb"(?: - (?:" + _FAMILIES + rb")/[^\s:]+" + _VALUE + rb"){3}")
_BROKEN_UP = re.compile(rb"^\s*- (?:" + _FAMILIES + rb")/[^\s:]+" + _VALUE + rb"\s*$", re.MULTILINE)
_OTHER = re.compile(
    _START + rb"(?:(?P<config>\{'actor_rollout_ref': \{)|(?P<async>\[FullyAsync(?:Trainer|Rollouter)\]))"
    rb"|(?P<command>^\++ (?:\S+/)?python3? .*-m (?:verl|recipe)\.)|(?P<beheaded>" + _BEHEADED.pattern + rb")",
    re.MULTILINE,
)
_STEP_MARKS = (b"step:",)
_OTHER_MARKS = (
    b"{'actor_rollout_ref': {",
    b"[FullyAsync",
    b"-m verl.",
    b"-m recipe.",
    re.compile(rb" - [A-Za-z_-]{1,60}/"),
)
_RUNNER = re.compile(rb"\((?:TaskRunner(?:V1)?|main_task) pid=\d+")
_OVERRIDES = re.compile(rb"^(?:- [+~]{0,2}[\w.@/]+=[^\n]*(?:\n|\Z))+\Z")
_OWN_OVERRIDE = re.compile(rb"^- [+]{0,2}(?:actor_rollout_ref|algorithm|trainer)\.", re.MULTILINE)
_PROGRESS = b"Training Progress:"
_MIN_BROKEN_UP = 5

_EVAL = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "tests"})
_TRAIN = frozenset({"train", "training", "rollout", "rollouts"})
_WORDS = re.compile(r"[^A-Za-z]+")


def claim(file: SniffedFile) -> Claim | None:
    """What of verl's this file is, or None."""
    if file.kind in ("json_lines", "json_document"):
        return _claim_metrics(file) or _claim_dump(file)
    if file.kind == "text":
        return _claim_text(file)
    return None


def _claim_dump(file: SniffedFile) -> Claim | None:
    rows = file.objects
    texts = [r for r in rows if "input" in r and "output" in r]
    scored = [r for r in texts if "score" in r or "reward" in r]
    if not rows or 2 * len(scored) <= len(rows):
        return None
    stepped = 2 * sum("step" in r for r in scored) > len(scored)
    numbered = file.stem.isdigit()
    if not stepped and not numbered:
        return None
    uids = [r["uid"] for r in scored if "uid" in r]
    grouped = bool(uids) and all(group_of(u)[1] is not None for u in uids)
    split, why_split = _split_of(file, scored, v1=grouped)
    series = file.name.rpartition("/")[0] or PurePath(file.path).parent.name if numbered else file.name
    score = 0.98 if grouped else 0.95 if stepped else 0.5
    what = "rollout dump" if split == "train" else "validation dump"
    keys = "input, output, score" + (" and the v1 trainer's uid" if grouped else "")
    return Claim(
        NAME,
        "rollouts",
        score,
        f"{what} of verl ({keys} per line{why_split})",
        split,
        series,
        _era(rows, grouped),
    )


def _split_of(
    file: SniffedFile, rows: Sequence[dict[str, Any]], *, v1: bool
) -> tuple[Literal["train", "eval"], str]:
    """Evaluation is told by the folder's name, or by keys that the v1 trainer keeps for it."""
    folders = file.name.replace("\\", "/").split("/")[:-1]
    folders = folders or [PurePath(file.path).parent.name]
    for folder in reversed(folders):
        words = {w.lower() for w in _WORDS.split(folder)}
        if words & _EVAL:
            return "eval", f"; folder {folder!r}"
        if words & _TRAIN:
            return "train", ""
    if v1 and all("reward" in r for r in rows):
        return "eval", "; with the reward column of validation"
    return "train", ""


def _era(rows: Sequence[dict[str, Any]], grouped: bool) -> dict[str, str]:
    hints: dict[str, str] = {}
    if grouped:
        hints["mark.dump_v1"] = "1"
    elif any("gts" in r for r in rows):
        hints["mark.dump_gts"] = "1"
    if any("acc" in r and "pred" in r for r in rows):
        hints["score"] = "overwritten"
    return hints


def _claim_metrics(file: SniffedFile) -> Claim | None:
    rows = file.objects
    if not rows or not all(set(r) == {"step", "data"} and isinstance(r["data"], dict) for r in rows):
        return None
    known = any(stepline.is_known(key) for r in rows for key in r["data"])
    compact = (
        file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b'{"step":')
        and b'{"step": ' not in file.head[:64]
    )
    hints = {"mark.orjson" if compact else "mark.json_logger": "1"} if known else {}
    return Claim(
        NAME,
        "metrics",
        0.98 if known else 0.4,
        "metrics of verl's file logger (step and data per line)",
        hints=hints,
    )


def _claim_text(file: SniffedFile) -> Claim | None:
    from rollprof.sources.tree import search_text

    if _OVERRIDES.match(file.head) and _OWN_OVERRIDE.search(file.head):
        return Claim(NAME, "config", 0.9, "overrides that Hydra kept of a command line that starts verl")
    if search_text(file, _STEP_LINE, _STEP_MARKS):
        return Claim(NAME, "console", 0.97, "console log of verl (step lines)")
    if len(_BROKEN_UP.findall(file.head)) >= _MIN_BROKEN_UP:
        return Claim(NAME, "console", 0.8, "metrics of verl's console, one per line")
    found = search_text(file, _OTHER, _OTHER_MARKS)
    kind = found.lastgroup if found is not None else None
    if kind == "beheaded":
        return Claim(NAME, "console", 0.8, "console log of verl (the rest of a step line)")
    if kind == "async":
        return Claim(NAME, "console", 0.6, "console log of verl's fully asynchronous trainer")
    if kind == "config":
        return Claim(NAME, "config", 0.9, "configuration that verl prints when it starts")
    if kind == "command":
        return Claim(NAME, "config", 0.5, "trace of a command line that starts verl")
    if _PROGRESS in file.head and _RUNNER.search(file.head):
        return Claim(NAME, "console", 0.4, "console log of verl (its progress bar)")
    return None
