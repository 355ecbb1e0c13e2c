"""Scaled token counts keep the logged mean, whatever the batches."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.assemble.tokens import StepScale, TokenScale, scale_to


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
    scale = TokenScale({(1, "train"): StepScale(0.25)}, {})
    done = scale(table([(1, "train", 40, None), (1, "train", 100, None), (1, "train", 1, None)]))
    assert done["response_tokens"].to_pylist() == [10, 25, 0]
    assert done["token_basis"].to_pylist() == ["scaled"] * 3


def test_exact_counts_stay_and_unknown_steps_keep_characters() -> None:
    scale = TokenScale({(1, "train"): StepScale(0.5)}, {})
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
    scale = TokenScale({(3, "train"): StepScale(factor)}, {})
    edges = sorted({0, len(rows), *(c for c in cuts if c < len(rows))})
    tokens: list[int] = []
    for a, b in itertools.pairwise(edges):
        tokens += scale(table(rows[a:b]))["response_tokens"].to_pylist()  # type: ignore[arg-type]
    assert sum(tokens) == pytest.approx(sum(chars) * factor, abs=0.5 + 1e-6)
    assert all(abs(t - c * factor) <= 1 for t, c in zip(tokens, chars, strict=True))


def scaled(chars: list[int], scale: StepScale) -> list[int]:
    done = TokenScale({(1, "train"): scale}, {})(table([(1, "train", c, None) for c in chars]))
    return done["response_tokens"].to_pylist()  # type: ignore[no-any-return]


def test_the_longest_is_as_long_as_the_log_says_and_the_mean_is_kept() -> None:
    # Mean 5 of four, the longest 12: the others share 8 tokens over 20 characters.
    assert scaled([100, 10, 6, 4], scale_to([100, 10, 6, 4], 5.0, 12.0)) == [12, 4, 2, 2]
    # The characters alone would give the longest 25 tokens; a log that says 40 is right as well.
    assert scaled([50, 30, 20], scale_to([50, 30, 20], 20.0, 40.0)) == [40, 12, 8]


def test_all_that_were_cut_are_as_long_as_the_cap() -> None:
    scale = scale_to([100, 90, 80, 30, 10], 26.0, 40.0, at_longest=3)
    assert scaled([100, 90, 80, 30, 10], scale) == [40, 40, 40, 8, 2]


def test_none_of_the_others_exceeds_the_longest() -> None:
    # 6 tokens a response over all: the second would get 11 by its share, so it is held at 10.
    scale = scale_to([100, 60, 2, 2], 6.0, 10.0)
    assert scaled([100, 60, 2, 2], scale) == [10, 10, 2, 2]


@pytest.mark.parametrize(("mean", "longest"), [(5.0, 4.0), (5.0, None), (5.0, 100.0)])
def test_a_contradiction_leaves_the_mean(mean: float, longest: float | None) -> None:
    assert sum(scaled([8, 6, 4, 2], scale_to([8, 6, 4, 2], mean, longest))) == 20


@given(
    st.lists(st.integers(0, 3000), min_size=1, max_size=50),
    st.floats(0.1, 900),
    st.floats(1.0, 6.0),
    st.integers(1, 5),
)
def test_mean_and_maximum_hold(chars: list[int], mean: float, room: float, cut: int) -> None:
    longest = mean * room
    scale = scale_to(chars, mean, longest, cut)
    tokens = [scale.limit if c >= scale.pinned else min(c * scale.factor, scale.limit) for c in chars]
    if not any(chars):
        return
    assert sum(tokens) / len(tokens) == pytest.approx(mean, rel=1e-9)
    if scale.pinned < float("inf"):
        assert max(tokens) == pytest.approx(longest)
