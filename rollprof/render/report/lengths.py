"""Response lengths: their distribution over the run, and how it moves from step to step."""

from __future__ import annotations

from typing import Any

from rollprof.analyzers.results import Analysis, Histogram, Lengths
from rollprof.render.numbers import number, percent, quantity
from rollprof.render.report.layout import axis, edge, layout, line, mark, step_axis
from rollprof.render.report.model import Block, Cell, Plot, Section, Spec, Table
from rollprof.render.report.over_steps import curve, drawn, in_blocks, numbers
from rollprof.render.report.words import figure_table, series, step_numbers

FIGURES = (
    *(f"response_tokens_{s}" for s in ("mean", "p50", "p90", "p95", "p99", "max")),
    "truncated_share",
    "max_over_median",
    "tail_token_share_10",
    "gini_length",
    "km_median_tokens",
    "length_drift_p50",
    "length_drift_p99",
)
_MARKS = (("p50", "median", 1.0), ("p90", "p90", 0.84), ("p99", "p99", 0.68))
_BANDS = (("p50", "median", "@work"), ("p90", "p90", "@n3"), ("p99", "p99", "@accent-mid"))
_HOW = {
    "exact": "as logged",
    "tokenized": "counted with the tokenizer given",
    "scaled": "characters scaled to the logged mean",
    "characters": "characters, because the log has no token counts",
}


def lengths(analysis: Analysis) -> Section | None:
    """Histogram, ECDF and the figures; None where the log has no lengths at all."""
    shape = analysis.lengths
    blocks: list[Block] = []
    if shape.log is not None or shape.linear is not None:
        blocks.append(_distribution(analysis, shape))
    table = figure_table(analysis, FIGURES, "Response lengths over the run")
    if table is not None:
        blocks.append(table)
    if not blocks:
        return None
    how = _HOW.get(shape.token_basis or "", "")
    question = "A long tail of responses is what keeps the other GPUs waiting." + (
        f" Lengths in {shape.unit}, {how}." if how else ""
    )
    return Section("lengths", "Response lengths", question, tuple(blocks))


def _distribution(analysis: Analysis, shape: Lengths) -> Plot:
    specs = {}
    for label, histogram in (("log", shape.log), ("linear", shape.linear)):
        if histogram is not None:
            specs[label] = distribution(analysis, shape, histogram)
    known = [(n, _value(analysis, f"response_tokens_{s}")) for s, n, _ in _MARKS]
    words = ", ".join(f"{n} {number(round(v))}" for n, v in known if v is not None)
    cut = analysis.figures.get("truncated_share")
    at_cap = ""
    if shape.cap is not None and cut is not None and cut.value is not None:
        at_cap = f"; {percent(cut.value, 1)} cut off at the cap of {number(shape.cap)}"
    text = f"Half of the responses are shorter than the median: {words} {shape.unit}{at_cap}."
    return Plot("lengths", "How long responses are", specs, text, _table(shape))


def _table(shape: Lengths) -> Table:
    percents = (0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100)
    rows = [
        (Cell(f"{p} %", "number"), Cell(quantity(round(shape.ecdf[p]), shape.unit), "number"))
        for p in percents
        if len(shape.ecdf) == 101
    ]
    return Table(
        ("share of responses", "at most this long"), tuple(rows), "Quantiles of the lengths", "", True
    )


def _value(analysis: Analysis, name: str) -> float | None:
    figure = analysis.figures.get(name)
    return figure.value if figure is not None else None


def distribution(analysis: Analysis, shape: Lengths, histogram: Histogram) -> Spec:
    """Histogram above, cumulative share below, on one axis of lengths."""
    edges, counts = list(histogram.edges), [*histogram.counts, histogram.counts[-1]]
    top = max(histogram.counts, default=1) or 1
    data = [
        line(
            "responses",
            edges,
            counts,
            "@work",
            line={"shape": "hv", "width": 1.5},
            fill="tozeroy",
            fillcolor="@work-soft",
            hovertemplate="%{y:,} responses from %{x:,.0f}<extra></extra>",
        )
    ]
    data += _marks(analysis, top)
    if shape.cap is not None and edges[0] < shape.cap <= edges[-1] * 1.5:
        data.append(mark(shape.cap, f" cap {number(shape.cap)} ", top, 0.92, "top left", "@accent"))
    if len(shape.ecdf) == 101:
        data.append(
            line(
                "shorter",
                list(shape.ecdf),
                [p / 100 for p in range(101)],
                "@work",
                yaxis="y2",
                line={"shape": "hv"},
                hovertemplate="%{y:.0%} are at most %{x:,.0f}<extra></extra>",
            )
        )
    kind = {"type": "log", "dtick": "D2", "tickformat": "~s"} if histogram.scale == "log" else {}
    return {
        "data": data,
        "layout": layout(
            430,
            hovermode="closest",
            xaxis=axis(f"response length ({shape.unit})", anchor="y2", showgrid=False, **kind),
            yaxis=axis("responses", domain=[0.42, 1], range=[0, top * 1.12]),
            yaxis2=axis("cumulative", domain=[0, 0.32], range=[0, 1.02], tickformat=".0%"),
        ),
    }


