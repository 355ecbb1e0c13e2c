"""Numbers as people read them: units everywhere, sensible digits, and never a rounding that lies."""

from __future__ import annotations

import math

from rollprof.analyzers.results import Basis, Figure, StepFigure

ABSENT = "not in this log"
_MOST_DECIMALS = 4


def percent(fraction: float, decimals: int = 1) -> str:
    """`0.4137` as `41.4 %`. Only an exact 0 or 1 is ever shown as 0 % or 100 %."""
    value = fraction * 100
    if value in (0.0, 100.0):
        return f"{value:.0f} %"
    for digits in range(decimals, _MOST_DECIMALS + 1):
        text = f"{value:.{digits}f}"
        if float(text) not in (0.0, 100.0):
            return f"{text} %"
    edge = 0 if value < 50 else 100
    step = 10.0**-_MOST_DECIMALS
    if edge == 0:
        return f"< {step:.{_MOST_DECIMALS}f} %" if value > 0 else f"> -{step:.{_MOST_DECIMALS}f} %"
    return f"> {100 - step:.{_MOST_DECIMALS}f} %" if value < 100 else f"< {100 + step:.{_MOST_DECIMALS}f} %"


def percent_range(low: float, high: float) -> str:
    """`39–43 %`, with as many digits as it takes to tell the ends apart."""
    if low == high:
        return percent(low)
    decimals = interval_decimals(low, high)
    ends = [percent(end, decimals).removesuffix(" %") for end in (low, high)]
    return f"{ends[0]}–{ends[1]} %"


def interval_decimals(low: float, high: float) -> int:
    """Digits of a percentage that an interval of this width supports: 0, 1, 2 or more."""
    half = abs(high - low) * 50
    if half >= 1:
        return 0
    # The slack keeps .02 from needing a third digit because of binary fractions.
    return min(_MOST_DECIMALS, math.ceil(-math.log10(half) - 1e-6)) if half > 0 else 1


def is_wide(interval: tuple[float, float] | None) -> bool:
    """Whether an interval says anything: one of a figure known exactly has no width but for rounding."""
    return interval is not None and abs(interval[1] - interval[0]) > 1e-9


def figure_decimals(basis: Basis | None, interval: tuple[float, float] | None) -> int:
    """Digits of a percentage that are known: an interval says it, else the basis does. Two at most."""
    if interval is not None and is_wide(interval):
        return min(interval_decimals(*interval), 2)
    return {"measured": 2, "logged": 1, "calibrated": 1, "modelled": 0}.get(basis or "modelled", 1)


def figure_percent(figure: Figure | StepFigure) -> str:
    """A fraction with its bound, `≤ 23.5 %`; a bracket as its range; `not in this log` when absent."""
    if figure.value is None:
        return ABSENT if figure.interval is None else percent_range(*figure.interval)
    return f"{_BOUND_SIGN.get(figure.bound or '', '')}{percent(figure.value, decimals_of(figure))}"


_BOUND_SIGN = {"upper": "≤ ", "lower": "≥ "}


def decimals_of(figure: Figure | StepFigure) -> int:
    """`figure_decimals`, where the interval is the figure's own precision: that of a bound is not, but for
    what an upper bound leaves open above itself."""
    ends = None if figure.bound else figure.interval
    if figure.bound == "upper" and figure.value is not None and figure.interval is not None:
        off = figure.interval[1] - figure.value
        ends = (figure.value - off, figure.value + off) if off > 0 else None
    return figure_decimals(figure.basis, ends)


def seconds(value: float) -> str:
    """`84 ms`, `8.42 s`, `66.4 s`, `2 min 14 s`, `3 h 05 min`, `2 d 04 h`."""
    if not math.isfinite(value):
        return str(value)
    if value < 0:
        return f"-{seconds(-value)}"
    if 0 < value < 0.0995:
        return f"{value * 1000:.3g} ms"
    if value < 9.995:
        return f"{value:.2f} s" if value else "0 s"
    if value < 119.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = round(value / 60)
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    hours = round(value / 3600)
    return f"{hours // 24:,} d {hours % 24:02d} h"


def number(value: float) -> str:
    """Three significant digits, all of them above 100, thousands separated."""
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if value == int(value) and size < 1e15:
        return f"{int(value):,}"
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def hours(value: float) -> str:
    """`0.021 h`, `3.42 h`, `1,204 h`."""
    return f"{number(value)} h"


def gpu_time(hours_low: float, hours_high: float | None = None) -> str:
    """`2.14 GPU-hours`, `3.19 GPU-minutes`, `0.306 to 1.98 GPU-seconds`; the unit that fits the larger."""
    top = hours_low if hours_high is None else hours_high
    scale, unit = next(
        ((s, u) for s, u in ((1, "GPU-hours"), (60, "GPU-minutes")) if abs(top) * s >= 0.1),
        (3600, "GPU-seconds"),
    )
    ends = [number(value * scale) for value in (hours_low, hours_high) if value is not None]
    return f"{' to '.join(ends)} {unit}"


def short_tokens(value: float) -> str:
    """Axis labels: `512`, `2k`, `1.5k`, `32k`, `1M`."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit, each unit in its own manner."""
    if unit == "fraction":
        return percent(value)
    if unit == "s":
        return seconds(value)
    if unit == "h":
        return hours(value)
    if unit in ("", "ratio", "correlation", "count"):
        return number(value)
    return f"{number(value)} {unit}"


def between(low: float, high: float, unit: str) -> str:
    """`55.5 s to 86.9 s`, `4,000 to 4,822 tokens`: a word that is the same on both sides stands once."""
    first, second = quantity(low, unit), quantity(high, unit)
    repeated = f" {unit}"
    short = unit not in ("s", "h", "fraction") and first.endswith(repeated) and second.endswith(repeated)
    return f"{first.removesuffix(repeated) if short else first} to {second}"


def plural(count: float, word: str) -> str:
    """`1 step`, `58 steps`, `29,696 rollouts`."""
    return f"{number(count)} {word}" + ("" if count == 1 else "s")


def apart(value: float, limit: float, unit: str) -> tuple[str, str]:
    """Both numbers with as many digits as it takes to see which is larger (equal ones stay equal)."""
    if value == limit:
        same = quantity(value, unit)
        return same, same
    scale, suffix = (100.0, " %") if unit == "fraction" else (1.0, f" {unit}" if unit else "")
    for digits in range(1, 17):
        pair = (f"{value * scale:,.{digits}f}", f"{limit * scale:,.{digits}f}")
        if pair[0] != pair[1]:
            return pair[0] + suffix, pair[1] + suffix
    return f"{value * scale!r}{suffix}", f"{limit * scale!r}{suffix}"
