"""The section on engines and GPUs: its picture, its words and its tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from sampled_run import paths

from rollprof import api
from rollprof.analyzers.results import (
    Analysis,
    EngineCurve,
    EngineResult,
    Figure,
    GpuBand,
    SampleCurves,
    SampleJoin,
)
from rollprof.render.markdown import render as markdown
from rollprof.render.report.content import content
from rollprof.render.report.engines import MOST_DRAWN, engines, spec
from rollprof.render.report.model import Paragraph, Plot, Table
from rollprof.render.terminal import render as terminal

Make = Callable[..., Analysis]
T0 = 1_796_000_000.0
BAD = "</script><script>1</script>"


def figure(name: str, value: float) -> Figure:
    return Figure(name, value, "fraction", "measured", interval=(value - 0.03, value + 0.03))


def sampled(make: Make, count: int, *, names: str = "{:03d}", how: str = "clock", **join: Any) -> Analysis:
    """Engines of 4 slots that empty one after another in 40 s, another 40 s later again."""
    time = (0.0, 10.0, 20.0, 40.0, 80.0, 90.0, 120.0)
    curves = [
        EngineCurve(
            names.format(k), tuple(T0 + t for t in time), (4.0, 3.0, 1.0, 0.0, 4.0, 2.0, 0.0), (0.0,) * 7, 4.0
        )
        for k in range(count)
    ]
    windows = [(T0, T0 + 40.0, 1), (T0 + 80.0, T0 + 120.0, 2)]
    band = GpuBand((T0, T0 + 60.0, T0 + 120.0), (0.1, None, 0.0), (0.5, None, 0.2), (0.9, None, 0.4))
    curves_of = SampleCurves(
        curves, (), windows, [w[:2] for w in windows], band, SampleJoin(how, "", 1.0, **join)
    )
    own = [
        EngineResult(
            names.format(k),
            {"slot_idle": figure("slot_idle", 0.4 + k / 100), "queue_share": figure("queue_share", 0.0)},
        )
        for k in range(count)
    ]
    base = make("calibrated")
    slot = replace(figure("slot_idle", 0.42), others={"calibrated": 0.47, "modelled": (0.5, 0.8)})
    return replace(base, samples=curves_of, engines=own, figures={**base.figures, "slot_idle": slot})


def plot_of(a: Analysis) -> Plot:
    section = engines(a)
    assert section is not None
    return next(b for b in section.blocks if isinstance(b, Plot))


def tables_of(a: Analysis) -> dict[str, Table]:
    section = engines(a)
    assert section is not None
    return {b.caption.split(",")[0]: b for b in section.blocks if isinstance(b, Table)}


def test_nothing_sampled_no_section(make: Make) -> None:
    assert engines(make("calibrated")) is None


def test_generations_are_shaded_up_to_the_slots_and_what_runs_stands_before_it(make: Make) -> None:
    drawn = plot_of(sampled(make, 1)).specs[""]
    shade, running, low, high, busy = drawn["data"]
    assert shade["x"] == [0, 0, 40, 40, None, 80, 80, 120, 120, None]
    assert shade["y"] == [0, 4, 4, 0, None] * 2
    assert (shade["fill"], shade["fillcolor"]) == ("toself", "@accent-soft")
    assert running["x"] == [0, 10, 20, 40, 80, 90, 120]
    assert running["y"] == (4, 3, 1, 0, 4, 2, 0)
    assert running["fill"] == "tozeroy"
    assert busy["yaxis"] == low["yaxis"] == high["yaxis"] == "y2"
    assert busy["y"] == [50, None, 20]
    look = drawn["layout"]
    assert look["yaxis"]["domain"][0] > look["yaxis2"]["domain"][1], "GPUs stand beneath"
    assert look["xaxis"]["anchor"] == "y2"
    assert look["xaxis"]["title"]["text"] == "seconds since the first sample"


def test_requests_that_wait_are_a_dotted_line_above(make: Make) -> None:
    a = sampled(make, 1)
    assert a.samples is not None
    queue = replace(a.samples.engines[0], waiting=(6.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    plot = plot_of(replace(a, samples=replace(a.samples, engines=[queue])))
    waiting = next(t for t in plot.specs[""]["data"] if t.get("name") == "waiting")
    assert waiting["y"] == [10, 5, 1, 0, 4, 2, 0]
    assert plot.specs[""]["layout"]["yaxis"]["range"] == [0, pytest.approx(11)]
    assert "dotted line adds the requests that wait" in plot.text


def test_many_engines_draw_the_idlest_and_list_all(make: Make) -> None:
    a = sampled(make, 40)
    plot = plot_of(a)
    rows = [t for t in plot.specs[""]["data"] if t.get("name") == "running"]
    assert len(rows) == MOST_DRAWN
    assert f"The {MOST_DRAWN} engines with the most idle slots are drawn." in plot.text
    table = tables_of(a)["Each engine"]
    assert len(table.rows) == 41
    assert [c.text for c in table.rows[0]][:3] == ["039", "engine 39", "79 %"]
    assert table.rows[-1][0].text == "all engines"
    assert table.rows[10][1].text == "", "not in the plot"


def test_names_from_the_log_are_in_the_table_but_in_no_plot(make: Make) -> None:
    a = sampled(make, 2, names=BAD + "{}")
    assert BAD not in json.dumps(plot_of(a).specs[""])
    assert tables_of(a)["Each engine"].rows[0][0].text.startswith(BAD)
    assert "<script>" not in markdown(a)


def test_how_they_were_joined_and_what_stands_beside(make: Make) -> None:
    a = sampled(make, 2, zone_s=-7200.0, skew_s=31.6, corrected_s=-32.0)
    section = engines(a)
    assert section is not None
    (words,) = (b.text for b in section.blocks if isinstance(b, Paragraph))
    assert words == (
        "2 engines sampled every 1 s, 2 generations; joined to the steps by the clock; their clock moved by "
        "-2 h, it names no zone; their clock, 31.6 s later, corrected by -32 s. Measured slot_idle 42 %, "
        "beside it calibrated 47 % (5 points higher), modelled 50–80 % (nearest end 8 points higher)."
    )
    text = " ".join(terminal(a, width=140, full=True).split())
    assert words.split(". ")[0][0:60] in text
    assert "calibrated 47 % (5 points higher)" in text


def test_a_refused_join_is_said_and_still_drawn(make: Make) -> None:
    a = sampled(make, 2, how="")
    assert a.samples is not None
    a = replace(a, engines=(), samples=replace(a.samples, join=SampleJoin("", "no clock in common", 1.0)))
    section = engines(a)
    assert section is not None
    assert "not joined to the steps: no clock in common" in markdown(a).replace("\\", "")
    assert plot_of(a).specs[""]["data"]
    assert "slot_idle)" not in plot_of(a).text


def test_steps_without_a_figure_are_named(make: Make) -> None:
    a = sampled(make, 1, refused={2: "sampled too seldom", 5: "sampled too seldom"})
    assert "Without a figure from samples: steps 2, 5: sampled too seldom." in markdown(a)


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_terminal_keeps_its_width(make: Make, width: int) -> None:
    a = sampled(make, 40, names="Ray@node{}:3211/000")
    for full in (False, True):
        lines = terminal(a, width=width, full=full).splitlines()
        assert max(map(len, lines)) <= width
        assert any(line.startswith("Engines") for line in lines)
    assert "(+" not in terminal(a, width=width)


def test_long_times_are_hours_and_gpus_may_stand_alone(make: Make) -> None:
    a = sampled(make, 0)
    assert a.samples is not None
    band = GpuBand((T0, T0 + 4 * 3600), (0.0, 0.0), (0.5, 0.5), (1.0, 1.0))
    only = replace(a.samples, engines=(), windows=(), shaded=(), gpu_band=band)
    drawn = spec(only, [])
    assert drawn["layout"]["xaxis"]["title"]["text"] == "hours since the first sample"
    assert drawn["data"][-1]["x"] == [0, 4]
    section = engines(replace(a, samples=only))
    assert section is not None


def test_a_real_run_has_the_section_after_its_rollouts(tmp_path: Path) -> None:
    options = api.OpenOptions(output=str(tmp_path / "dataset"), reuse=False)
    a = api.analyze(api.open_run(paths(tmp_path / "logs"), options=options))
    assert "engines" in [s.name for s in content(a).sections]
    numbers = plot_of(a).numbers
    assert numbers is not None
    assert numbers.head[:3] == ("step", "slot_idle", "engine_idle")
    assert len(numbers.rows) == 3
    text = markdown(a)
    assert "## Engines and GPUs over time" in text
    assert "| 000 |" in text
