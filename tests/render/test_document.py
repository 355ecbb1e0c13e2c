"""The report as an object, as notebooks use it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from plotly.graph_objects import Figure

from rollprof.analyzers.results import Analysis
from rollprof.render.document import Report
from rollprof.render.report.content import content
from rollprof.render.report.palette import PALETTES, painted

KINDS = ("calibrated", "difficulty", "logged", "bracket", "straggler_512", "nothing_known", "asynchronous")


@pytest.mark.parametrize("kind", KINDS)
def test_every_plot_is_a_valid_plotly_figure(make: Callable[..., Analysis], kind: str) -> None:
    report = Report(make(kind))
    for scheme in ("light", "dark"):
        for name, figure in report.plots(scheme).items():  # plotly raises for a property that does not exist
            assert isinstance(figure, Figure)
            assert figure.data, name
            assert "@" not in figure.to_json(), "every role has a colour"
    assert set(report.figures) >= {p.name for p in content(report.analysis).plots()}


def test_all_forms(make: Callable[..., Analysis]) -> None:
    report = Report(make("difficulty"))
    assert report.html.startswith("<!DOCTYPE html>")
    assert report.markdown.startswith("<!-- rollprof report")
    assert json.loads(report.json)["format"] == 1
    assert "rollprof-cell" in report._repr_html_()
    assert {"lengths", "lengths-linear", "waiting", "phases", "difficulty"} <= set(report.figures)


def test_both_schemes_have_the_same_roles() -> None:
    assert PALETTES["light"].keys() == PALETTES["dark"].keys()


def test_only_roles_are_painted() -> None:
    value = {"a": ["@accent", "@nobody", "me@accent", 3, None], "@accent": ("@work",)}
    light = PALETTES["light"]
    assert painted(value, "light") == {
        "a": [light["accent"], "@nobody", "me@accent", 3, None],
        "@accent": [light["work"]],
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    """WCAG 2 AA: text on its ground has a contrast of 4.5 at least."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    colors = PALETTES[scheme]  # type: ignore[index]
    pairs = [
        *((text, ground) for text in ("ink", "muted", "accent") for ground in ("card", "page")),
        ("card", "accent"),
        ("ink", "work-soft"),
        ("ink", "n6"),
        ("accent", "accent-soft"),
    ]
    found = {}
    for text, ground in pairs:
        a, b = sorted((luminance(colors[text]), luminance(colors[ground])), reverse=True)
        found[text, ground] = (a + 0.05) / (b + 0.05)
    low = {pair: ratio for pair, ratio in found.items() if ratio < 4.5 and pair != ("accent", "accent-soft")}
    assert low == {}
    assert found["accent", "accent-soft"] > 3.5
