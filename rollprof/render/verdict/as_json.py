"""The verdict as JSON: stable, sorted, versioned."""

from __future__ import annotations

import json
import math
from typing import Any

from rollprof import __version__
from rollprof.gate.verdict import Outcome, Verdict

FORMAT = 1
"""1: first public form."""


def render(verdict: Verdict) -> str:
    """The document as text: sorted keys, ASCII, a final newline."""
    return json.dumps(document(verdict), sort_keys=True, indent=2, allow_nan=False) + "\n"


def document(verdict: Verdict) -> dict[str, Any]:
    """The document as plain Python values."""
    counts: dict[str, int] = dict.fromkeys(("broken", "unknown", "undecided", "holds", "skipped"), 0)
    for outcome in verdict.outcomes:
        counts[outcome.status] += 1
    return {
        "format": FORMAT,
        "rollprof": __version__,
        "exit_code": verdict.exit_code,
        "failed": verdict.failed,
        "steps": verdict.steps,
        "counts": counts,
        "rules": [_outcome(outcome, verdict) for outcome in verdict.outcomes],
    }


def _outcome(outcome: Outcome, verdict: Verdict) -> dict[str, Any]:
    rule = outcome.rule
    worst = outcome.worst
    return {
        "figure": outcome.figure,
        "asked": rule.figure,
        "kind": rule.kind,
        "limit": rule.limit.value,
        "limit_text": rule.limit.text,
        "relative": outcome.relative or rule.limit.relative,
        "aggregate": rule.aggregate or "run",
        "level": rule.level,
        "require_basis": rule.require_basis,
        "place": {"text": rule.place.words, "file": rule.place.file, "line": rule.place.line},
        "status": outcome.status,
        "fails": verdict.fails(outcome),
        "value": _finite(outcome.value),
        "interval": None if outcome.interval is None else [_finite(end) for end in outcome.interval],
        "unit": outcome.unit,
        "basis": outcome.basis,
        "bound": outcome.bound,
        "steps": outcome.steps,
        "worst": None if worst is None else {"step": worst[0], "value": _finite(worst[1])},
        "baseline": _finite(outcome.old) if rule.kind == "max_increase" else None,
        "now": _finite(outcome.new) if rule.kind == "max_increase" else None,
        "matched_length": outcome.matched,
        "steps_needed": outcome.steps_needed,
        "note": outcome.note,
        "why": outcome.why,
        "enable": outcome.enable,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
