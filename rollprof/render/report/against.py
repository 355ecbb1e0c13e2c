"""This run beside another: what changed, whether it is noise, and what more generation time is made of."""

from __future__ import annotations

from collections.abc import Sequence

from rollprof.compare.change import Change
from rollprof.compare.comparison import Comparison
from rollprof.compare.decomposition import Decomposition
from rollprof.compare.overlay import Overlay
from rollprof.render.comparison import words
from rollprof.render.report.layout import axis, layout, line
from rollprof.render.report.model import Block, Cell, Paragraph, Plot, Section, Spec, Table

_QUESTION = (
    "What changed, and is it more than noise? Times compare at matched response length, intervals are 90 %."
)
_OTHERS = ("@muted", "@n2", "@n7", "@n3")
"""Colours of the runs that this one is compared with; its own is that of work."""


def against(comparison: Comparison | None) -> Section | None:
    """The section; the last run of the comparison is the one reported on."""
    if comparison is None:
        return None
    names = words.labels(comparison)
    blocks: list[Block] = []
    for number, (name, found) in enumerate(zip(names[1:], comparison.generation, strict=True)):
        blocks += _generation(name if len(names) > 2 else "", number, found)
    blocks.append(_figures(comparison, names))
    if comparison.lengths is not None:
        blocks.append(_lengths(comparison, comparison.lengths, names))
    blocks.append(_settings(comparison, names))
    return Section("against", "Against another run", _QUESTION, tuple(blocks))


def _generation(name: str, number: int, found: Decomposition | str) -> list[Block]:
    lead = f"{name}: " if name else ""
    if isinstance(found, str):
        return [Paragraph(lead + words.generation(found))]
    cells = [words.part(one) for one in found.parts]
    table = Table(
        ("part of the change", "a step", "90 % interval"),
        tuple((Cell(part), Cell(took, "number"), Cell(ends, "number")) for part, took, ends in cells),
        "What the change in generation time is made of",
    )
    text = " ".join(t for t in (lead + words.generation(found), words.remark(found)) if t)
    plot_name = f"against-generation-{number + 1}" if number else "against-generation"
    return [Plot(plot_name, "Where the change is from", {"": _parts(found)}, text, table)]


def _parts(found: Decomposition) -> Spec:
    """Bars of seconds a step, the first part on top: orange for time that was lost, blue for time won."""
    parts = found.parts[::-1]
    color = ["@accent" if p.seconds > 0 else "@work" for p in parts]
    ends = [p.interval or (p.seconds, p.seconds) for p in parts]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": [p.seconds for p in parts],
        "y": [p.name for p in parts],
        "marker": {"color": color},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [max(high - p.seconds, 0.0) for p, (_, high) in zip(parts, ends, strict=True)],
            "arrayminus": [max(p.seconds - low, 0.0) for p, (low, _) in zip(parts, ends, strict=True)],
            "color": "@ink",
            "thickness": 1,
            "width": 3,
        },
        "hovertemplate": "%{y}: %{x:+.3g} s a step<extra></extra>",
    }
    shape = layout(
        260,
        hovermode="closest",
        xaxis=axis("seconds a step, against the other run", zeroline=True, zerolinecolor="@muted"),
        yaxis=axis("", showgrid=False),
    )
    return {"data": [bars], "layout": shape}


def _figures(comparison: Comparison, names: Sequence[str]) -> Table:
    head = ["figure", *names]
    for name in names[1:]:
        head += [f"change to {name}" if len(names) > 2 else "change (90 % interval)", "noise?"]
    shown = words.rows(comparison, full=False)
    rows = tuple(
        (
            Cell(row.name, "figure"),
            *(Cell(words.value(figure, row.unit), "number") for figure in row.figures),
            *(cell for change in row.changes for cell in _change(change)),
        )
        for row in shown
    )
    left = len(comparison.rows) - len(shown)
    more = f"rollprof compare --verbose shows {left} more figures." if left else ""
    return Table(tuple(head), rows, "Figures side by side", more)


def _change(change: Change) -> tuple[Cell, Cell]:
    return Cell(words.difference(change), "number"), Cell(words.word(change))


def _lengths(comparison: Comparison, overlay: Overlay, names: Sequence[str]) -> Plot:
    rows = tuple(
        (Cell(name, "number"), *(Cell(value, "number") for value in values))
        for name, values in words.quantile_rows(comparison)
    )
    caption = f"Quantiles of the response lengths ({overlay.unit})"
    table = Table(("quantile", *names), rows, caption)
    known = [(name, dict(words.quantile_rows(comparison))) for name in ("p50", "p99")]
    said = "; ".join(
        f"{name}: " + ", ".join(f"{value} ({run})" for run, value in zip(names, values[name], strict=True))
        for name, values in known
    )
    text = f"Shares of the responses by length. {said} {overlay.unit}."
    return Plot("against-lengths", "Response lengths of both runs", {"": _overlaid(overlay)}, text, table)


def _overlaid(overlay: Overlay) -> Spec:
    """Runs are `this run` and `the other run` here: what they are called comes from outside."""
    last = len(overlay.shares) - 1
    data = []
    for i, shares in enumerate(overlay.shares):
        if not shares:
            continue
        name = "this run" if i == last else "the other run" if last == 1 else f"run {i + 1}"
        fill = {"fill": "tozeroy", "fillcolor": "@work-soft"} if i == last else {}
        color = "@work" if i == last else _OTHERS[i % len(_OTHERS)]
        data.append(
            line(
                name,
                list(overlay.edges),
                [*shares, shares[-1]],
                color,
                line={"shape": "hv", "dash": "solid" if i == last else "dash"},
                hovertemplate="%{y:.1%} from %{x:,.0f}",
                **fill,
            )
        )
    # this run's filled area goes below the lines of the others
    return {
        "data": data[::-1],
        "layout": layout(
            320,
            showlegend=True,
            hovermode="closest",
            xaxis=axis(
                f"response length ({overlay.unit})", type="log", dtick="D2", tickformat="~s", showgrid=False
            ),
            yaxis=axis("share of the responses", tickformat=".0%", rangemode="tozero"),
        ),
    }


def _settings(comparison: Comparison, names: Sequence[str]) -> Block:
    if not comparison.settings:
        return Paragraph("Nothing that the logs tell changed in the configuration.")
    rows = tuple(
        (Cell(one.name, "code"), *(Cell(words.setting(value)) for value in one.values))
        for one in comparison.settings
    )
    return Table(("setting", *names), rows, "What changed in the configuration")
