"""Where the time of a step goes: phases stacked, step by step."""

from __future__ import annotations

from itertools import cycle
from typing import Any

from rollprof.analyzers.results import Analysis, Figure
from rollprof.render.numbers import percent
from rollprof.render.report.headline import phase_name
from rollprof.render.report.layout import MOST_BARS, axis, layout, step_axis
from rollprof.render.report.model import Block, Cell, Plot, Section, Table
from rollprof.render.report.over_steps import numbers
from rollprof.render.report.words import listing, series, step_numbers, without_empty
from rollprof.stats.blocks import blocks

VISIBLE = 0.005
"""Phases below this share of the time are in the table, not in the plot: nobody would see them."""
_COLORS = ("@n3", "@n5", "@n2", "@n6", "@n4", "@n7", "@n8")


def phases(analysis: Analysis) -> Section | None:
    """Seconds per phase and step, and shares over the run; None where no phase is logged."""
    known = {n: f for n, f in analysis.phases.items() if f.value is not None}
    if not known:
        return None
    ranked = sorted(known.items(), key=lambda item: (item[0] != "generate", -(item[1].value or 0.0)))
    found: list[Block] = []
    plot = _plot(analysis, ranked)
    if plot is not None:
        found.append(plot)
    found.append(_table(ranked))
    question = "Only generation waits for stragglers: what it does not take, no remedy for them can win back."
    return Section("phases", "Phases of a step", question, tuple(found))


def _plot(analysis: Analysis, ranked: list[tuple[str, Figure]]) -> Plot | None:
    steps = step_numbers(analysis)
    inside = [(n, f) for n, f in ranked if not f.note.startswith("beside")]
    columns = {n: series(analysis, f"{n}_s") for n, f in inside if (f.value or 0.0) >= VISIBLE}
    columns = {n: v for n, v in columns.items() if any(x is not None for x in v)}
    if not columns:
        return None
    data: list[dict[str, Any]] = []
    others = cycle(_COLORS)
    for name, values in columns.items():
        color = "@work" if name == "generate" else next(others)
        found = blocks(steps, values, MOST_BARS)
        data.append(
            {
                "type": "bar",
                "name": phase_name(name),
                "x": [b.first for b in found],
                "y": [b.mean for b in found],
                "marker": {"color": color},
                "hovertemplate": "%{y:,.3~r} s",
            }
        )
    text = f"Most of the time goes to {_shares(inside[:3])}."
    beside = [(n, f) for n, f in ranked if (n, f) not in inside]
    if beside:
        text += f" Beside it, and not in the plot: {_shares(beside)}."
    if len(steps) > MOST_BARS:
        text += " Each bar is the mean of several steps."
    title = "Seconds per step" if len(steps) > 1 else "Seconds of the step"
    table = numbers(
        steps, {phase_name(n): (v, "s") for n, v in columns.items()}, "Seconds per phase and step"
    )
    look = layout(
        320,
        showlegend=True,
        barmode="stack",
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        xaxis=step_axis(steps),
        yaxis=axis("seconds", rangemode="tozero"),
    )
    return Plot("phases", title, {"": {"data": data, "layout": look}}, text, table)


def _shares(found: list[tuple[str, Figure]]) -> str:
    return listing([f"{phase_name(n)} {percent(f.value or 0.0, 0)}" for n, f in found])


def _table(ranked: list[tuple[str, Figure]]) -> Table:
    rows = tuple(
        (
            Cell(figure.name, "figure"),
            Cell(percent(figure.value or 0.0, 1), "number", (0.0, figure.value or 0.0)),
            Cell(figure.basis or "", "basis"),
            Cell(figure.note, "quiet"),
        )
        for _, figure in ranked
    )
    return without_empty(
        Table(("phase", "share of step time", "basis", "remark"), rows, "Shares of the steps' time")
    )
