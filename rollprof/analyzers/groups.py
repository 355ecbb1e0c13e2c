"""Rollouts reduced to prompt groups: what difficulty and dynamic sampling are computed from.

A group is the rollouts of one prompt in one step. One lazy pass over the rollouts; everything after it
works on the table of groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rollprof.errors import UsageProblem

if TYPE_CHECKING:
    import polars as pl

PassRate = Literal["correct column", "two-valued reward", "mean reward"]


@dataclass(frozen=True, slots=True)
class Graded:
    """Rollouts with `length`, `score`, `right` (null where the log cannot say) and `truncated`.

    `unit` of length; `pass_rate` says how a group's pass rate is known.
    """

    rollouts: pl.LazyFrame
    unit: Literal["tokens", "characters"]
    pass_rate: PassRate
    reward: str


def grade(
    rollouts: pl.LazyFrame, *, split: str = "train", reward: str | None = None, cap: float | None = None
) -> Graded | None:
    """The rollouts of a split with a reward. None when none has both a reward and a length.

    `reward` names a component of the rewards map (`--reward`); without it the scalar the trainer used.
    Raises UsageProblem for a component that the log does not have.
    """
    import polars as pl

    rows = rollouts.filter(pl.col("split").cast(pl.String) == split)
    score = pl.col("reward") if reward is None else _component(rows, reward)
    score = pl.when(score.is_finite()).then(score)
    counted = rows.select(
        tokens=pl.col("response_tokens").is_not_null().sum(),
        chars=pl.col("response_chars").is_not_null().sum(),
        correct=pl.col("correct").is_not_null().sum(),
        values=score.drop_nulls().n_unique(),
        best=score.max(),
    ).collect()
    tokens, chars, correct, values, best = counted.row(0)
    if not (tokens or chars) or not (correct or values):
        return None
    length = pl.col("response_tokens" if tokens else "response_chars")
    how: PassRate = "mean reward"
    right = pl.lit(None, pl.Boolean)
    if reward is None and correct:
        how, right = "correct column", pl.col("correct")
    elif values == 2:
        how, right = "two-valued reward", score == best
    cut = pl.col("finish_reason").cast(pl.String) == "length"
    if cap is not None and tokens:
        # Scaled lengths reach the cap only where the log counted that many at it.
        exact = pl.col("token_basis").cast(pl.String).is_in(["exact", "tokenized", "scaled"])
        cut = cut.fill_null(False) | (exact & (length >= cap)).fill_null(False)
    return Graded(
        rollouts=rows.select(
            "step",
            "prompt_id",
            "group_id",
            pl.col("dataset").cast(pl.String),
            length=length.cast(pl.Float64),
            score=score,
            right=right,
            truncated=cut.fill_null(False),
        ).filter(pl.col("length").is_not_null() & pl.col("group_id").is_not_null()),
        unit="tokens" if tokens else "characters",
        pass_rate=how,
        reward=reward or "reward",
    )


def _component(rows: pl.LazyFrame, name: str) -> pl.Expr:
    import polars as pl

    entries = rows.select(pl.col("rewards").list.explode().struct.field("key").unique()).collect()
    known = sorted(k for k in entries.to_series().to_list() if k is not None)
    if name not in known:
        raise UsageProblem(
            f"no reward component {name!r} in this run",
            hint=f"there are: {', '.join(known)}" if known else "the log has none",
        )
    matching = pl.element().filter(pl.element().struct.field("key") == name)
    return pl.col("rewards").list.eval(matching.struct.field("value")).list.first()


def group_table(graded: Graded, *, truncated: bool = True) -> pl.DataFrame:
    """One row per group: step, prompt_id, dataset, n, pass_rate, log_length (mean), tokens, and the mean
    lengths of its right and wrong rollouts. `truncated=False` leaves truncated rollouts out."""
    import polars as pl

    rows = graded.rollouts if truncated else graded.rollouts.filter(~pl.col("truncated"))
    rate = pl.col("score") if graded.pass_rate == "mean reward" else pl.col("right").cast(pl.Float64)
    wrong, right = pl.col("right").not_(), pl.col("right")
    return (
        rows.group_by("step", "group_id")
        .agg(
            prompt_id=pl.col("prompt_id").first(),
            dataset=pl.col("dataset").first(),
            n=pl.len(),
            pass_rate=rate.mean(),
            scored=pl.col("score").is_not_null().sum(),
            score_min=pl.col("score").min(),
            score_max=pl.col("score").max(),
            log_length=pl.col("length").clip(1).log().mean(),
            tokens=pl.col("length").sum(),
            length_max=pl.col("length").max(),
            truncated=pl.col("truncated").sum(),
            wrong_length=pl.col("length").filter(wrong).mean(),
            right_length=pl.col("length").filter(right).mean(),
        )
        .sort("step", "group_id")
        .collect()
    )
