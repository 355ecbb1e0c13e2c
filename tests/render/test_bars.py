"""Bars, sparklines and the upright histogram, cell by cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.render import bars

LEVELS = " ▁▂▃▄▅▆▇█"


@pytest.mark.parametrize(
    ("fraction", "picture"),
    [
        (0.0, "    "),
        (1.0, "████"),
        (0.5, "██  "),
        (0.625, "██▌ "),
        (0.001, "▏   "),
        (2.0, "████"),
        (-1.0, "    "),
    ],
)
def test_bar(fraction: float, picture: str) -> None:
    assert bars.bar(fraction, 4) == picture


@pytest.mark.parametrize(
    ("low", "high", "picture"),
    [(0.0, 1.0, "░░░░"), (0.25, 0.75, " ░░ "), (0.5, 0.5, "  ░ "), (1.0, 1.0, "   ░"), (0.3, 0.9, " ░░░")],
)
def test_span(low: float, high: float, picture: str) -> None:
    assert bars.span(low, high, 4) == picture


def test_sparkline_rises_from_zero() -> None:
    assert bars.sparkline([0.0, 1.0, 4.0, None, 8.0], 10) == ("▁▁▄ █", 1)
    assert bars.sparkline([0.0, 0.0], 10) == ("▁▁", 1)
    assert bars.sparkline([], 10) == ("", 1)


def test_sparkline_shows_the_worst_of_each_run() -> None:
    assert bars.sparkline([1.0, 8.0, 4.0, 2.0, 1.0], 3) == ("█▄▁", 2)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300), st.integers(1, 60))
def test_sparkline_fits_and_keeps_the_largest(values: list[float], width: int) -> None:
    line, run = bars.sparkline(values, width)
    assert len(line) <= width
    assert run * len(line) >= len(values)
    if max(values) > 0:
        assert line[values.index(max(values)) // run] == "█"


def test_upright_columns() -> None:
    picture = bars.upright([1, 10, 100, 1000], [8, 0, 4], width=3, height=2)
    assert picture.rows == ("█  ", "█ █")
    assert picture.columns == ((1, 10), (10, 100), (100, 1000))
    assert picture.peak == 8


def test_few_bins_take_several_columns_each_geometrically() -> None:
    picture = bars.upright([1, 100], [5], width=2, height=1)
    assert picture.rows == ("██",)
    assert picture.columns[0][1] == pytest.approx(10)
    assert bars.upright([1, 2, 3], [4, 1], width=5, height=1).rows == ("██▂▂▂",)


def test_many_bins_share_columns_and_lose_nothing() -> None:
    picture = bars.upright([1, 2, 3, 4, 5, 6], [1, 1, 1, 1, 8], width=3, height=1)
    assert picture.columns == ((1, 3), (3, 5), (5, 6))
    assert picture.peak == 8
    assert picture.rows == ("▂▂█",)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=200), st.integers(10, 100), st.integers(1, 8))
def test_no_response_disappears_from_the_histogram(counts: list[int], width: int, height: int) -> None:
    edges = [2.0 * 1.07**i for i in range(len(counts) + 1)]
    picture = bars.upright(edges, counts, width, height)
    assert {len(row) for row in picture.rows} == {len(picture.columns)}
    assert len(picture.columns) <= width
    assert len(picture.rows) == height
    merge = -(-len(counts) // width)
    merged = [sum(counts[i : i + merge]) for i in range(0, len(counts), merge)]
    for index, count in enumerate(merged):
        low, high = edges[index * merge], edges[min((index + 1) * merge, len(counts))]
        column = picture.position((low * high) ** 0.5)
        assert (picture.rows[-1][column] != " ") == (count > 0)


def test_position() -> None:
    picture = bars.upright([10, 20, 40, 80], [1, 1, 1], width=3, height=1)
    assert [picture.position(v) for v in (5, 10, 19, 20, 79, 80, 99)] == [0, 0, 0, 1, 2, 2, 2]


def test_labels_do_not_collide() -> None:
    assert bars.place([(0, "abc"), (2, "xy"), (5, "z")], 8) == "abc  z"
    assert bars.place([(6, "abc")], 8) == ""


def test_pointers_turn_round_where_there_is_no_room() -> None:
    assert bars.pointers([(0, "min"), (9, "max")], 10, "-") == "↑min--max↑"
    assert bars.pointers([(4, "first"), (5, "second")], 12, "-") == "----↑first--"


def test_ticks_stand_at_their_values() -> None:
    edges = [10 * 10 ** (i / 20) for i in range(41)]
    picture = bars.upright(edges, [1] * 40, width=40, height=1)
    line = bars.ticks(picture)
    for label, value in (("20", 20), ("50", 50), ("100", 100), ("200", 200), ("500", 500)):
        assert line.index(label) == picture.position(value)
