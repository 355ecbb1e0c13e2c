"""Rows of `steps`: what the metrics say, gaps filled from the rollouts themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rollprof.schema.tables import STEPS

if TYPE_CHECKING:
    import pyarrow as pa

COUNTED_TOKENS = ("exact", "tokenized")
ROLLOUT_COLUMNS = (
    "step",
    "split",
    "group_id",
    "response_tokens",
    "prompt_tokens",
    "token_basis",
    "reward",
    "finish_reason",
)


def step_rows(
    interpreted: Sequence[Mapping[str, Any]], rollouts: Mapping[tuple[int, str], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Merge interpreted rows with the figures counted from rollouts, sorted by step and split.

    A logged value wins over a counted one: it is what the trainer trained on.
    """
    known = set(STEPS.column_names)
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    for row in interpreted:
        key = (row["step"], row.get("split") or "train")
        rows.setdefault(key, {}).update({k: v for k, v in row.items() if k in known and v is not None})
    for key, counted in rollouts.items():
        at = rows.setdefault(key, {})
        for column, value in counted.items():
            if at.get(column) is None:
                at[column] = value
    for (step, split), row in rows.items():
        row["step"], row["split"] = step, split
    return [rows[key] for key in sorted(rows, key=lambda k: (k[0], k[1] == "eval"))]


def count_rollouts(table: pa.Table) -> dict[tuple[int, str], dict[str, Any]]:
    """Per (step, split) what the rollouts say themselves: counts, lengths, truncated share, reward.

    Lengths only where the tokens were counted, not scaled; rollouts without a step are left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not table.num_rows:
        return {}
    basis = table["token_basis"].cast(pa.string())
    counted = pc.is_in(basis, pa.array(COUNTED_TOKENS))
    finish = table["finish_reason"].cast(pa.string())
    said = pc.and_(pc.is_valid(finish), pc.not_equal(finish, "unknown"))
    null = pa.scalar(None, pa.int32())
    reward = table["reward"]
    flat = pa.table(
        {
            "step": table["step"],
            "split": table["split"].cast(pa.string()),
            "group_id": table["group_id"],
            "response": pc.if_else(counted, table["response_tokens"], null),
            "prompt": pc.if_else(counted, table["prompt_tokens"], null),
            "reward": pc.if_else(pc.is_finite(reward), reward, pa.scalar(None, pa.float64())),
            "truncated": pc.if_else(said, pc.equal(finish, "length"), pa.scalar(None, pa.bool_())).cast(
                pa.float64()
            ),
        }
    )
    flat = flat.filter(pc.is_valid(flat["step"]))
    grouped = flat.group_by(["step", "split"]).aggregate(
        [
            ([], "count_all"),
            ("group_id", "count_distinct"),
            ("response", "mean"),
            ("response", "min"),
            ("response", "max"),
            ("prompt", "mean"),
            ("prompt", "max"),
            ("reward", "mean"),
            ("truncated", "mean"),
        ]
    )
    names = {
        "count_all": "rollouts",
        "group_id_count_distinct": "prompts",
        "response_mean": "response_tokens_mean",
        "response_min": "response_tokens_min",
        "response_max": "response_tokens_max",
        "prompt_mean": "prompt_tokens_mean",
        "prompt_max": "prompt_tokens_max",
        "reward_mean": "reward_mean",
        "truncated_mean": "truncated_share",
    }
    return {
        (row["step"], row["split"]): {new: row[old] for old, new in names.items()}
        for row in grouped.to_pylist()
    }
