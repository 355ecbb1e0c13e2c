"""Are the stragglers the hard prompts? Difficulty of a prompt against the length of its responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rollprof.analyzers.groups import Graded, group_table
from rollprof.analyzers.results import Figure
from rollprof.stats.icc import Icc, icc1
from rollprof.stats.rank import RankCorrelation, rank_correlation

if TYPE_CHECKING:
    import polars as pl

TAIL = 0.05
"""The tail whose owners are looked for: the longest 5 % of responses."""

BUCKETS = ("all wrong", "mostly wrong", "mixed", "mostly right", "all right")


@dataclass(frozen=True, slots=True)
class Difficulty:
    """Figures by name, and the table by bucket and by dataset."""

    figures: Mapping[str, Figure]
    buckets: tuple[Mapping[str, Any], ...]
    datasets: tuple[Mapping[str, Any], ...]
    pass_rate: str


def analyze_difficulty(
    graded: Graded, groups: pl.DataFrame | None = None, *, resamples: int = 1000, seed: int = 0
) -> Difficulty:
    """Every difficulty figure that the graded rollouts allow; `groups` is their group table, where it is
    made already.

    Intervals are 95 %, by resampling prompts (groups for ICC); p-values by permutation. One point per
    prompt: rollouts of a prompt are not independent.
    """
    groups = group_table(graded) if groups is None else groups
    figures = _correlations(groups, resamples, seed)
    whole = figures
    if groups["truncated"].sum():
        whole = _correlations(group_table(graded, truncated=False), resamples, seed)
    figures = figures | {
        f"{name}_untruncated": replace(figure, name=f"{name}_untruncated") for name, figure in whole.items()
    }
    figures.update(_gap(groups, graded.unit, resamples, seed))
    figures.update(_shape_of_variance(graded, resamples, seed))
    return Difficulty(
        figures=figures,
        buckets=_table(graded, groups, "bucket"),
        datasets=_table(graded, groups, "dataset"),
        pass_rate=graded.pass_rate,
    )


def _correlations(groups: pl.DataFrame, resamples: int, seed: int) -> dict[str, Figure]:
    """Difficulty against mean log length, by both coefficients."""
    points = _points(groups)
    figures: dict[str, Figure] = {}
    methods: tuple[Literal["spearman", "kendall"], ...] = ("spearman", "kendall")
    for method in methods:
        found = rank_correlation(
            points["difficulty"].to_numpy(),
            points["log_length"].to_numpy(),
            method=method,
            resamples=resamples,
            seed=seed,
        )
        name = f"difficulty_length_{method}"
        if found is not None:
            figures[name] = _correlation(name, found)
    return figures


def _points(groups: pl.DataFrame) -> pl.DataFrame:
    """One point per prompt: its groups' averages.

    A parallel sum's last digit depends on who came first, which would part and join ties of ranks: lengths
    count to ten digits.
    """
    import polars as pl

    return (
        groups.filter(pl.col("pass_rate").is_not_null())
        .group_by("prompt_id")
        .agg(difficulty=1 - pl.col("pass_rate").mean(), log_length=pl.col("log_length").mean().round(10))
        .sort("prompt_id")
    )


def _correlation(name: str, found: RankCorrelation, note: str = "") -> Figure:
    words = [w for w in (note, f"p = {found.p:.2g} by permutation" if found.p is not None else "") if w]
    return Figure(
        name,
        found.value,
        "correlation",
        "measured",
        n=found.n,
        interval=(found.low, found.high),
        note="; ".join(words),
    )


def _gap(groups: pl.DataFrame, unit: str, resamples: int, seed: int) -> dict[str, Figure]:
    """Mean length of wrong minus right rollouts within groups that have both."""
    import polars as pl

    both = groups.filter(pl.col("wrong_length").is_not_null() & pl.col("right_length").is_not_null())
    if both.height < 2:
        return {}
    gaps = (both["wrong_length"] - both["right_length"]).to_numpy()
    low, high = _interval_of_mean(gaps, resamples, seed)
    name = "wrong_minus_correct_tokens"
    return {
        name: Figure(
            name, float(gaps.mean()), unit, "measured", n=len(gaps), interval=(float(low), float(high))
        )
    }


MANY_GROUPS = 5000
"""From here on the bootstrap of a mean is its normal interval, which costs nothing."""


def _interval_of_mean(gaps: np.ndarray, resamples: int, seed: int) -> tuple[float, float]:
    """95 % interval of the mean of group means (N,), N >= 2: nearly independent, so that resampling them
    is the cluster bootstrap."""
    n = len(gaps)
    if n > MANY_GROUPS:
        half = 1.959964 * float(gaps.std()) / n**0.5
        return float(gaps.mean()) - half, float(gaps.mean()) + half
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=min(resamples, 1000))
    low, high = np.quantile(weights @ gaps / n, [0.025, 0.975])
    return float(low), float(high)


def _shape_of_variance(graded: Graded, resamples: int, seed: int) -> dict[str, Figure]:
    """icc_log_length, probe_spearman, epoch_spearman, repeat_offender_share."""
    import polars as pl

    rows = (
        graded.rollouts.select("step", "prompt_id", "group_id", "length")
        .with_columns(log=pl.col("length").clip(1).log(), step=pl.col("step").fill_null(-1))
        .collect()
    )
    figures: dict[str, Figure] = {}
    icc = icc1(
        rows["log"].to_numpy(),
        rows["group_id"].to_numpy(),
        blocks=rows["step"].to_numpy(),
        resamples=resamples,
        seed=seed,
    )
    # Correlations across steps compare lengths with their own step's mean: lengths drift over a run.
    rows = rows.with_columns(log=pl.col("log") - pl.col("log").mean().over("step"))
    if icc is not None:
        figures["icc_log_length"] = _ratio("icc_log_length", icc)
    probe = _probe(rows, resamples, seed)
    if probe is not None:
        figures["probe_spearman"] = _correlation("probe_spearman", probe, "first sibling against the rest")
    epoch = _epochs(rows, resamples, seed)
    if epoch is not None:
        figures["epoch_spearman"] = _correlation("epoch_spearman", epoch, "first visit against the next")
    share = _repeat_offenders(rows)
    if share is not None:
        figures["repeat_offender_share"] = share
    return figures


def _ratio(name: str, icc: Icc) -> Figure:
    return Figure(name, icc.value, "ratio", "measured", n=icc.groups, interval=(icc.low, icc.high))


def _probe(rows: pl.DataFrame, resamples: int, seed: int) -> RankCorrelation | None:
    """Does the first sibling tell the length of the others? (Seer's probe request.)"""
    import polars as pl

    pairs = (
        rows.group_by("group_id", maintain_order=True)
        .agg(first=pl.col("log").first(), rest=pl.col("log").slice(1).mean())
        .drop_nulls()
    )
    return rank_correlation(
        pairs["first"].to_numpy(), pairs["rest"].to_numpy(), resamples=resamples, permutations=0, seed=seed
    )


def _epochs(rows: pl.DataFrame, resamples: int, seed: int) -> RankCorrelation | None:
    """Does a prompt's length on one visit tell its length on the next?"""
    import polars as pl

    visits = (
        rows.group_by("prompt_id", "step")
        .agg(log=pl.col("log").mean())
        .sort("prompt_id", "step")
        .group_by("prompt_id", maintain_order=True)
        .agg(first=pl.col("log").first(), second=pl.col("log").get(1, null_on_oob=True))
        .drop_nulls()
    )
    return rank_correlation(
        visits["first"].to_numpy(),
        visits["second"].to_numpy(),
        resamples=resamples,
        permutations=0,
        seed=seed,
    )


def _repeat_offenders(rows: pl.DataFrame) -> Figure | None:
    """Share of the slowest 5 % of rollouts that belong to the 5 % of prompts with most of them."""
    prompts = rows["prompt_id"].n_unique()
    if prompts < round(1 / TAIL) or rows.height < round(1 / TAIL):
        return None
    slow = rows["prompt_id"].gather(_longest(rows["length"].to_numpy(), max(1, round(TAIL * rows.height))))
    owned = slow.value_counts(name="n")["n"].sort(descending=True)
    top = max(1, round(TAIL * prompts))
    return Figure(
        "repeat_offender_share",
        float(owned.head(top).sum()) / len(slow),
        "fraction",
        "measured",
        n=prompts,
        note=f"{top} of {prompts} prompts",
    )


def _longest(lengths: np.ndarray, count: int) -> np.ndarray:
    """Positions of the `count` longest, (n,) lengths; of equally long ones at the edge the first."""
    edge = np.partition(lengths, len(lengths) - count)[len(lengths) - count]
    beyond = np.flatnonzero(lengths > edge)
    return np.concatenate([beyond, np.flatnonzero(lengths == edge)[: count - len(beyond)]])


def bucket_of(pass_rate: pl.Expr) -> pl.Expr:
    """The five difficulty buckets by pass rate: 0, below 1/3, to 2/3, below 1, 1."""
    import polars as pl

    return (
        pl.when(pass_rate <= 0)
        .then(pl.lit(BUCKETS[0]))
        .when(pass_rate < 1 / 3)
        .then(pl.lit(BUCKETS[1]))
        .when(pass_rate <= 2 / 3)
        .then(pl.lit(BUCKETS[2]))
        .when(pass_rate < 1)
        .then(pl.lit(BUCKETS[3]))
        .otherwise(pl.lit(BUCKETS[4]))
    )


def _table(graded: Graded, groups: pl.DataFrame, by: str) -> tuple[Mapping[str, Any], ...]:
    """Per bucket (or dataset): prompts, rollouts, lengths, truncated share, share of the tail and of the
    straggler wait (waiting for the longest response of each step, in units of length)."""
    import polars as pl

    known = groups.filter(pl.col("pass_rate").is_not_null())
    if by == "bucket" and graded.pass_rate == "mean reward":
        # A mean of graded rewards has no "all right": buckets are fifths of its own range.
        spread = known.select(low=pl.col("pass_rate").min(), high=pl.col("pass_rate").max()).row(0)
        if spread[0] is None or spread[0] == spread[1]:
            return ()
        scaled = (pl.col("pass_rate") - spread[0]) / (spread[1] - spread[0])
        index = (scaled * len(BUCKETS)).floor().clip(0, len(BUCKETS) - 1).cast(pl.Int32)
        label = index.replace_strict(
            {i: f"reward {n} of 5" for i, n in enumerate("12345")}, return_dtype=pl.String
        )
    else:
        label = bucket_of(pl.col("pass_rate")) if by == "bucket" else pl.col("dataset")
    keyed = known.select("step", "group_id", label=label).filter(pl.col("label").is_not_null())
    if keyed.is_empty():
        return ()
    # as numbers: a name for each of millions of rows would take more room than all else together
    names = keyed["label"].unique().sort().to_list()
    code = pl.col("label").replace_strict({n: i for i, n in enumerate(names)}, return_dtype=pl.UInt32)
    keyed = keyed.select("step", "group_id", code=code)
    rows = (
        graded.rollouts.select("step", "group_id", "prompt_id", "length", "truncated")
        .join(keyed.lazy(), on=["step", "group_id"], how="inner", maintain_order="left")
        .select("step", "prompt_id", "length", "truncated", "code")
        .collect()
    )
    edge = rows["length"].quantile(1 - TAIL, "nearest") or 0.0
    # Many rollouts can share the length at the edge (a cap, a short answer): the tail is what lies beyond.
    beyond = pl.col("length") > edge
    beyond_count = rows.select(beyond.sum()).item()
    in_tail = beyond if beyond_count else pl.col("length") >= edge
    tail = max(1, beyond_count or rows.select(in_tail.sum()).item())
    waits = dict(zip(names, _waits(rows, len(names)).tolist(), strict=True))
    total_wait = sum(waits.values()) or 1.0
    found = rows.group_by("code").agg(
        prompts=pl.col("prompt_id").n_unique(),
        rollouts=pl.len(),
        length_mean=pl.col("length").mean(),
        length_p95=pl.col("length").quantile(0.95, "nearest"),
        truncated_share=pl.col("truncated").mean(),
        tail_share=in_tail.sum() / tail,
    )
    order = {name: i for i, name in enumerate(BUCKETS)}
    records = {names[record.pop("code")]: record for record in found.to_dicts()}
    return tuple(
        {by: name, **records[name], "wait_share": waits[name] / total_wait, "unit": graded.unit}
        for name in sorted(records, key=lambda name: (order.get(name, 99), name))
    )


def _waits(rows: pl.DataFrame, labels: int) -> np.ndarray:
    """Straggler wait that each label causes, shape (labels,), in units of length; `rows` with step, length
    and the label's `code`.

    Between the k-th and the next completion of a step, k rollouts wait and N - k run: each running one
    causes k/(N - k) of that time. Summed over a step this is exactly its straggler wait.
    """
    totals = np.zeros(labels)
    codes, lengths = rows["code"].to_numpy(), rows["length"].to_numpy()
    for members in _by_step(rows):
        order = members[np.argsort(lengths[members], kind="stable")]
        ordered = lengths[order]
        k = np.arange(len(order))
        gap = np.diff(ordered, prepend=ordered[0])
        caused = np.cumsum(gap * k / (len(order) - k))
        totals += np.bincount(codes[order], caused, minlength=labels)
    return totals


def _by_step(rows: pl.DataFrame) -> Iterator[np.ndarray]:
    """Positions of the rows of each step, in their order; rows without a step are of one."""
    steps = rows["step"].fill_null(-1).to_numpy()
    if len(steps) == 0:
        return
    order = None if bool((np.diff(steps) >= 0).all()) else np.argsort(steps, kind="stable")
    ordered = steps if order is None else steps[order]
    ends = np.append(np.flatnonzero(np.diff(ordered)) + 1, len(steps))
    start = 0
    for end in ends.tolist():
        yield np.arange(start, end) if order is None else order[start:end]
        start = end
