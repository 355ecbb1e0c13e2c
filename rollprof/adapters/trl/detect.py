"""Is this file TRL's, and which of its files is it? Told by content, with the reason in words.

Any transformers Trainer writes `trainer_state.json` and prints dicts with a loss; only what belongs to a
trainer that generates its own responses counts here.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from rollprof.adapters.base import Claim
from rollprof.adapters.trl.completions import NUMBERED, TEXTS
from rollprof.adapters.trl.logdict import find_dicts, generates, headless, is_trainer_log
from rollprof.adapters.trl.numbering import PROGRESS_KEY
from rollprof.adapters.trl.tables import claim_table
from rollprof.adapters.trl.training_args import CARD
from rollprof.sources.records import SniffedFile
from rollprof.sources.searching import search_text

NAME = "trl"
WHOLE = {"whole_file": "1"}

_KEY = (
    rb"(?:completions?/|completion_length|(?:mean|min|max)_completion_length|"
    rb"reward|rewards/|objective/|rollout/|perf/)"
)
_QUOTED = rb"['\"](?:eval_)?"
_DICT = re.compile(
    rb"(?<!`)\{(?=\s*['\"][\w./ ()-]{1,200}['\"]\s*:)"
    rb"(?=[^{}]{0,6000}" + _QUOTED + rb"(?:loss|grad_norm|learning_rate|epoch|train_runtime)['\"]\s*:)"
    rb"(?=[^{}]{0,6000}" + _QUOTED + _KEY + rb")[^{}]{0,8000}\}?"
)
_DICT_MARKS = tuple(
    key + quote
    for key in (b"loss", b"grad_norm", b"learning_rate", b"epoch", b"train_runtime")
    for quote in (b"'", b'"')
)
_STATE_KEY = re.compile(
    rb'"(?:eval_)?(?:completions/|completion_length"|mean_completion_length"|reward"|objective/)'
)
_CARD_TAGS = re.compile(rb"^- trl\s*$", re.MULTILINE)
_ARGS = re.compile(rb"(?:GRPO|RLOO|PPO|OnlineDPO|NashMD|XPO)Config")


def claim(file: SniffedFile) -> Claim | None:
    """What of TRL's this file is, or None."""
    if file.kind == "parquet":
        return _completions(file)
    if file.kind in ("json_document", "json_lines"):
        return _history(file) or _logging_lines(file) or claim_table(file, NAME)
    if file.kind == "binary":
        return _training_args(file)
    if file.kind == "text":
        return _model_card(file) or _console(file)
    return None


def _completions(file: SniffedFile) -> Claim | None:
    numbered = NUMBERED.search(file.name) is not None
    series = file.name.rpartition("/")[0] or PurePath(file.path).parent.name if numbered else file.name
    if "problem" in file.metadata:
        return _dump(0.3, "completions of TRL by its name, damaged", series) if numbered else None
    columns = file.columns
    if columns[:3] != ("step", "prompt", "completion"):
        return None
    if "advantage" in columns:
        own = [c for c in columns if c not in TEXTS]
        score = 0.95 if numbered else 0.9
        return _dump(
            score, f"completions of TRL (step, prompt, completion, {', '.join(own[:3])}, advantage)", series
        )
    if columns == ("step", "prompt", "completion") and numbered:
        return _dump(0.7, "completions of TRL's DistillationTrainer (no rewards)", series)
    return None


def _dump(score: float, why: str, series: str) -> Claim:
    return Claim(NAME, "rollouts", score, why, series=series, hints=WHOLE)


def _history(file: SniffedFile) -> Claim | None:
    first = file.objects[0] if file.objects else {}
    if "log_history" not in first or "global_step" not in first:
        return None
    history = first["log_history"]
    own = isinstance(history, list) and any(isinstance(e, dict) and generates(e) for e in history)
    if not own and _STATE_KEY.search(file.head) is None:
        return None
    return Claim(
        NAME, "metrics", 0.95, "trainer_state.json of a TRL trainer (log_history with completions or rewards)"
    )


def _logging_lines(file: SniffedFile) -> Claim | None:
    rows = file.objects
    if not rows or PROGRESS_KEY not in rows[0] or not any(generates(r) for r in rows):
        return None
    return Claim(NAME, "metrics", 0.9, "logging.jsonl of ms-swift (a relative of TRL)")


def _training_args(file: SniffedFile) -> Claim | None:
    if not file.head.startswith(b"PK\x03\x04") or b"data.pkl" not in file.head or not _ARGS.search(file.head):
        return None
    return Claim(NAME, "config", 0.95, "training_args.bin of a TRL trainer")


def _model_card(file: SniffedFile) -> Claim | None:
    if not file.head.startswith(b"---") or not CARD.search(file.head) or not _CARD_TAGS.search(file.head):
        return None
    return Claim(NAME, "config", 0.9, "model card that TRL wrote (versions)")


def _console(file: SniffedFile) -> Claim | None:
    found = search_text(file, _DICT, _DICT_MARKS)
    if found is not None:
        text = found.group().decode("utf-8", "replace").replace("\r", "").replace("\n", "")  # wrapped
        for one in find_dicts(text):
            if is_trainer_log(one.values) and generates(one.values):
                return Claim(NAME, "console", 0.9, "console log of a TRL trainer (metric dicts)")
    if b"}" in file.head and headless(file.head.decode("utf-8", "replace")):
        why = "metrics of a TRL trainer whose dict has lost its opening brace"
        return Claim(NAME, "console", 0.5, why)
    return None
