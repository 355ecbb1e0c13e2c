"""What columns accept, and what becomes null with a remark."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.parallel.coercion import coerce, number
from rollprof.schema.tables import ROLLOUTS, arrow_type


def one(column: str, value: Any) -> tuple[Any, list[tuple[int, str]]]:
    remarks: list[tuple[int, str]] = []
    (got,) = coerce(ROLLOUTS[column], [value], lambda i, why: remarks.append((i, why)))
    return got, remarks


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("step", 3, 3),
        ("step", -1, -1),
        ("step", 3.0, 3),
        ("step", "3", 3),
        ("step", "3.0", 3),
        ("step", None, None),
        ("step", 2**63 - 1, 2**63 - 1),
        ("response_tokens", 0, 0),
        ("response_tokens", "12", 12),
        ("prompt_id", 2**64 - 1, 2**64 - 1),
        ("reward", 1, 1.0),
        ("reward", True, 1.0),
        ("reward", False, 0.0),
        ("reward", "0.5", 0.5),
        ("reward", " 1e-3 ", 0.001),
        ("reward", {"score": 0.25, "acc": True}, 0.25),
        ("reward", {"score": "1"}, 1.0),
        ("reward", -2.5, -2.5),
        ("generate_s", 0, 0.0),
        ("started_at", -5.0, -5.0),
        ("started_at", datetime(2026, 8, 20, 10, 11, 12), 1787220672.0),
        ("started_at", datetime(2026, 8, 20, 12, 11, 12, tzinfo=timezone(timedelta(hours=2))), 1787220672.0),
        ("completed_at", datetime(2026, 8, 20, 10, 11, 12, tzinfo=UTC), 1787220672.0),
        ("correct", True, True),
        ("correct", 1, True),
        ("correct", 0.0, False),
        ("correct", "False", False),
        (
            "rewards",
            {"format": 1, "length": "-0.5", "ok": True},
            [("format", 1.0), ("length", -0.5), ("ok", 1.0)],
        ),
        ("rewards", {}, []),
        ("dataset", "openai/gsm8k", "openai/gsm8k"),
        ("dataset", "数据", "数据"),
        ("dataset", 7, "7"),
        ("engine", "a\ud800", "a\ufffd\ufffd\ufffd"),
        ("finish_reason", "length", "length"),
        ("split", "eval", "eval"),
        ("token_basis", "exact", "exact"),
    ],
)
def test_accepted(column: str, value: Any, expected: Any) -> None:
    got, remarks = one(column, value)
    assert got == expected
    assert type(got) is type(expected)
    assert remarks == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("step", 2**70),
        ("step", -(2**63) - 1),
        ("step", 3.5),
        ("step", True),
        ("step", "three"),
        ("step", [3]),
        ("step", math.nan),
        ("turns", 2**15),
        ("turns", -1),
        ("response_tokens", -1),
        ("response_tokens", 2**31),
        ("response_tokens", math.nan),
        ("prompt_chars", -3),
        ("prompt_id", -1),
        ("prompt_id", 2**64),
        ("reward", math.nan),
        ("reward", math.inf),
        ("reward", "nan"),
        ("reward", "high"),
        ("reward", "1" * 10_000),
        ("reward", 10**400),
        ("reward", {"acc": 1}),
        ("reward", {"score": {"score": 1}}),
        ("reward", [1.0]),
        ("generate_s", -0.1),
        ("queue_s", math.inf),
        ("correct", 0.5),
        ("correct", "maybe"),
        ("correct", {}),
        ("rewards", 0.5),
        ("dataset", {"a": 1}),
        ("finish_reason", "because"),
        ("finish_reason", 3),
        ("split", "test"),
    ],
)
def test_left_empty_with_a_remark(column: str, value: Any) -> None:
    got, remarks = one(column, value)
    assert got is None
    ((index, why),) = remarks
    assert index == 0
    assert why.startswith(f"{column}: ")
    assert why.endswith(", left empty")


def test_components_that_are_no_numbers_are_left_out() -> None:
    got, remarks = one("rewards", {"a": 1, "b": math.nan, "c": "text", "d": None})
    assert got == [("a", 1.0)]
    assert [why for _, why in remarks] == ["rewards: components that are no finite numbers, left out"]


def test_remarks_name_the_row() -> None:
    seen: list[int] = []
    assert coerce(ROLLOUTS["step"], [1, None, "x", 4, 2**70], lambda i, _: seen.append(i)) == [
        1,
        None,
        None,
        4,
        None,
    ]
    assert seen == [2, 4]


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=3)
    | st.datetimes(),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=5) | st.just("score"), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(anything, max_size=5))
def test_whatever_comes_fits_the_column(values: list[Any]) -> None:
    import pyarrow as pa

    for column in ROLLOUTS:
        remarks: list[str] = []
        got = coerce(column, values, lambda _, why, to=remarks: to.append(why))
        kind = pa.string() if column.type == "category" else arrow_type(column)
        pa.array(got, kind).validate(full=True)
        lost = sum(g is None for g in got) - sum(v is None for v in values)
        assert lost <= len(remarks)
    assert all(n is None or math.isfinite(n) for n in map(number, values))
