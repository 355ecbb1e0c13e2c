"""Values in every spelling."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.adapters import values
from rollprof.schema.tables import FINISH_REASONS


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (1, 1.0),
        (0.5, 0.5),
        (True, 1.0),
        ("0.5", 0.5),
        (" 3 ", 3.0),
        ("np.float64(0.25)", 0.25),
        ("tensor(2.5)", 2.5),
        ("True", 1.0),
        ("abc", None),
        ("1_000", None),
        ("", None),
        (math.nan, None),
        (math.inf, None),
        ("nan", None),
        (2**4000, None),
        (None, None),
        ([1], None),
        ({"a": 1}, None),
        ("9" * 200, None),
    ],
)
def test_number(value: Any, wanted: float | None) -> None:
    assert values.number(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (3, 3),
        (3.0, 3),
        ("3", 3),
        (3.5, None),
        (True, None),
        (2**70, None),
        (1e300, None),
        (-2, -2),
        (None, None),
    ],
)
def test_integer(value: Any, wanted: int | None) -> None:
    assert values.integer(value) == wanted


@pytest.mark.parametrize(("value", "wanted"), [(7, 7), ([1, 2, 3], 3), (-1, None), (2**31, None), ("12", 12)])
def test_count(value: Any, wanted: int | None) -> None:
    assert values.count(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (True, True),
        (0, False),
        (1.0, True),
        ("False", False),
        ("yes", True),
        (0.5, None),
        ("x", None),
        (None, None),
    ],
)
def test_boolean(value: Any, wanted: bool | None) -> None:
    assert values.boolean(value) is wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("eos", "stop"),
        ("STOP", "stop"),
        ("stop_sequence", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("FinishReason.LENGTH", "length"),
        ("FINISH_REASON_MAX_TOKENS", "length"),
        ("abort", "abort"),
        ("tool_calls", "tool"),
        ("content_filter", "unknown"),
        (7, "unknown"),
        (True, "length"),
        (False, "stop"),
        ({"type": "length", "length": 1024}, "length"),
        (["stop", "length"], "length"),
        ([], None),
        ("", None),
        (None, None),
    ],
)
def test_finish_reason(value: Any, wanted: str | None) -> None:
    assert values.finish_reason(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (12.5, 12.5),
        (1_700_000_000, 1.7e9),
        (1_700_000_000_500, 1_700_000_000.5),
        (1_700_000_000_500_000, 1_700_000_000.5),
        (1_700_000_000_500_000_000, 1_700_000_000.5),
        ("2023-11-14T22:13:20+00:00", 1.7e9),
        ("2023-11-14T22:13:20", 1.7e9),
        ("2023-11-15T00:13:20+02:00", 1.7e9),
        ("yesterday", None),
        (None, None),
        (math.nan, None),
    ],
)
def test_moment(value: Any, wanted: float | None) -> None:
    assert values.moment(value) == (None if wanted is None else pytest.approx(wanted, abs=1e-3))


def test_passages() -> None:
    chat = [{"role": "user", "content": "Q"}]
    assert values.passage("text") == "text"
    assert values.passage(chat) == chat
    assert values.passage(chat[0]) == chat
    assert values.passage(5) is None


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(anything)
def test_nothing_raises(value: Any) -> None:
    assert values.number(value) is None or math.isfinite(values.number(value) or 0.0)
    assert values.integer(value) is None or -(2**63) <= (values.integer(value) or 0) < 2**63
    values.count(value)
    values.boolean(value)
    values.text(value)
    values.passage(value)
    values.seconds(value)
    values.moment(value)
    assert values.finish_reason(value) in (None, *FINISH_REASONS)


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/home/me/rl/reward_func.py", "reward_func.py"),
        ("~/models/qwen", "qwen"),
        ("Qwen/Qwen3-4B", "Qwen/Qwen3-4B"),
        ("naive", "naive"),
        ("C:\\jobs\\score.py", "score.py"),
    ],
)
def test_paths_are_told_by_their_end(path: str, short: str) -> None:
    assert values.short_path(path) == short
