"""JSON Schema (draft 2020-12) of what `--json` prints."""

from __future__ import annotations

from typing import Any

from rollprof.analyzers.results import BASES
from rollprof.render.as_json import FORMAT
from rollprof.schema.tables import SCHEMA_VERSION, TABLES, TOKEN_BASES, Table

Schema = dict[str, Any]

_NUMBER: Schema = {"type": ["number", "null"]}
_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}


def _object(properties: dict[str, Schema], *, optional: tuple[str, ...] = (), closed: bool = True) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(set(properties) - set(optional)),
        "additionalProperties": not closed,
    }


def closed(properties: dict[str, Schema]) -> Schema:
    """An object with these properties, all of them, and no others."""
    return _object(properties)


def many(items: Schema) -> Schema:
    """A list of such things."""
    return _list(items)


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def described(schema: Schema, text: str) -> Schema:
    """A schema with a sentence about it."""
    return {**schema, "description": text}


_described = described


_BASIS: Schema = {"enum": [*BASES, None], "description": "how well it is known, strongest first"}
_BOUND: Schema = {"enum": ["upper", "lower", None]}
_INTERVAL: Schema = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}

_FIGURE = _described(
    _object(
        {
            "value": _described(_NUMBER, "null with an interval: a bracket; null without: not in this log"),
            "unit": _TEXT,
            "basis": _BASIS,
            "bound": _BOUND,
            "n": _described(_COUNT, "what it was computed over: steps, rollouts or prompts"),
            "interval": {"anyOf": [_INTERVAL, {"type": "null"}]},
            "others": _described(
                _map({"anyOf": [_NUMBER, _INTERVAL]}), "the same figure on other bases, by basis"
            ),
            "note": _TEXT,
        }
    ),
    "one figure over the run; `rollprof explain NAME` has its formula",
)

_STRAGGLER = _described(
    _object(
        {
            "prompt_id": _described(_TEXT_OR_NULL, "unsigned 64-bit number as text"),
            "length": _NUMBER,
            "reward": _NUMBER,
            "finish_reason": _TEXT_OR_NULL,
            "wait_s": _NUMBER,
            "why": _TEXT,
        }
    ),
    "the last rollout of the step",
)

_STEP: Schema = {
    "type": "object",
    "description": "non-null columns of steps.parquet and per-step figures, each by its name",
    "properties": {
        "step": {"type": "integer"},
        "basis": _map(_BASIS),
        "interval": _map(_INTERVAL),
        "bound": _map(_BOUND),
        "straggler": _ref("straggler"),
        "inferred": {"type": "boolean"},
        "split": _TEXT,
    },
    "required": ["basis", "step"],
    "additionalProperties": _NUMBER,
}

_RUN = _object(
    {
        "framework": _TEXT,
        "framework_version": _TEXT_OR_NULL,
        "trainer": _TEXT_OR_NULL,
        "steps": _COUNT,
        "rollouts": _COUNT,
        "prompts": _COUNT,
        "gpus": _NUMBER,
        "engines": _NUMBER,
        "response_cap": _NUMBER,
        "headline": _described(_TEXT, "name of the figure that is the GPU-idle headline"),
        "facts": _described(_map({"type": "object"}), "what is known of the job: value, origin, how"),
        "sources": _list({"type": "object"}),
        "versions": _map(_TEXT),
    }
)

_HISTOGRAM = {"bins": _list({"type": "number"}), "counts": _list(_COUNT)}
_LENGTHS = _described(
    _object(
        {
            "unit": _TEXT,
            "token_basis": {"enum": [*TOKEN_BASES, None]},
            "cap": _NUMBER,
            **_HISTOGRAM,
            "log": {"anyOf": [_object(_HISTOGRAM), {"type": "null"}]},
            "quantiles": _described(_list(_NUMBER), "0 %, 1 % ... 100 %"),
        }
    ),
    "bins has one more entry than counts; `log` has logarithmic bins",
)

