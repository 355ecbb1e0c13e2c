"""Dynamic sampling (DAPO): groups whose rewards do not vary teach nothing. How many, and at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rollprof.analyzers.groups import Graded, group_table
from rollprof.analyzers.results import Figure, StepFigure
from rollprof.stats.distance import ks_distance

if TYPE_CHECKING:
    import polars as pl

QUANTILES = (0.5, 0.9, 0.99)
KINDS = ("kept", "all right", "all wrong", "dropped")


@dataclass(frozen=True, slots=True)
class Sampling:
    """Figures over the run and per step, and the table of kept against dropped groups."""

    figures: Mapping[str, Figure]
    steps: Mapping[int, Mapping[str, StepFigure]]
    table: Mapping[str, Any]


def analyze_sampling(
    graded: Graded, groups: pl.DataFrame | None = None, *, resamples: int = 1000, seed: int = 0
) -> Sampling | None:
    """Zero-variance groups: their share of groups and of tokens, rounds needed, lengths kept and dropped.
    `groups` is the group table of `graded`, where it is made already.

    A group counts when at least two of its rollouts have a reward; it is dropped when all rewards are
    equal (DAPO, Yu et al. 2025). `dynamic_sampling_rounds` is 1/q, q the share of groups kept: what
    refilling would cost if prompts stay as they are. Intervals are 95 %, by resampling groups. None when
    there is no such group.
    """
    import polars as pl

    groups = (group_table(graded) if groups is None else groups).filter(pl.col("scored") >= 2)
    if groups.is_empty():
        return None
    flat = pl.col("score_min") == pl.col("score_max")
    # All correct: the pass rate says so; a graded reward has no "correct", so neither share is known.
    told = graded.pass_rate != "mean reward"
    groups = groups.with_columns(
        flat=flat,
        all_correct=flat & (pl.col("pass_rate") >= 1) if told else pl.lit(None, pl.Boolean),
        all_wrong=flat & (pl.col("pass_rate") <= 0) if told else pl.lit(None, pl.Boolean),
    )
    figures = _figures(groups, resamples, seed)
    table, shift = _kept_against_dropped(graded, groups)
    if shift is not None:
        figures["dynamic_sampling_length_shift"] = shift
    return Sampling(figures=figures, steps=_by_step(groups), table=table)


def _columns(groups: pl.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Numerator and denominator of each share, one entry per group."""
    flat = groups["flat"].to_numpy().astype(float)
    tokens = groups["tokens"].to_numpy().astype(float)
    one = np.ones(len(flat))
    columns = {
        "zero_variance_share": (flat, one),
        "useless_token_share": (flat * tokens, tokens),
    }
    for name in ("all_correct", "all_wrong"):
        if groups[name].null_count() < groups.height:
            columns[f"{name}_share"] = (groups[name].fill_null(False).to_numpy().astype(float), one)
    return columns


def _figures(groups: pl.DataFrame, resamples: int, seed: int) -> dict[str, Figure]:
    n = groups.height
    rng = np.random.default_rng(seed)
    figures: dict[str, Figure] = {}
    m = min(n, 5000)
    some = rng.choice(n, m, replace=False) if m < n else np.arange(n)
    weights = rng.multinomial(m, np.full(m, 1 / m), size=resamples)
    shrink = float(np.sqrt(m / n))
    for name, (top, bottom) in _columns(groups).items():
        total = float(bottom.sum())
        if not total:
            continue
        value = float(top.sum()) / total
        with np.errstate(invalid="ignore"):
            drawn = (weights @ top[some]) / (weights @ bottom[some])
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        at = float(top[some].sum() / max(bottom[some].sum(), 1e-300))
        ends = (_clip(value + (low - at) * shrink), _clip(value + (high - at) * shrink))
        figures[name] = Figure(name, value, "fraction", "measured", n=n, interval=ends)
    kept = 1 - figures["zero_variance_share"].value  # type: ignore[operator]
    if kept > 0:
        low, high = figures["zero_variance_share"].interval or (0.0, 0.0)
        name = "dynamic_sampling_rounds"
        top_end = 1 / (1 - high) if high < 1 else float("inf")
        interval = (1 / (1 - low), top_end) if np.isfinite(top_end) else None
        figures[name] = Figure(name, 1 / kept, "rounds", "modelled", n=n, interval=interval)
    return figures


