"""The sections on request: what remedies would gain, and what changed since another run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from extras import compared, replays

from rollprof.analyzers.results import Analysis
from rollprof.render import as_json, whatif_json
from rollprof.render.document import Report
from rollprof.render.html.page import render
from rollprof.render.report.against import against
from rollprof.render.report.content import content
from rollprof.render.report.model import Extras, Items, Paragraph, Plot, Section, Table
from rollprof.render.report.what_if import what_if

Make = Callable[..., Analysis]


def plots(section: Section | None) -> dict[str, Plot]:
    assert section is not None
    return {b.name: b for b in section.blocks if isinstance(b, Plot)}


def table(section: Section | None, caption: str) -> Table:
    assert section is not None
    return next(b for b in section.blocks if isinstance(b, Table) and b.caption.startswith(caption))


def rows(found: Table) -> dict[str, list[str]]:
    return {row[0].text: [c.text for c in row[1:]] for row in found.rows}


def said(section: Section | None) -> str:
    assert section is not None
    return " ".join(b.text for b in section.blocks if isinstance(b, Paragraph))


def test_sections_stand_before_the_findings_only_when_asked_for(make: Make) -> None:
    analysis = make("difficulty")
    plain = [s.name for s in content(analysis).sections]
    assert not {"whatif", "against"} & set(plain)
    with_both = content(analysis, None, Extras(replays(), compared(analysis)))
    names = [s.name for s in with_both.sections]
    at = names.index("findings")
    assert names[at - 2 : at + 1] == ["whatif", "against", "findings"]
    assert [n for n in names if n not in ("whatif", "against")] == plain


def test_policies_with_price_and_interval() -> None:
    section = what_if(replays())
    best = table(section, "Each policy")
    assert best.head[1:] == (
        "speed-up",
        "95 % interval",
        "if the cost is off",
        "useful tokens/s",
        "off-policy",
        "dropped",
        "trained/all length",
        "trade-off",
    )
    assert rows(best) == {
        "baseline": ["1.00x", "", "", "1.00x", "0 %", "0 %", "1.00", ""],
        "april over=2": ["1.50x", "1.40 to 1.70", "", "1.50x", "70.0 %", "0 %", "1.00", "best"],
        "oversample-drop": ["2.00x", "1.90 to 2.20", "", "1.10x", "0 %", "43.8 %", "0.64", ""],
        "speculative-tail": ["1.40x", "1.30 to 1.60", "1.20 to 1.60", "1.40x", "0 %", "0 %", "1.00", "best"],
    }
    assert "dapo needs: rewards of rollouts" in best.more
    every = table(section, "All parameters")
    assert every.folded
    assert "april over=1.5" in rows(every)
    assert "dapo" not in rows(every)


def test_the_plot_says_what_the_fastest_costs() -> None:
    plot = plots(what_if(replays()))["whatif"]
    assert (
        "Fastest: oversample-drop, 2.00x at 0 % off-policy and 43.8 % dropped, useful tokens 1.10x."
        in plot.text
    )
    assert "Most useful tokens per second: april over=2, 1.50x at 70.0 % off-policy" in plot.text
    data = plot.specs[""]["data"]
    drawn = {(label, x, y) for d in data for label, x, y in zip(d["customdata"], d["x"], d["y"], strict=True)}
    assert drawn == {
        ("april over=1.5", 0.4, 1.3),
        ("april over=2", 0.7, 1.5),
        ("oversample-drop", 0.0, 2.0),
        ("speculative-tail", 0.0, 1.4),
    }
    front = next(d for d in data if d["name"] == "best trade-off")
    assert front["customdata"] == ["april over=1.5", "april over=2", "speculative-tail"]
    assert front["error_y"]["array"] == pytest.approx([0.2] * 3)
    assert front["error_y"]["arrayminus"] == pytest.approx([0.1] * 3)


def test_advice_and_remarks_are_told() -> None:
    found = replays()
    section = what_if(found)
    assert section is not None
    items = next(b for b in section.blocks if isinstance(b, Items)).items
    assert [(i.text, i.next) for i in items] == [("april (over=2): 1.50x.", "verl: set this")]
    words = said(section)
    assert "20.0 s a step" in words
    assert "off by 1.5 % on what it had not seen" in words
    assert "Single responses are long." in words
    assert "Lengths are taken not to react." in words
    assert "Rough" not in words
    rough = replace(
        found, calibration=replace(found.calibration, rough="b/a is unknown"), advice=found.advice[:1]
    )
    assert "Rough: b/a is unknown." in said(what_if(rough))
    assert "No remedy gains more" in said(what_if(rough))


def test_a_limit_that_is_passed_is_marked() -> None:
    found = replays()
    over = [replace(p, within_limits=p.name != "oversample-drop") for p in found.policies]
    best = rows(table(what_if(replace(found, policies=over)), "Each policy"))
    assert [name for name, cells in best.items() if cells[-1] == "over the limit"] == ["oversample-drop"]


def test_a_refusal_is_a_sentence(make: Make) -> None:
    section = what_if("nothing to replay")
    assert said(section) == "Not replayed: nothing to replay."
    extras = Extras("nothing to replay")
    assert as_json.document(make("difficulty"), extras.replayed)["whatif"] is None
    assert "Not replayed: nothing to replay." in render(make("difficulty"), extras=extras)


def test_figures_beside_those_of_the_other_run(make: Make) -> None:
    analysis = make("difficulty")
    comparison = compared(analysis)
    section = against(comparison)
    figures = table(section, "Figures side by side")
    assert figures.head == ("figure", "main", "this run", "change (90 % interval)", "noise?")
    found = rows(figures)
    assert set(found) <= set(analysis.figures)
    # the same run: nothing but times differs
    assert found["response_tokens_mean"][2:] == ["0 %", "the same"]
    overlaid = plots(section)["against-lengths"]
    assert "p50: 600 (main), 1,100 (this run); p99: 1,090 (main), 2,080 (this run)" in overlaid.text
    assert overlaid.numbers is not None
    assert rows(overlaid.numbers)["max"] == ["1,100", "2,100"]
    drawn = overlaid.specs[""]["data"]
    assert {d["name"] for d in drawn} == {"this run", "the other run"}
    assert all(sum(d["y"][:-1]) == pytest.approx(1.0) for d in drawn)


def test_parts_of_the_change_lost_and_won(make: Make) -> None:
    section = against(compared(make("difficulty")))
    plot = plots(section)["against-generation"]
    assert "10.0 s to 13.0 s a step on average (+3.00 s), mainly heavier tail" in plot.text
    assert plot.numbers is not None
    assert rows(plot.numbers) == {
        "heavier tail": ["+5.00 s", "+4.00 s to +6.50 s"],
        "faster per token": ["-2.00 s", "-3.00 s to -1.00 s"],
    }
    (bars,) = plot.specs[""]["data"]
    # the first part is drawn on top
    assert bars["y"] == ["faster per token", "heavier tail"]
    assert bars["marker"]["color"] == ["@work", "@accent"]
    assert bars["error_x"]["array"] == [1.0, 1.5]
    assert bars["error_x"]["arrayminus"] == [1.0, 1.0]


def test_what_cannot_be_told_is_said(make: Make) -> None:
    comparison = replace(compared(make("difficulty")), generation=("no generation times",), lengths=None)
    section = against(comparison)
    assert "cannot be told: no generation times." in said(section)
    assert plots(section) == {}


def test_both_in_every_form(make: Make) -> None:
    analysis = make("difficulty")
    report = Report(analysis, extras=Extras(replays(), compared(analysis)))
    assert {"whatif", "against-generation", "against-lengths"} <= set(
        report.figures
    )  # plotly refuses what does not exist
    assert "## What if\n" in report.markdown
    assert "## Against another run\n" in report.markdown
    assert as_json.document(analysis, replays())["whatif"] == whatif_json.document(replays())
    assert '"whatif":{"advice"' in report.html
    assert len(report.html.encode()) < 2_600_000


def test_text_from_outside_is_escaped(make: Make) -> None:
    attack = "<img src=x onerror=alert(1)>"
    analysis = make("difficulty")
    found = replays(attack)
    found = replace(
        found,
        advice=(replace(found.advice[0], text=attack), replace(found.advice[1], enable={attack: attack})),
        calibration=replace(found.calibration, rough=attack),
    )
    comparison = compared(analysis, attack)
    comparison = replace(comparison, generation=(attack,))
    for extras in (Extras(found, comparison), Extras(attack)):
        assert "<img" not in render(analysis, extras=extras)
        assert "<img" not in Report(analysis, extras=extras).markdown.replace("\\<img", "")
    for plot in content(analysis, None, Extras(found, comparison)).plots():
        assert attack not in str(plot.specs), plot.name
