"""Partial rollouts and staleness: how old the weights were that produced the trained tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rollprof.analyzers.results import Basis, Figure, StepFigure

if TYPE_CHECKING:
    import polars as pl

NAMES = ("off_policy_token_share", "staleness_mean", "staleness_p95", "staleness_max", "resumed_share")


@dataclass(frozen=True, slots=True)
class Staleness:
    """Figures over the run and per step; `histogram[versions]` is the share of tokens that old."""

    figures: Mapping[str, Figure]
    steps: Mapping[int, Mapping[str, StepFigure]]
    histogram: Mapping[int, float]


def analyze_staleness(
    rollouts: pl.LazyFrame, segments: pl.LazyFrame, *, split: str = "train"
) -> Staleness | None:
    """Token-weighted staleness: version trained on minus version that produced the token.

    No log says which version a step trained; the newest one seen in the step stands in for it, so ages are
    lower bounds (a step that was generated wholly by old weights looks fresh). With segments every token
    has its version; with only the first and last version of a rollout its tokens are spread evenly between
    them (basis modelled where they differ). Rollouts that span versions were resumed. `rollouts` carries
    `rollout`, its row in the whole table, where it is only a part of it. None when no version is logged.
    """
    import polars as pl

    if "rollout" not in rollouts.collect_schema().names():
        rollouts = rollouts.with_row_index("rollout")
    rows = (
        rollouts.filter(pl.col("split").cast(pl.String) == split)
        .select(
            pl.col("rollout").cast(pl.Int64),
            "step",
            first=pl.col("policy_version_first"),
            last=pl.coalesce("policy_version_last", "policy_version_first"),
            tokens=pl.coalesce("generated_tokens", "response_tokens", pl.lit(1)).cast(pl.Float64),
        )
        .filter(pl.col("first").is_not_null() & pl.col("step").is_not_null())
        .with_columns(trained=pl.col("last").max().over("step"))
        .collect()
    )
    if rows.is_empty():
        return None
    parts, exact = _token_parts(rows, segments)
    resumed = rows.group_by("step").agg(share=(pl.col("last") > pl.col("first")).mean(), n=pl.len())
    return _summarise(parts, resumed, exact)


def _token_parts(rows: pl.DataFrame, segments: pl.LazyFrame) -> tuple[pl.DataFrame, bool]:
    """(step, stale, tokens): how many tokens of each step were how many versions old."""
    import polars as pl

    logged = (
        segments.filter(pl.col("policy_version").is_not_null() & pl.col("tokens").is_not_null())
        .select("rollout", "policy_version", pl.col("tokens").cast(pl.Float64))
        .collect()
    )
    if not logged.is_empty():
        joined = logged.join(rows.select("rollout", "step", "trained"), on="rollout")
        exact = joined.select("step", "tokens", stale=(pl.col("trained") - pl.col("policy_version")).clip(0))
        rest = rows.join(logged.select("rollout").unique(), on="rollout", how="anti")
        return pl.concat([exact, _spread(rest)]), not (rest["last"] > rest["first"]).any()
    return _spread(rows), not (rows["last"] > rows["first"]).any()


def _spread(rows: pl.DataFrame) -> pl.DataFrame:
    """Tokens of each rollout spread evenly over the versions it spans."""
    import polars as pl

    span = (pl.col("last") - pl.col("first") + 1).clip(1)
    return (
        rows.with_columns(tokens=pl.col("tokens") / span)
        .with_columns(version=pl.int_ranges("first", pl.col("first") + span))
        .explode("version")
        .select("step", "tokens", stale=(pl.col("trained") - pl.col("version")).clip(0))
    )


def _summarise(parts: pl.DataFrame, resumed: pl.DataFrame, exact: bool) -> Staleness:
    import polars as pl

    basis: Basis = "measured" if exact else "modelled"
    counted = parts.group_by("step", "stale").agg(pl.col("tokens").sum()).sort("step", "stale")
    spans = dict(zip(resumed["step"].to_list(), resumed["share"].to_list(), strict=True))
    steps: dict[int, dict[str, StepFigure]] = {}
    for (step,), part in counted.group_by("step"):
        values = _figures_of(part["stale"].to_numpy(), part["tokens"].to_numpy())
        values["resumed_share"] = float(spans[step])
        steps[int(step)] = {name: _step_figure(name, value, basis) for name, value in values.items()}
    pooled = counted.group_by("stale").agg(pl.col("tokens").sum()).sort("stale")
    values = _figures_of(pooled["stale"].to_numpy(), pooled["tokens"].to_numpy())
    rollouts = int(resumed["n"].sum())
    values["resumed_share"] = float((resumed["share"] * resumed["n"]).sum()) / rollouts
    units = {"off_policy_token_share": "fraction", "resumed_share": "fraction"}
    figures = {
        name: Figure(
            name,
            values[name],
            units.get(name, "versions"),
            "measured" if name == "resumed_share" else basis,
            bound=None if name == "resumed_share" else "lower",
            n=rollouts,
            note="" if name == "resumed_share" else "against the newest version in each step",
        )
        for name in NAMES
    }
    total = float(pooled["tokens"].sum()) or 1.0
    histogram = {int(s): float(t) / total for s, t in pooled.iter_rows()}
    return Staleness(figures, dict(sorted(steps.items())), histogram)


def _step_figure(name: str, value: float, basis: Basis) -> StepFigure:
    if name == "resumed_share":
        return StepFigure(value, "measured")
    return StepFigure(value, basis, bound="lower")


def _figures_of(stale: np.ndarray, tokens: np.ndarray) -> dict[str, float]:
    """Token-weighted figures; `stale` ascending. p95 is the least age that 95 % of tokens do not exceed."""
    total = tokens.sum() or 1.0
    share = np.cumsum(tokens) / total
    return {
        "off_policy_token_share": float(tokens[stale > 0].sum() / total),
        "staleness_mean": float((stale * tokens).sum() / total),
        "staleness_p95": float(stale[np.searchsorted(share, 0.95 - 1e-12)]),
        "staleness_max": float(stale.max()),
    }


def as_table(result: Staleness) -> dict[str, Any]:
    """The histogram as the reports show it."""
    return {"unit": "versions", "token_share": {str(k): v for k, v in result.histogram.items()}}