def _clip(value: float) -> float:
    return min(1.0, max(0.0, float(value)))


def nearest(ordered: np.ndarray, q: float) -> float:
    """The q-quantile of sorted values, shape (n,), n >= 1: the value nearest to it (of two, the larger)."""
    return float(ordered[int(q * (len(ordered) - 1) + 0.5)])


def _by_step(groups: pl.DataFrame) -> dict[int, dict[str, StepFigure]]:
    """The shares of each step: sums of numerators and denominators by step, all steps at once."""
    known = groups.filter(groups["step"].is_not_null())
    if known.is_empty():
        return {}
    numbers, row = np.unique(known["step"].to_numpy(), return_inverse=True)
    steps: dict[int, dict[str, StepFigure]] = {int(n): {} for n in numbers}
    for name, (top, bottom) in _columns(known).items():
        tops, bottoms = (np.bincount(row, weights=v, minlength=len(numbers)) for v in (top, bottom))
        for number, t, b in zip(numbers.tolist(), tops.tolist(), bottoms.tolist(), strict=True):
            if b > 0:
                steps[number][name] = StepFigure(t / b, "measured")
    for found in steps.values():
        flat = found["zero_variance_share"].value or 0.0
        if flat < 1:
            found["dynamic_sampling_rounds"] = StepFigure(1 / (1 - flat), "modelled")
    return steps


def _kept_against_dropped(graded: Graded, groups: pl.DataFrame) -> tuple[dict[str, Any], Figure | None]:
    """Lengths of kept, all-right and all-wrong groups; Kolmogorov-Smirnov distance kept to dropped."""
    import polars as pl

    kind = (
        pl.when(~pl.col("flat"))
        .then(0)
        .when(pl.col("all_correct").fill_null(False))
        .then(1)
        .when(pl.col("all_wrong").fill_null(False))
        .then(2)
        .otherwise(3)
        .cast(pl.UInt8)
    )
    keyed = groups.select("step", "group_id", kind=kind)
    rows = graded.rollouts.select("step", "group_id", "length").join(
        keyed.lazy(), on=["step", "group_id"], how="inner"
    )
    lengths = rows.select("kind", "length").collect()
    sizes = dict(keyed.group_by("kind").len().iter_rows())
    values, codes = lengths["length"].to_numpy(), lengths["kind"].to_numpy()
    parts = [np.sort(values[codes == code]) for code in range(len(KINDS))]
    kinds: dict[str, Any] = {
        name: {
            "groups": sizes[code],
            "rollouts": len(part),
            graded.unit: float(part.sum()),
            "length_mean": float(part.mean()),
            **{f"length_p{round(q * 100)}": nearest(part, q) for q in QUANTILES},
        }
        for code, (name, part) in enumerate(zip(KINDS, parts, strict=True))
        if len(part)
    }
    kept, dropped = parts[0], np.sort(np.concatenate(parts[1:]))
    if not len(kept) or not len(dropped):
        return {"unit": graded.unit, "groups": kinds}, None
    shift = {f"p{round(q * 100)}": float(np.quantile(kept, q) - np.quantile(dropped, q)) for q in QUANTILES}
    name = "dynamic_sampling_length_shift"
    distance = ks_distance(kept, dropped)
    median = shift["p50"]
    figure = Figure(
        name,
        distance,
        "KS",
        "measured",
        n=len(kept) + len(dropped),
        note=f"median of kept {'+' if median >= 0 else ''}{median:.0f} {graded.unit} against dropped",
    )
    return {"unit": graded.unit, "groups": dict(sorted(kinds.items())), "shift": shift}, figure
