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

_ENGINE_LOG = "the inference server's log (vLLM, SGLang) or scrapes of its /metrics, given beside the run"
_GPU_LOG = (
    "GPU samples given beside the run: nvidia-smi --query-gpu=timestamp,index,utilization.gpu --format=csv"
    " -l 1"
)

NOT_OPTIONS: Mapping[str, str] = {
    "fact.gpus": "--config gpus=N",
    "fact.engines": "--config engines=N",
    "fact.max_num_seqs": "--config max_num_seqs=N",
    "fact.response_cap": "--config response_cap=N",
    "fact.gpu_hour_cost": "--gpu-hour-cost PRICE",
    **dict.fromkeys(("engines.time", "engines.running", "engines.waiting"), _ENGINE_LOG),
    **dict.fromkeys(("engines.generation_tokens_s", "engines.kv_usage"), _ENGINE_LOG),
    **dict.fromkeys(("gpus.time", "gpus.utilization"), _GPU_LOG),
}
"""What the user can say or lay beside the log, where no option of the framework is known."""

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
        brings = meta.get("brings") or {}
        needs = remedy_needs(name, why, brings, have)
        found.append(Missing(name, why, "; ".join(dict.fromkeys(said(n, brings) for n in needs))))
    return found


def remedy_needs(figure: str, why: str, brings: Mapping[str, Any], have: frozenset[str]) -> tuple[str, ...]:
    """What has to be brought for an absent figure, as `needs` names it: () where nothing would help.

    Where the reason names one column or figure, what that needs.
    """
    spec = REGISTRY[figure]
    named = why.removesuffix(" is not logged").removesuffix(" is unknown")
    if named != why and named in COLUMN_FIGURES:
        need = f"steps.{named}"
        return (need,) if option_of(need, brings) else ()
    return _shortest(REGISTRY.get(named, spec) if named != why else spec, brings, have)


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


def _shortest(spec: FigureSpec, brings: Mapping[str, Any], have: frozenset[str]) -> tuple[str, ...]:
    """The lacks of the alternative that takes fewest options, among those whose lacks can all be met.

    What can be said on the command line goes before what another run would have to log.
    """
    ways: list[tuple[tuple[int, int], tuple[str, ...]]] = []
    for group in spec.needs:
        lacking = tuple(need for need in group if need not in have)
        options = {option_of(need, brings) for need in lacking}
        if options and None not in options:
            later = sum(o is not None and not o[0].startswith("--") for o in options)
            ways.append(((len(options), later), lacking))
    return min(ways, key=lambda way: way[0], default=((0, 0), ()))[1]


def option_of(need: str, brings: Mapping[str, Any]) -> tuple[str, str] | None:
    """The option that brings a column or a fact, and the releases that have it; None where none is known."""
    for key in (need, need.partition(".")[2]):
        entry = brings.get(key)
        if isinstance(entry, Mapping) and entry.get("option"):
            return str(entry["option"]), str(entry.get("releases") or "")
    own = NOT_OPTIONS.get(need)
    return None if own is None else (own, "")


def said(need: str, brings: Mapping[str, Any]) -> str:
    """The same as a phrase: `option (releases)`, "" where none is known."""
    option, releases = option_of(need, brings) or ("", "")
    return f"{option} ({releases})" if releases else option


def present(columns: Sequence[str], facts: Mapping[str, Any]) -> frozenset[str]:
    """Names of what the run has, from `table.column` names and the facts of its metadata."""
    said = {
        f"fact.{n}"
        for n, entry in facts.items()
        if isinstance(entry, Mapping) and entry.get("value") is not None
    }
    return frozenset(columns) | said
