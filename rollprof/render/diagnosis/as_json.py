"""The diagnosis as JSON: stable, sorted, versioned; described by `SCHEMA`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rollprof import __version__
from rollprof.doctor.results import Diagnosis
from rollprof.render.as_json import plain
from rollprof.render.json_schema import LEDGER, PROBLEM
from rollprof.render.json_shapes import Schema, closed, described, many

FORMAT = 1
"""1: first public form."""


def dumps(diagnosis: Diagnosis) -> str:
    """The document as text: sorted keys, two blanks of indentation, ASCII only, a final newline."""
    return json.dumps(document(diagnosis), sort_keys=True, indent=2, allow_nan=False) + "\n"


def document(diagnosis: Diagnosis) -> dict[str, Any]:
    """The document as plain Python values, valid against `SCHEMA`. What is not known is null."""
    found: dict[str, Any] = plain({"format": FORMAT, "rollprof": __version__, **asdict(diagnosis)})
    return found


_TEXT: Schema = {"type": "string"}
_MAYBE: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_STEP: Schema = {"type": ["integer", "null"]}
_NAMES = many(_TEXT)
_FLAG: Schema = {"type": "boolean"}
_INTERVAL: Schema = {
    "anyOf": [
        {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 2, "maxItems": 2},
        {"type": "null"},
    ]
}

_SOURCE = closed(
    {
        "path": _TEXT,
        "size": _COUNT,
        "adapter": _TEXT,
        "role": {"enum": ["rollouts", "metrics", "console", "config"]},
        "sink": described(_TEXT, "the tracker that wrote it, empty for none"),
        "why": _TEXT,
        "split": {"enum": ["train", "eval"]},
        "precision": {"enum": ["exact", "float32", "printed", "unknown"]},
        "steps": _COUNT,
        "first_step": _STEP,
        "last_step": _STEP,
        "columns": described(_NAMES, "of steps.parquet, that it alone would fill"),
        "facts": _NAMES,
        "samples": described(_COUNT, "of engines and GPUs"),
        "runs": described(_NAMES, "that it is part of"),
    }
)
_RUN = closed(
    {
        "name": _TEXT,
        "steps": _COUNT,
        "files": _COUNT,
        "joins": many(closed({"path": _TEXT, "why": _TEXT})),
        "older": described(_FLAG, "an earlier run in the same file"),
        "chosen": _FLAG,
    }
)
_FIGURE = closed(
    {
        "figure": _TEXT,
        "value": {"type": ["number", "null"]},
        "unit": _TEXT,
        "basis": _MAYBE,
        "bound": {"enum": ["upper", "lower", None]},
        "interval": _INTERVAL,
        "note": _TEXT,
    }
)
_REMEDY = closed(
    {
        "option": _TEXT,
        "releases": described(_TEXT, "that have the option"),
        "fits": described({"enum": ["yes", "no", "unknown"]}, "whether this log's release is one of them"),
        "none": described(_FLAG, "there is no such option: `option` says so"),
        "brings": _NAMES,
        "improves": described(_NAMES, "figures that it would put on a better basis"),
    }
)

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "rollprof diagnosis",
    "description": "What `rollprof doctor --json` prints.",
    **closed(
        {
            "format": {"const": FORMAT},
            "rollprof": _TEXT,
            "framework": _TEXT,
            "title": _TEXT,
            "version": described(_MAYBE, "release or range"),
            "trainer": _MAYBE,
            "sources": many(_SOURCE),
            "strangers": many(
                closed({"path": _TEXT, "size": _COUNT, "kind": _TEXT, "why": _TEXT, "keys": _NAMES})
            ),
            "runs": many(_RUN),
            "run": described(_MAYBE, "the one that was diagnosed"),
            "facts": many(closed({"name": _TEXT, "value": {}, "origin": _TEXT, "how": _TEXT})),
            "figures": many(_FIGURE),
            "missing": many(closed({"figure": _TEXT, "why": _TEXT, "enable": _TEXT})),
            "remedies": many(_REMEDY),
            "traps": many(
                closed({"code": _TEXT, "text": _TEXT, "handled": _FLAG, "evidence": {"type": "object"}})
            ),
            "notes": _NAMES,
            "snippet": {"anyOf": [closed({"file": _TEXT, "use": _TEXT, "code": _TEXT}), {"type": "null"}]},
            "ledger": LEDGER,
            "problem": described(_MAYBE, "why there are no figures"),
            "usable": _FLAG,
        }
    ),
    "$defs": {"problem": PROBLEM},
}
