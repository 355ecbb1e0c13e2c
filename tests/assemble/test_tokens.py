"""Scaled token counts keep the logged mean, whatever the batches."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.assemble.tokens import TokenScale, factor_within


def table(rows: list[tuple[int | None, str, int | None, int | None]]) -> pa.Table:
    """(step, split, response_chars, response_tokens)."""
    step, split, chars, tokens = zip(*rows, strict=True)
    return pa.table(
        {
            "step": pa.array(step, pa.int64()),
            "split": pa.array(split, pa.string()),
            "response_chars": pa.array(chars, pa.int32()),
            "response_tokens": pa.array(tokens, pa.int32()),
            "prompt_chars": pa.array([None] * len(rows), pa.int32()),
            "prompt_tokens": pa.array([None] * len(rows), pa.int32()),
            "token_basis": pa.array([None if t is None else "exact" for t in tokens], pa.string()),
        }
    )


def test_hand_worked_scale() -> None:
    scale = TokenScale({(1, "train"): 0.25}, {})
    done = scale(table([(1, "train", 40, None), (1, "train", 100, None), (1, "train", 1, None)]))
    assert done["response_tokens"].to_pylist() == [10, 25, 0]
    assert done["token_basis"].to_pylist() == ["scaled"] * 3


def test_exact_counts_stay_and_unknown_steps_keep_characters() -> None:
    scale = TokenScale({(1, "train"): 0.5}, {})
    done = scale(
        table([(1, "train", 40, 7), (2, "train", 40, None), (1, "eval", 40, None), (1, "train", None, None)])
    )
    assert done["response_tokens"].to_pylist() == [7, None, None, None]
    assert done["token_basis"].to_pylist() == ["exact", "characters", "characters", None]


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=60),
    st.floats(0.01, 3.0),
    st.lists(st.integers(1, 59), max_size=5),
)
def test_a_step_sums_to_its_logged_total_however_it_is_batched(
    chars: list[int], factor: float, cuts: list[int]
) -> None:
    rows = [(3, "train", c, None) for c in chars]
    scale = TokenScale({(3, "train"): factor}, {})
    edges = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    tokens: list[int] = []
    for a, b in itertools.pairwise(edges):
        tokens += scale(table(rows[a:b]))["response_tokens"].to_pylist()  # type: ignore[arg-type]
    assert sum(tokens) == pytest.approx(sum(chars) * factor, abs=0.5 + 1e-6)
    assert all(abs(t - c * factor) <= 1 for t, c in zip(tokens, chars, strict=True))


def test_the_logged_maximum_is_not_exceeded_and_the_mean_kept() -> None:
    # Mean 5 of four responses, none above 10: with the longest at 10 the others share 10 over 20 characters.
    factor = factor_within([100, 10, 6, 4], 5.0, 10.0)
    assert factor == pytest.approx(0.5)
    scale = TokenScale({(1, "train"): factor}, {}, {(1, "train"): 10.0})
    done = scale(table([(1, "train", c, None) for c in (100, 10, 6, 4)]))
    assert done["response_tokens"].to_pylist() == [10, 5, 3, 2]


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=50),
    st.floats(0.1, 900),
    st.floats(1.0, 4.0),
)
def test_factor_within_keeps_mean_and_limit(chars: list[int], mean: float, room: float) -> None:
    limit = mean * room
    factor = factor_within(chars, mean, limit)
    capped = [min(c * factor, limit) for c in chars]
    if not any(chars):
        assert factor == 0
    elif mean * len(chars) <= limit * sum(c > 0 for c in chars):
        assert sum(capped) / len(capped) == pytest.approx(mean, rel=1e-9)