_FINDING = _object(
    {
        "code": _TEXT,
        "severity": {"enum": ["alarm", "high", "medium", "low", "info"]},
        "text": _TEXT,
        "evidence": {"type": "object"},
        "next": _TEXT,
    }
)
_MISSING = _object({"figure": _TEXT, "why": _TEXT, "enable": _TEXT})
PROBLEM = _object(
    {
        "file": _TEXT,
        "offset": {"type": "integer"},
        "reason": _TEXT,
        "kind": {"enum": ["repaired", "skipped", "note", "info"]},
    }
)
LEDGER = _object(
    {
        "read": _described(_COUNT, "physical lines read as they stood"),
        "repaired": _COUNT,
        "skipped": _COUNT,
        "dropped": _described(_COUNT, "records left out on purpose, such as padding rows"),
        "notes": _COUNT,
        "unlisted": _described(_COUNT, "problems counted but not listed"),
        "problems": _list(_ref("problem")),
    },
    optional=("dropped", "notes", "unlisted"),
)

_ENGINE = _described(
    _object({"engine": _TEXT, "figures": _map(_ref("figure"))}),
    "one inference engine over the generations it was sampled in; names as the fleet's figures",
)
_SAMPLES = _described(
    _object(
        {
            "engines": _list(_TEXT),
            "gpus": _COUNT,
            "join": _described(
                {"enum": ["clock", "order", "alone", None]},
                "how engines' samples belong to steps; alone: the steps are the generations that only they "
                "show; null: refused, or no engine was sampled",
            ),
            "why": _described(_TEXT, "why the join was refused"),
            "inferred": {"type": "boolean"},
            "tick_s": _described(_NUMBER, "usual time between samples"),
            "zone_s": _described(_NUMBER, "added to the engines' clock, which names no time zone"),
            "skew_s": _described(_NUMBER, "how much later than the steps' clock it sees generation end"),
            "corrected_s": _described(_NUMBER, "added to the engines' clock, which is wrong"),
            "windows": _list(
                _object({"start": _NUMBER, "end": _NUMBER, "step": {"type": ["integer", "null"]}})
            ),
            "refused": _list(_object({"step": {"type": "integer"}, "why": _TEXT})),
        }
    ),
    "engines and GPUs sampled over time",
)

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "rollprof analysis",
    "description": "What `rollprof analyze --json` and `rollprof report --json` print.",
    **_object(
        {
            "format": {"const": FORMAT},
            "rollprof": _described(_TEXT, "version that wrote it"),
            "run": _ref("run"),
            "figures": _map(_ref("figure")),
            "steps": _list(_ref("step")),
            "eval_steps": _list(_ref("step")),
            "engines": _list(_ref("engine")),
            "samples": {"anyOf": [_ref("samples"), {"type": "null"}]},
            "lengths": _ref("lengths"),
            "difficulty": _list({"type": "object"}),
            "phases": _map(_ref("figure")),
            "findings": _list(_ref("finding")),
            "missing": _list(_ref("missing")),
            "whatif": {"type": ["object", "null"]},
            "ledger": _ref("ledger"),
        }
    ),
    "$defs": {
        "engine": _ENGINE,
        "figure": _FIGURE,
        "finding": _FINDING,
        "ledger": LEDGER,
        "lengths": _LENGTHS,
        "missing": _MISSING,
        "problem": PROBLEM,
        "run": _RUN,
        "samples": _SAMPLES,
        "step": _STEP,
        "straggler": _STRAGGLER,
    },
}


def described_tables() -> dict[str, Any]:
    """The Parquet tables, column by column, as plain values."""
    return {"schema_version": SCHEMA_VERSION, "tables": [_table(table) for table in TABLES]}


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "file": table.filename,
        "doc": table.doc,
        "columns": [
            {"name": c.name, "type": c.type, "unit": c.unit, "doc": c.doc}
            | ({"values": list(c.values)} if c.values else {})
            for c in table
        ],
    }
