from __future__ import annotations

import pyarrow as pa
import pytest

from rollprof.assemble.steps import count_rollouts, step_rows


def rollouts(**columns: object) -> pa.Table:
    types = {
        "step": pa.int64(),
        "split": pa.string(),
        "group_id": pa.uint64(),
        "response_tokens": pa.int32(),
        "prompt_tokens": pa.int32(),
        "token_basis": pa.string(),
        "reward": pa.float64(),
        "finish_reason": pa.string(),
    }
    n = len(columns["step"])  # type: ignore[arg-type]
    return pa.table({k: pa.array(columns.get(k, [None] * n), t) for k, t in types.items()})


@pytest.mark.parametrize("size", [1, 2, 5])
def test_counts_by_hand_however_the_rows_are_cut(size: int) -> None:
    table = rollouts(
        step=[1, 1, 1, 2, None],
        split=["train"] * 5,
        group_id=[7, 7, 8, 9, 9],
        response_tokens=[10, 20, 60, 5, 1],
        token_basis=["exact"] * 5,
        reward=[1.0, 0.0, float("nan"), None, 1.0],
        finish_reason=["stop", "length", "unknown", None, "stop"],
    )
    found = count_rollouts(table.slice(at, size) for at in range(0, 5, size))
    one = found[(1, "train")]
    assert (one["rollouts"], one["prompts"]) == (3, 2)
    assert one["response_tokens_mean"] == 30
    assert (one["response_tokens_min"], one["response_tokens_max"]) == (10, 60)
    assert one["reward_mean"] == 0.5
    assert one["truncated_share"] == 0.5
    assert found[(2, "train")]["truncated_share"] is None
    assert set(found) == {(1, "train"), (2, "train")}


def test_scaled_lengths_are_not_counted_lengths() -> None:
    found = count_rollouts(
        [rollouts(step=[1], split=["train"], response_tokens=[10], token_basis=["scaled"])]
    )
    assert found[(1, "train")]["response_tokens_mean"] is None


def test_logged_values_win_and_counts_fill_gaps() -> None:
    rows = step_rows(
        [{"step": 2, "split": "train", "reward_mean": 0.25, "nonsense": 1}, {"step": 2, "split": "eval"}],
        {(2, "train"): {"reward_mean": 0.9, "rollouts": 8}, (1, "train"): {"rollouts": 4}},
    )
    assert rows == [
        {"step": 1, "split": "train", "rollouts": 4},
        {"step": 2, "split": "train", "reward_mean": 0.25, "rollouts": 8},
        {"step": 2, "split": "eval"},
    ]
