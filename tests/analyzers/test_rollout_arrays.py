from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import length_rows, tables, timed_rows

from rollprof.analyzers.rollout_arrays import load_rollouts


def load(rows, split="train", steps=None, cap=None):  # type: ignore[no-untyped-def]
    return load_rollouts(tables(rows).rollouts, split, steps, cap)


def test_rollouts_are_sorted_by_step_and_keep_their_order_within() -> None:
    rows = [*length_rows([5, 6], step=3), *length_rows([1, 2, 3], step=1), *length_rows([7], step=3)]
    found = load(rows)
    assert found.steps.tolist() == [1, 3]
    assert [found.length[s].tolist() for _, s in found.slices()] == [[1, 2, 3], [5, 6, 7]]
    assert found.row.tolist() == [2, 3, 4, 0, 1, 5]


def test_training_and_evaluation_do_not_mix() -> None:
    rows = [*length_rows([1, 2]), *length_rows([9], split="eval"), *length_rows([3])]
    assert load(rows).length.tolist() == [1, 2, 3]
    assert load(rows, "eval").length.tolist() == [9]
    assert len(load(length_rows([1]), "eval")) == 0


def test_a_range_of_steps_is_inclusive_and_open() -> None:
    rows = [r for s in (1, 2, 3, 4) for r in length_rows([s], step=s)]
    assert load(rows, steps=(2, 3)).steps.tolist() == [2, 3]
    assert load(rows, steps=(None, 2)).steps.tolist() == [1, 2]
    assert load(rows, steps=(3, None)).steps.tolist() == [3, 4]


def test_rollouts_without_any_step_are_one_step() -> None:
    rows = [{k: v for k, v in r.items() if k != "step"} for r in length_rows([4, 5])]
    found = load(rows)
    assert (found.one_step, found.steps.tolist(), found.length.tolist()) == (True, [1], [4, 5])


def test_rollouts_without_a_step_beside_others_are_counted_and_left_out() -> None:
    found = load([*length_rows([4, 5]), {"response_tokens": 9}])
    assert (found.unplaced, found.length.tolist(), found.one_step) == (1, [4, 5], False)


def test_columns_that_are_all_null_are_not_kept() -> None:
    found = load(length_rows([1, 2]))
    assert found.start is found.finish is found.duration is found.engine is found.truncated is None


def test_what_is_not_finite_is_unknown() -> None:
    rows = timed_rows([1, 2], [1.0, float("nan")])
    found = load(rows)
    assert found.finish is not None
    assert np.isnan(found.finish).tolist() == [False, True]


def test_a_duration_is_queue_and_generation_and_tools() -> None:
    rows = [
        {**length_rows([1])[0], "generate_s": 2.0, "queue_s": 1.0, "tool_s": 0.5},
        {**length_rows([1])[0], "generate_s": 4.0},
    ]
    found = load(rows)
    assert found.duration is not None
    assert found.duration.tolist() == [3.5, 4.0]


def test_truncated_by_finish_reason_or_at_the_cap() -> None:
    reasons = ["stop", "length", "abort", "unknown", None]
    rows = [
        {**r, "finish_reason": w} for r, w in zip(length_rows([10, 20, 30, 40, 50]), reasons, strict=True)
    ]
    found = load(rows)
    assert found.truncated is not None
    assert found.aborted is not None
    assert found.truncated.tolist() == [0, 1, 0, -1, -1]
    assert found.aborted.tolist() == [0, 0, 1, -1, -1]
    at_cap = load(rows, cap=40)
    assert at_cap.truncated is not None
    assert at_cap.truncated.tolist() == [0, 1, 0, 1, 1]


def test_scaled_lengths_say_nothing_about_the_cap() -> None:
    rows = [{**r, "token_basis": "scaled"} for r in length_rows([10, 40])]
    found = load(rows, cap=40)
    assert (found.truncated, found.token_basis, found.exact) == (None, "scaled", False)


def test_without_tokens_lengths_are_characters() -> None:
    rows = [{"step": 1, "response_chars": n, "token_basis": "characters"} for n in (8, 9)]
    found = load(rows)
    assert (found.unit, found.token_basis, found.length.tolist()) == ("characters", "characters", [8, 9])


def test_the_weakest_token_basis_of_the_counted_rows_speaks() -> None:
    rows = [*length_rows([1]), {"step": 1, "response_tokens": 2, "token_basis": "tokenized"}]
    assert load(rows).token_basis == "tokenized"
    bare = [*length_rows([1]), {"step": 2, "response_chars": 2, "token_basis": "characters"}]
    found = load(bare)
    assert (found.token_basis, found.unit) == ("exact", "tokens")
    assert np.isnan(found.length).tolist() == [False, True]


def test_engines_are_coded_and_the_unknown_is_minus_one() -> None:
    rows = [{**r, "engine": e} for r, e in zip(length_rows([1, 2, 3]), ["b", None, "a"], strict=True)]
    found = load(rows)
    assert found.engine is not None
    assert sorted(found.engine.tolist()) == [-1, 0, 1]
    assert found.engine[1] == -1


@pytest.mark.parametrize("missing", ["split", "finish_reason", "token_basis", "prompt_tokens"])
def test_a_table_may_lack_a_column(missing: str) -> None:
    frame = tables(length_rows([1, 2])).rollouts.drop(missing)
    assert load_rollouts(frame, "train").length.tolist() == [1, 2]


def test_plain_strings_do_as_well_as_categories() -> None:
    frame = pl.DataFrame(
        {
            "step": [1, 1],
            "split": ["train", "eval"],
            "response_tokens": [3, 4],
            "finish_reason": ["length", "stop"],
            "engine": ["a", "b"],
        }
    ).lazy()
    found = load_rollouts(frame, "train")
    assert found.length.tolist() == [3]
    assert found.truncated is not None
    assert found.truncated.tolist() == [1]
