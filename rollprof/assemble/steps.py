"""Rows of `steps`: what the metrics say, gaps filled from the rollouts themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


_SUMS: Mapping[str, tuple[str, ...]] = {
    "response": ("sum", "count", "min", "max"),
    "prompt": ("sum", "count", "max"),
    "reward": ("sum", "count"),
    "truncated": ("sum", "count"),
}
"""What is added up of each value; means are made of sums, since a step may lie in several batches."""


def count_rollouts(batches: Iterable[pa.Table]) -> dict[tuple[int, str], dict[str, Any]]:
    """Per (step, split) what the rollouts say themselves: counts, lengths, truncated share, reward.

    Lengths only where the tokens were counted, not scaled; rollouts without a step are left out. `batches`
    with ROLLOUT_COLUMNS; of each only its sums and its groups stay in memory.
    """
    import pyarrow as pa

    sums, groups = [], []
    for batch in batches:
        flat = _values(batch)
        by_step = flat.group_by(["step", "split"])
        sums.append(
            by_step.aggregate([([], "count_all"), *((n, how) for n, hows in _SUMS.items() for how in hows)])
        )
        groups.append(
            flat.select(["step", "split", "group_id"]).group_by(["step", "split", "group_id"]).aggregate([])
        )
    if not sums:
        return {}
    wanted = [(f"{n}_{how}", "sum" if how == "count" else how) for n, hows in _SUMS.items() for how in hows]
    total = pa.concat_tables(sums).group_by(["step", "split"]).aggregate([("count_all", "sum"), *wanted])
    prompts = pa.concat_tables(groups).group_by(["step", "split"]).aggregate([("group_id", "count_distinct")])
    distinct = {(r["step"], r["split"]): r["group_id_count_distinct"] for r in prompts.to_pylist()}
    return {
        (row["step"], row["split"]): {
            "rollouts": row["count_all_sum"],
            "prompts": distinct[row["step"], row["split"]],
            "response_tokens_mean": _mean(row, "response"),
            "response_tokens_min": row["response_min_min"],
            "response_tokens_max": row["response_max_max"],
            "prompt_tokens_mean": _mean(row, "prompt"),
            "prompt_tokens_max": row["prompt_max_max"],
            "reward_mean": _mean(row, "reward"),
            "truncated_share": _mean(row, "truncated"),
        }
        for row in total.to_pylist()
    }


def _mean(row: Mapping[str, Any], name: str) -> float | None:
    count = row[f"{name}_count_sum"]
    return float(row[f"{name}_sum_sum"]) / count if count else None


def _values(table: pa.Table) -> pa.Table:
    """The values that count, of the rollouts of a step."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
    return flat.filter(pc.is_valid(flat["step"]))
