"""Numbers for people: worked out by hand, and never a rounding that lies."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollprof.analyzers.results import Figure
from rollprof.render import numbers


@pytest.mark.parametrize(
    ("fraction", "decimals", "text"),
    [
        (0.4137, 1, "41.4 %"),
        (0.4137, 0, "41 %"),
        (0.911458, 2, "91.15 %"),
        (0.0, 1, "0 %"),
        (1.0, 1, "100 %"),
        (0.99996, 0, "99.996 %"),
        (0.99996, 1, "99.996 %"),
        (0.0004, 0, "0.04 %"),
        (1e-9, 1, "< 0.0001 %"),
        (1 - 1e-9, 1, "> 99.9999 %"),
        (1.25, 0, "125 %"),
    ],
)
def test_percent(fraction: float, decimals: int, text: str) -> None:
    assert numbers.percent(fraction, decimals) == text


@given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers(0, 2))
def test_only_exact_ends_look_like_ends(fraction: float, decimals: int) -> None:
    text = numbers.percent(fraction, decimals)
    assert text not in ("0 %", "100 %")
    assert not text.startswith(("0.0000 ", "100.0000 "))


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.385, 0.434, "38–43 %"),
        (0.39, 0.4, "39.0–40.0 %"),
        (0.4137, 0.4139, "41.37–41.39 %"),
        (0.3, 0.3, "30.0 %"),
        (0.0, 1.0, "0–100 %"),
    ],
)
def test_ranges(low: float, high: float, text: str) -> None:
    assert numbers.percent_range(low, high) == text


@given(st.floats(0, 1), st.floats(0, 1))
def test_ends_of_a_range_differ_when_the_numbers_do(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    if high - low > 1e-5:
        first, second = numbers.percent_range(low, high).removesuffix(" %").split("–")
        assert first != second


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure("slot_idle", 0.911458, "fraction", "measured"), "91.15 %"),
        (Figure("slot_idle", 0.5058, "fraction", "logged", bound="lower"), "≥ 50.6 %"),
        (Figure("step_idle", 0.2351, "fraction", "logged", bound="upper"), "≤ 23.5 %"),
        (Figure("step_idle", 0.412, "fraction", "calibrated", interval=(0.385, 0.434)), "41 %"),
        (Figure("step_idle", None, "fraction", "modelled", interval=(0.36, 0.84)), "36–84 %"),
        (Figure("step_idle", None, "fraction", None), "not in this log"),
    ],
)
def test_a_figure_shows_how_well_it_is_known(figure: Figure, text: str) -> None:
    assert numbers.figure_percent(figure) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (0.0844, "84.4 ms"),
        (0.842, "0.84 s"),
        (8.4217, "8.42 s"),
        (66.44, "66.4 s"),
        (119.96, "2 min 00 s"),
        (134.2, "2 min 14 s"),
        (3599.7, "1 h 00 min"),
        (3 * 3600 + 5 * 60 + 2, "3 h 05 min"),
        (52 * 3600, "2 d 04 h"),
        (-3.0, "-3.00 s"),
        (math.inf, "inf"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert numbers.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (29696, "29,696"),
        (1234.56, "1,235"),
        (123.4, "123"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (0.01234, "0.0123"),
        (-2.5, "-2.50"),
        (math.nan, "nan"),
        (1e20, "100,000,000,000,000,000,000"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert numbers.number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "fraction", "50.0 %"),
        (90.0, "s", "90.0 s"),
        (2.143, "h", "2.14 h"),
        (4391.0, "tokens", "4,391 tokens"),
        (12.14, "ratio", "12.1"),
        (3.0, "", "3"),
    ],
)
def test_every_unit_in_its_manner(value: float, unit: str, text: str) -> None:
    assert numbers.quantity(value, unit) == text


@given(st.floats(0, 1), st.floats(0, 1))
def test_value_and_limit_never_look_equal(value: float, limit: float) -> None:
    first, second = numbers.apart(value, limit, "fraction")
    if value == limit:
        assert first == second
    elif abs(value - limit) > 1e-15:
        assert first != second


def test_apart_takes_as_many_digits_as_needed() -> None:
    assert numbers.apart(0.30004, 0.3, "fraction") == ("30.004 %", "30.000 %")
    assert numbers.apart(0.41, 0.3, "fraction") == ("41.0 %", "30.0 %")
    assert numbers.apart(66.4, 60.0, "s") == ("66.4 s", "60.0 s")


@pytest.mark.parametrize(
    ("value", "text"), [(512, "512"), (1500, "1.5k"), (32000, "32k"), (1e6, "1M"), (20, "20")]
)
def test_axis_labels(value: float, text: str) -> None:
    assert numbers.short_tokens(value) == text


@pytest.mark.parametrize(
    ("low", "high", "unit", "text"),
    [
        (55.5, 86.9, "s", "55.5 s to 86.9 s"),
        (4000, 4822, "tokens", "4,000 to 4,822 tokens"),
        (0.1, 0.25, "fraction", "10.0 % to 25.0 %"),
        (1.5, 2.5, "", "1.50 to 2.50"),
    ],
)
def test_between(low: float, high: float, unit: str, text: str) -> None:
    assert numbers.between(low, high, unit) == text


@pytest.mark.parametrize(
    ("ends", "text"),
    [
        ((2.143,), "2.14 GPU-hours"),
        ((0.15,), "0.15 GPU-hours"),
        ((0.0532,), "3.19 GPU-minutes"),
        ((8.49e-05, 5.49e-4), "0.306 to 1.98 GPU-seconds"),
        ((0.173, 1.09), "0.173 to 1.09 GPU-hours"),
        ((0.0,), "0 GPU-seconds"),
    ],
)
def test_gpu_time(ends: tuple[float, ...], text: str) -> None:
    assert numbers.gpu_time(*ends) == text


def test_plural() -> None:
    assert [numbers.plural(n, "step") for n in (0, 1, 58)] == ["0 steps", "1 step", "58 steps"]
