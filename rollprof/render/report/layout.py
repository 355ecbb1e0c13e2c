"""What all plots share: axes, fonts, margins; colours by role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MOST_BARS = 120
"""Steps drawn as bars; more are drawn as a line."""
MOST_POINTS = 400
"""Points of a line over steps; more steps than that are drawn in blocks."""
MOST_ROWS = 60
"""Rows of the table that says the same in numbers."""


WHOLE = 8
"""Below this many steps plotly would put numbers between them."""


def axis(title: str, **more: Any) -> dict[str, Any]:
    """One axis: a title in the reader's words, faint grid."""
    return {
        "title": {"text": title, "font": {"size": 12, "color": "@muted"}, "standoff": 8},
        "gridcolor": "@line",
        "linecolor": "@line",
        "zeroline": False,
        "tickfont": {"size": 11, "color": "@muted"},
        "automargin": True,
        **more,
    }


def step_axis(steps: Sequence[int], **more: Any) -> dict[str, Any]:
    """The axis of steps: whole numbers only, also where a run has few."""
    few = {"dtick": 1} if steps and steps[-1] - steps[0] < WHOLE else {}
    return axis("step", showgrid=False, **few, **more)


def layout(height: int, **more: Any) -> dict[str, Any]:
    """A plot of `height` pixels that takes the width it is given."""
    return {
        "height": height,
        "autosize": True,
        "margin": {"l": 58, "r": 14, "t": 30, "b": 44},
        "font": {"family": FONT, "size": 12, "color": "@ink"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "x unified",
        "hoverlabel": {
            "bgcolor": "@card",
            "bordercolor": "@line",
            "font": {"family": FONT, "size": 12, "color": "@ink"},
        },
        "showlegend": False,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 12}},
        "dragmode": "zoom",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "@n4", "activecolor": "@ink"},
        "bargap": 0.12,
        **more,
    }


def line(name: str, x: Any, y: Any, color: str, **more: Any) -> dict[str, Any]:
    """A line through points that are there; unknown values leave a gap."""
    style = {"color": color, "width": more.pop("width", 2)} | dict(more.pop("line", {}))
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": style, **more}


def edge(x: Any, y: Any, **more: Any) -> dict[str, Any]:
    """An invisible line that a fill begins or ends at."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        **more,
    }


def mark(x: float, text: str, height: float, top: float, position: str, color: str) -> dict[str, Any]:
    """An upright line at `x` from 0 to `height * top`, with its name at the top. In data coordinates, so
    that it stands right on a logarithmic axis too."""
    return {
        "type": "scatter",
        "mode": "lines+text",
        "x": [x, x],
        "y": [0, height * top],
        "text": ["", text],
        "textposition": position,
        "textfont": {"size": 11, "color": color},
        "line": {"color": color, "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": False,
    }
