"""A comparison as JSON: stable, sorted, versioned. `document` is also what an HTML report embeds."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rollprof import __version__
from rollprof.analyzers.results import Figure
from rollprof.compare.change import Change
from rollprof.compare.comparison import Comparison, Row, Side
from rollprof.compare.decomposition import Decomposition
from rollprof.compare.overlay import Overlay

FORMAT = 1
"""1: first public form."""


def render(comparison: Comparison) -> str:
    """The document as text: sorted keys, ASCII, a final newline."""
    return json.dumps(document(comparison), sort_keys=True, indent=2, allow_nan=False) + "\n"


def document(comparison: Comparison) -> dict[str, Any]:
    """The document as plain Python values: only what JSON has, NaN and infinities as null.

    `runs` in order; every list of changes has an entry for each run but the first.
    """
    found: dict[str, Any] = _plain(
        {
            "format": FORMAT,
            "rollprof": __version__,
            "runs": [_side(side) for side in comparison.sides],
            "figures": {row.name: _row(row) for row in comparison.rows},
            "settings": {setting.name: setting.values for setting in comparison.settings},
            "lengths": _overlay(comparison.lengths) if comparison.lengths is not None else None,
            "generation": [_generation(one) for one in comparison.generation],
        }
    )
    return found


def _side(side: Side) -> dict[str, Any]:
    run = side.run
    return {
        "label": side.label,
        "framework": run.framework,
        "framework_version": run.framework_version,
        "headline": side.headline,
        "steps": run.steps,
        "rollouts": run.rollouts,
        "prompts": run.prompts,
        "gpus": run.gpus,
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "unit": row.unit,
        "runs": [_figure(figure) for figure in row.figures],
        "changes": [_change(change) for change in row.changes],
    }


def _figure(figure: Figure | None) -> dict[str, Any] | None:
    if figure is None:
        return None
    return {
        "value": figure.value,
        "basis": figure.basis,
        "bound": figure.bound,
        "interval": figure.interval,
        "n": figure.n,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "difference": change.difference,
        "relative": change.relative,
        "interval": change.interval,
        "relative_interval": change.relative_interval,
        "p": change.p,
        "word": change.word,
        "matched_length": change.matched,
        "steps": change.steps,
        "how": change.how,
        "why": change.why,
    }


def _overlay(overlay: Overlay) -> dict[str, Any]:
    return {
        "unit": overlay.unit,
        "bins": overlay.edges,
        "shares": overlay.shares,
        "quantiles": overlay.quantiles,
    }


def _generation(found: Decomposition | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"why": found, "parts": [], "main": ""}
    return {
        "why": "",
        "old_s": found.old_s,
        "new_s": found.new_s,
        "change_s": found.change_s,
        "interval": found.interval,
        "main": found.main,
        "pace": found.pace,
        "pace_interval": found.pace_interval,
        "elsewhere_known": found.elsewhere_known,
        "steps": found.steps,
        "parts": [
            {"factor": p.factor, "name": p.name, "seconds": p.seconds, "interval": p.interval}
            for p in found.parts
        ],
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item) for item in value]
    return str(value)
