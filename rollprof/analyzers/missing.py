"""Figures that this log cannot give: why, and which option of the framework would bring them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.analyzers.registry import COLUMN_FIGURES, REGISTRY
from rollprof.analyzers.results import Figure, Missing

SILENT = frozenset(
    {
        *COLUMN_FIGURES,
        *(n for n in REGISTRY if n.startswith("phase_share_")),
        *(n for n in REGISTRY if n.endswith("_tokens") and n.startswith("straggler_wait")),
    }
)
"""Not listed: a column that the log lacks is said once, by the figures that need it."""

NOT_OPTIONS: Mapping[str, str] = {
    "fact.gpus": "--config gpus=N",
    "fact.engines": "--config engines=N",
    "fact.max_num_seqs": "--config max_num_seqs=N",
    "fact.response_cap": "--config response_cap=N",
    "fact.gpu_hour_cost": "--gpu-hour-cost PRICE",
}
"""What the user can say where the log does not."""

NOT_APPLICABLE = "rollouts and training share their GPUs"
"""Nothing is missing where a figure has no meaning."""


def missing_figures(
    figures: Mapping[str, Figure], meta: Mapping[str, Any], have: frozenset[str]
) -> list[Missing]:
    """Every figure of the registry without a value or a bracket, in the registry's order.

    `have` names what the run has, as `needs` names it (`rollouts.started_at`, `fact.gpus`).
    """
    found = []
    for name, spec in REGISTRY.items():
        figure = figures.get(name)
        if name in SILENT or (
            figure is not None and (figure.value is not None or figure.interval is not None)
        ):
            continue
        why = figure.note if figure is not None and figure.note else _why(spec, have)
        if why == NOT_APPLICABLE:
            continue
        found.append(Missing(name, why, _remedy(spec, why, meta.get("brings") or {}, have)))
    return found


def _remedy(spec: FigureSpec, why: str, brings: Mapping[str, Any], have: frozenset[str]) -> str:
    """What would bring a figure. Where the reason names one column or figure, what would bring that."""
    named = why.removesuffix(" is not logged").removesuffix(" is unknown")
    if named != why and named in COLUMN_FIGURES:
        return _option(f"steps.{named}", brings) or ""
    return _enable(REGISTRY.get(named, spec) if named != why else spec, brings, have)


def _why(spec: FigureSpec, have: frozenset[str]) -> str:
    """What the nearest alternative lacks: the one of which most is there, the best of those."""
    nearest = min(spec.needs, key=lambda group: sum(n not in have for n in group) / len(group))
    lacking = [_plain(n) for n in nearest if n not in have]
    if not lacking:
        return "not computed from this log"
    return "not in this log: " + ", ".join(dict.fromkeys(lacking))


def _plain(need: str) -> str:
    table, _, name = need.partition(".")
    return f"{name} of rollouts" if table == "rollouts" else f"{table} samples" if table in _SAMPLES else name


_SAMPLES = ("engines", "gpus")


def _enable(spec: FigureSpec, brings: Mapping[str, Any], have: frozenset[str]) -> str:
    """Options for the alternative that lacks least and whose lacks can all be met; "" where none can."""
    ways: list[list[str]] = []
    for group in spec.needs:
        options = [_option(need, brings) for need in group if need not in have]
        if options and all(options):
            ways.append(list(dict.fromkeys(o for o in options if o)))
    shortest = min(ways, key=len, default=[])
    return "; ".join(shortest)


def _option(need: str, brings: Mapping[str, Any]) -> str | None:
    for key in (need, need.partition(".")[2]):
        entry = brings.get(key)
        if isinstance(entry, Mapping) and entry.get("option"):
            releases = str(entry.get("releases") or "")
            return f"{entry['option']} ({releases})" if releases else str(entry["option"])
    return NOT_OPTIONS.get(need)


def present(columns: Sequence[str], facts: Mapping[str, Any]) -> frozenset[str]:
    """Names of what the run has, from `table.column` names and the facts of its metadata."""
    said = {
        f"fact.{n}"
        for n, entry in facts.items()
        if isinstance(entry, Mapping) and entry.get("value") is not None
    }
    return frozenset(columns) | said
