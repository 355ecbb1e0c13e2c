"""JSON Schema (draft 2020-12) of what `--json` prints."""

from __future__ import annotations

from typing import Any

from rollprof.analyzers.results import BASES
from rollprof.render.as_json import FORMAT
from rollprof.render.json_shapes import (
    COUNT,
    INTERVAL,
    NUMBER,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    by_name,
    closed,
    described,
    many,
    or_null,
    ref,
)
from rollprof.render.whatif_schema import SCHEMA as WHATIF
from rollprof.schema.tables import SCHEMA_VERSION, TABLES, TOKEN_BASES, Table

_BASIS: Schema = {"enum": [*BASES, None], "description": "how well it is known, strongest first"}
_BOUND: Schema = {"enum": ["upper", "lower", None]}

_FIGURE = described(
    closed(
        {
            "value": described(NUMBER, "null with an interval: a bracket; null without: not in this log"),
            "unit": TEXT,
            "basis": _BASIS,
            "bound": _BOUND,
            "n": described(COUNT, "what it was computed over: steps, rollouts or prompts"),
            "interval": or_null(INTERVAL),
            "others": described(
                by_name({"anyOf": [NUMBER, INTERVAL]}), "the same figure on other bases, by basis"
            ),
            "note": TEXT,
        }
    ),
    "one figure over the run; `rollprof explain NAME` has its formula",
)

_STRAGGLER = described(
    closed(
        {
            "prompt_id": described(TEXT_OR_NULL, "unsigned 64-bit number as text"),
            "length": NUMBER,
            "reward": NUMBER,
            "finish_reason": TEXT_OR_NULL,
            "wait_s": NUMBER,
            "why": TEXT,
        }
    ),
    "the last rollout of the step",
)

_STEP: Schema = {
    "type": "object",
    "description": "non-null columns of steps.parquet and per-step figures, each by its name",
    "properties": {
        "step": {"type": "integer"},
        "basis": by_name(_BASIS),
        "interval": by_name(INTERVAL),
        "bound": by_name(_BOUND),
        "straggler": ref("straggler"),
        "inferred": {"type": "boolean"},
        "split": TEXT,
    },
    "required": ["basis", "step"],
    "additionalProperties": NUMBER,
}

_RUN = closed(
    {
        "framework": TEXT,
        "framework_version": TEXT_OR_NULL,
        "trainer": TEXT_OR_NULL,
        "steps": COUNT,
        "rollouts": COUNT,
        "prompts": COUNT,
        "gpus": NUMBER,
        "engines": NUMBER,
        "response_cap": NUMBER,
        "headline": described(TEXT, "name of the figure that is the GPU-idle headline"),
        "facts": described(by_name({"type": "object"}), "what is known of the job: value, origin, how"),
        "sources": many({"type": "object"}),
        "versions": by_name(TEXT),
    }
)

_HISTOGRAM = {"bins": many({"type": "number"}), "counts": many(COUNT)}
_LENGTHS = described(
    closed(
        {
            "unit": TEXT,
            "token_basis": {"enum": [*TOKEN_BASES, None]},
            "cap": NUMBER,
            **_HISTOGRAM,
            "log": or_null(closed(_HISTOGRAM)),
            "quantiles": described(many(NUMBER), "0 %, 1 % ... 100 %"),
        }
    ),
    "bins has one more entry than counts; `log` has logarithmic bins",
)

_FINDING = closed(
    {
        "code": TEXT,
        "severity": {"enum": ["alarm", "high", "medium", "low", "info"]},
        "text": TEXT,
        "evidence": {"type": "object"},
        "next": TEXT,
    }
)
_MISSING = closed({"figure": TEXT, "why": TEXT, "enable": TEXT})
PROBLEM = closed(
    {
        "file": TEXT,
        "offset": {"type": "integer"},
        "reason": TEXT,
        "kind": {"enum": ["repaired", "skipped", "note", "info"]},
    }
)
LEDGER = closed(
    {
        "read": described(COUNT, "physical lines read as they stood"),
        "repaired": COUNT,
        "skipped": COUNT,
        "dropped": described(COUNT, "records left out on purpose, such as padding rows"),
        "notes": COUNT,
        "unlisted": described(COUNT, "problems counted but not listed"),
        "problems": many(ref("problem")),
    },
    optional=("dropped", "notes", "unlisted"),
)

_ENGINE = described(
    closed({"engine": TEXT, "figures": by_name(ref("figure"))}),
    "one inference engine over the generations it was sampled in; names as the fleet's figures",
)
_SAMPLES = described(
    closed(
        {
            "engines": many(TEXT),
            "gpus": COUNT,
            "join": described(
                {"enum": ["clock", "order", "alone", None]},
                "how engines' samples belong to steps; alone: the steps are the generations that only they "
                "show; null: refused, or no engine was sampled",
            ),
            "why": described(TEXT, "why the join was refused"),
            "inferred": {"type": "boolean"},
            "tick_s": described(NUMBER, "usual time between samples"),
            "zone_s": described(NUMBER, "added to the engines' clock, which names no time zone"),
            "skew_s": described(NUMBER, "how much later than the steps' clock it sees generation end"),
            "corrected_s": described(NUMBER, "added to the engines' clock, which is wrong"),
            "windows": many(closed({"start": NUMBER, "end": NUMBER, "step": {"type": ["integer", "null"]}})),
            "refused": many(closed({"step": {"type": "integer"}, "why": TEXT})),
        }
    ),
    "engines and GPUs sampled over time",
)

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "rollprof analysis",
    "description": "What `rollprof analyze --json` and `rollprof report --json` print.",
    **closed(
        {
            "format": {"const": FORMAT},
            "rollprof": described(TEXT, "version that wrote it"),
            "run": ref("run"),
            "figures": by_name(ref("figure")),
            "steps": many(ref("step")),
            "eval_steps": many(ref("step")),
            "engines": many(ref("engine")),
            "samples": or_null(ref("samples")),
            "lengths": ref("lengths"),
            "difficulty": many({"type": "object"}),
            "phases": by_name(ref("figure")),
            "findings": many(ref("finding")),
            "missing": many(ref("missing")),
            "whatif": or_null(ref("whatif")),
            "ledger": ref("ledger"),
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
        "whatif": WHATIF,
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