def _marks(analysis: Analysis, top: float) -> list[dict[str, Any]]:
    """Quantiles as upright lines; those that coincide share one."""
    names: dict[float, list[str]] = {}
    for stat, name, _ in _MARKS:
        value = _value(analysis, f"response_tokens_{stat}")
        if value is not None and value > 0:
            names.setdefault(value, []).append(name)
    heights = [height for _, _, height in _MARKS]
    return [
        mark(
            value,
            f" {', '.join(known)} {number(round(value))} ",
            top,
            height,
            "top left" if "p99" in known else "top right",
            "@ink",
        )
        for (value, known), height in zip(names.items(), heights, strict=False)
    ]


def bands(analysis: Analysis) -> Section | None:
    """Quantiles of the lengths step by step; None where no step has them, or there is only one."""
    steps = step_numbers(analysis)
    unit = analysis.lengths.unit
    stats = ("p50", "p90", "p99", "max", "mean")
    known = {s: series(analysis, f"response_tokens_{s}") for s in stats}
    known = {s: v for s, v in known.items() if any(x is not None for x in v)}
    if len(steps) < 2 or not known.keys() - {"mean"}:
        return None
    data = []
    if "max" in known:
        found = drawn(steps, known["max"])
        x = [b.first for b in found]
        data += [
            edge(x, [0.0] * len(x)),
            line("longest", x, [b.middle for b in found], "@accent", width=1.2, line={"dash": "dot"}),
        ]
    for stat, name, color in reversed(_BANDS):
        if stat in known:
            data += curve(name, steps, known[stat], color)
    if "p50" not in known and "mean" in known:
        data += curve("mean", steps, known["mean"], "@work")
    if analysis.lengths.cap is not None:
        ends = [steps[0], steps[-1]]
        cap = analysis.lengths.cap
        data.append(line("cap", ends, [cap, cap], "@muted", width=1, line={"dash": "dash"}, hoverinfo="skip"))
    for trace in data:
        if trace.get("hoverinfo") != "skip":
            trace["hovertemplate"] = "%{y:,.0f}"
    columns = {"p50": "median", "max": "longest"}
    table = numbers(
        steps, {columns.get(s, s): (v, unit) for s, v in known.items()}, f"Response length by step ({unit})"
    )
    spec = {
        "data": data,
        "layout": layout(
            320,
            showlegend=True,
            xaxis=step_axis(steps),
            yaxis=axis(f"response length ({unit})", rangemode="tozero"),
        ),
    }
    plot = Plot("length-bands", "Length by step", {"": spec}, _drift(analysis) + in_blocks(steps), table)
    question = "Where the median moves, everything gets slower; where only the tail moves, waiting does."
    return Section("length-bands", "Lengths over the run", question, (plot,))


def _drift(analysis: Analysis) -> str:
    drift, start = analysis.figures.get("length_drift_p50"), series(analysis, "response_tokens_p50")
    if drift is None or drift.value is None or drift.interval is None:
        return "Quantiles of the response lengths of each step. "
    low, high = drift.interval
    known = [v for v in start if v is not None]
    span = ""
    if known:
        first, last = number(round(known[0])), number(round(known[-1]))
        span = f" The median of the first step is {first}, of the last {last}."
    if low <= 0 <= high:
        return f"The median response neither grows nor shrinks beyond noise.{span} "
    word = "grows" if drift.value > 0 else "shrinks"
    return f"The median response {word} by {number(abs(drift.value))} a step.{span} "
