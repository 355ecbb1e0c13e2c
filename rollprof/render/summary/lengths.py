"""Response lengths: quantiles, and the histogram with its long tail, on a logarithmic axis."""

from __future__ import annotations

from rollprof.analyzers.results import Analysis, Figure, Histogram, Lengths
from rollprof.render import bars
from rollprof.render.numbers import ABSENT, figure_percent, number, percent
from rollprof.render.summary.page import Page, joined, pad

_GUTTER = 8
_BASES = {
    "exact": "as logged",
    "tokenized": "counted here with your tokenizer",
    "scaled": "characters scaled to the logged mean",
    "characters": "the log has no token counts",
}


def lengths(page: Page, analysis: Analysis, *, height: int, ticks: bool, tail: bool) -> None:
    """Quantiles, then a histogram of `height` rows; `ticks` and `tail` add a line each."""
    shape = analysis.lengths
    histogram = shape.log or shape.linear
    words = _quantiles(analysis)
    if not words and histogram is None:
        page.heading("Response length  ", ABSENT)
        return
    basis = _BASES.get(shape.token_basis or "", "")
    scale = ", log scale" if histogram is not None and histogram.scale == "log" else ""
    page.heading("Response length", (f"  in {shape.unit}" + (f", {basis}" if basis else "") + scale, "dim"))
    if tail:
        page.add(words, indent=2)
        page.add(_tail(analysis, shape), indent=2)
    else:
        page.add(joined((words, _truncated(analysis, None))), indent=2)
    if histogram is not None and any(histogram.counts):
        _draw(page, analysis, histogram, height, ticks)


def _value(analysis: Analysis, name: str) -> float | None:
    figure = analysis.figures.get(name)
    return figure.value if figure is not None else None


def _quantiles(analysis: Analysis) -> str:
    names = ("mean", "p50", "p90", "p99", "max")
    known = ((name, _value(analysis, f"response_tokens_{name}")) for name in names)
    words = {"p50": "median"}
    return joined(f"{words.get(name, name)} {number(round(v))}" for name, v in known if v is not None)


def _tail(analysis: Analysis, shape: Lengths) -> str:
    ratio, tail = _value(analysis, "max_over_median"), analysis.figures.get("tail_token_share_10")
    return joined(
        (
            f"longest is {number(ratio)} x the median" if ratio is not None else "",
            f"longest 10 % hold {_share(tail)} of all {shape.unit}"
            if tail is not None and tail.value
            else "",
            _truncated(analysis, shape.cap),
        )
    )


def _truncated(analysis: Analysis, cap: float | None) -> str:
    figure = analysis.figures.get("truncated_share")
    if figure is None or figure.value is None:
        return ""
    at = f" at {number(cap)}" if cap else ""
    return f"{_share(figure)} cut off{at}" if figure.value else f"none cut off{at}"


def _share(figure: Figure) -> str:
    if figure.interval is None and figure.value is not None:
        return percent(figure.value, 1)
    return figure_percent(figure)


def _draw(page: Page, analysis: Analysis, histogram: Histogram, height: int, ticks: bool) -> None:
    picture = bars.upright(histogram.edges, histogram.counts, page.width - _GUTTER - 6, height)
    tallest = picture.peak / sum(histogram.counts)
    share = percent(tallest, 0 if tallest > 0.1 else 1)
    red = _truncated_from(analysis, picture)
    for index, row in enumerate(picture.rows):
        label = share if index == 0 else ""
        page.row(pad(label, _GUTTER - 1, right=True), " ", (row[:red], "cyan"), (row[red:], "red"))
    page.row(" " * _GUTTER, bars.pointers(_markers(analysis, picture), len(picture.columns), "─"))
    if ticks:
        page.row(" " * _GUTTER, (bars.ticks(picture), "dim"))


def _truncated_from(analysis: Analysis, picture: bars.Upright) -> int:
    """First column that holds responses cut at the cap (they are drawn in red), or beyond the last."""
    cap, cut = analysis.lengths.cap, _value(analysis, "truncated_share")
    drawn = cap is not None and cut and _within(cap, picture)
    return picture.position(cap) if cap is not None and drawn else len(picture.columns)


def _within(value: float, picture: bars.Upright) -> bool:
    # Edges went through logarithms: the cap itself may lie a hair beyond the last one.
    return picture.columns[0][0] * (1 - 1e-9) <= value <= picture.columns[-1][1] * (1 + 1e-9)


def _markers(analysis: Analysis, picture: bars.Upright) -> list[tuple[int, str]]:
    """Quantiles at their columns, the more telling ones first: they win where labels collide."""
    found = []
    cap = analysis.lengths.cap
    if cap is not None and _within(cap, picture):
        found.append((picture.position(cap), "cap"))
    for name, label in (("p50", "median"), ("p99", "p99"), ("p90", "p90"), ("mean", "mean")):
        value = _value(analysis, f"response_tokens_{name}")
        if value is not None:
            found.append((picture.position(value), label))
    return found
