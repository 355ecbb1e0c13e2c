"""The report in a real browser: from a file, offline, drawn, silent; nothing from the log runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rollprof

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from extras import compared, replays
from sampled_run import paths

from rollprof import api
from rollprof.analyzers.results import Analysis
from rollprof.render.html.page import render
from rollprof.render.report.model import Extras
from rollprof.render.report.palette import PALETTES

pytestmark = pytest.mark.browser

DRAWN = """
[...document.querySelectorAll('[data-plot]')].map((plot) => ({
  name: plot.dataset.plot,
  shapes: plot.querySelectorAll('.scatterlayer path, .barlayer path').length,
  width: plot.querySelector('.main-svg')?.getBoundingClientRect().width ?? 0,
  height: plot.querySelector('.main-svg')?.getBoundingClientRect().height ?? 0,
  asked: plot.layout.height,
  area: plot._fullLayout?._size.w ?? 0,
  legend: plot.querySelector('.legend')?.getBoundingClientRect().bottom ?? 0,
  top: plot.querySelector('.nsewdrag')?.getBoundingClientRect().top ?? 0,
}))
"""
SECTIONS = "[...document.querySelectorAll('main > section')].map((s) => s.id)"
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SAMPLES = {
    "verl": (
        "headline in-flight lengths length-bands waiting phases difficulty sampling findings missing quality "
        "definitions"
    ),
    "openrlhf": "headline lengths phases findings missing quality definitions",
    "trl": (
        "headline in-flight lengths length-bands waiting difficulty sampling findings missing quality "
        "definitions"
    ),
    "straggler_512.jsonl": (
        "headline in-flight lengths waiting difficulty sampling findings missing quality definitions"
    ),
}


def only_itself(browser: Any, file: Path) -> bool:
    """Whether the page asked for nothing but its own file (and what is inside of it)."""
    return [u for u in browser.requests if not u.startswith(("data:", "blob:"))] == [file.as_uri()]


def rgb(color: str) -> str:
    """`#c2410c` as a browser names it."""
    return f"rgb({int(color[1:3], 16)}, {int(color[3:5], 16)}, {int(color[5:7], 16)})"


@pytest.mark.parametrize("name", list(SAMPLES))
def test_sample_logs_draw_everywhere(
    browser: Any, sample: Callable[[str], Analysis], tmp_path: Path, name: str
) -> None:
    file = tmp_path / "report.html"
    file.write_text(render(sample(name)), encoding="utf-8")
    for width, schemes in ((1440, ("light", "dark")), (390, ("dark", "light"))):
        browser.open(file, width=width, scheme=schemes[0])
        assert browser.run("document.documentElement.dataset.plots") == "drawn"
        assert set(browser.run(SECTIONS)) >= set(SAMPLES[name].split())
        for scheme in schemes:
            browser.scheme(scheme)
            browser.run("new Promise((done) => setTimeout(done, 200))")
            plots = browser.run(DRAWN)
            assert plots
            for plot in plots:
                assert plot["shapes"] > 0, plot
                assert 250 < plot["width"] <= width, plot
                assert plot["height"] >= 250, plot
            assert browser.run(WIDE) <= 0, "no sideways scrolling"
            assert browser.errors == []
            assert only_itself(browser, file)


def test_plots_fit_a_window_that_changes(
    browser: Any, sample: Callable[[str], Analysis], tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(render(sample("verl")), encoding="utf-8")
    browser.open(file, width=1440)
    for width in (390, 700, 1440, 390):
        browser.resize(width)
        browser.run("new Promise((done) => setTimeout(done, 600))")
        for plot in browser.run(DRAWN):
            assert plot["legend"] <= plot["top"] + 1, plot
            assert plot["height"] == plot["asked"], plot
            assert 0.6 * plot["width"] <= plot["area"] <= plot["width"] <= width, plot
    assert browser.errors == []


def test_sections_on_request_draw_too(browser: Any, make: Any, tmp_path: Path) -> None:
    file = tmp_path / "extras.html"
    analysis = make("difficulty")
    file.write_text(render(analysis, extras=Extras(replays(), compared(analysis))), encoding="utf-8")
    for width in (1440, 390):
        browser.open(file, width=width, scheme="dark")
        assert {"whatif", "against"} <= set(browser.run(SECTIONS))
        plots = {p["name"]: p for p in browser.run(DRAWN)}
        for name in ("whatif", "against-generation", "against-lengths"):
            assert plots[name]["shapes"] > 0, name
            assert 250 < plots[name]["width"] <= width, name
        assert browser.run(WIDE) <= 0, "no sideways scrolling"
        assert browser.errors == []
        assert only_itself(browser, file)


def test_engines_and_gpus_are_drawn(browser: Any, tmp_path: Path) -> None:
    options = api.OpenOptions(output=str(tmp_path / "dataset"), reuse=False)
    analysis = api.analyze(api.open_run(paths(tmp_path / "logs"), options=options))
    file = tmp_path / "report.html"
    file.write_text(render(analysis), encoding="utf-8")
    filled = """
    [...document.querySelectorAll('[data-plot=engines] .scatterlayer .fills path')]
      .map((p) => getComputedStyle(p).fill)
    """
    for width, scheme in ((1440, "light"), (390, "dark")):
        browser.open(file, width=width, scheme=scheme)
        browser.run("new Promise((done) => setTimeout(done, 300))")
        plots = {p["name"]: p for p in browser.run(DRAWN)}
        assert plots["engines"]["shapes"] >= 6, "idle and running of two engines, range and mean of the GPUs"
        assert 250 < plots["engines"]["width"] <= width
        assert browser.run("document.querySelectorAll('[data-plot=engines] .yaxislayer-above').length") == 3
        colours = set(browser.run(filled))
        for role in ("accent-soft", "work-soft", "n8"):
            assert rgb(PALETTES[scheme][role]) in colours, role  # type: ignore[index]
        assert browser.run("document.querySelectorAll('#engines table').length") >= 3
        assert browser.run(WIDE) <= 0, "no sideways scrolling"
        assert browser.errors == []
        assert only_itself(browser, file)


def test_nothing_from_a_log_runs(
    browser: Any, attacked: Analysis, texts: dict[int, tuple[str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "attacked.html"
    file.write_text(render(attacked, texts=texts), encoding="utf-8")
    browser.open(file)
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    browser.run("new Promise((done) => setTimeout(done, 300))")
    assert browser.run("document.documentElement.dataset.plots") == "drawn"
    assert "owned" not in browser.run("document.title")[:5]
    assert browser.dialogs == []
    assert browser.errors == []
    assert only_itself(browser, file)
    assert (
        browser.run(
            "document.querySelectorAll('img, iframe, main svg [onload], [onerror], [onfocus]').length"
        )
        == 0
    )
    assert browser.run("JSON.parse(document.getElementById('rollprof').textContent).format") == 1


def test_nothing_in_a_hostile_log_runs(
    browser: Any, texts: dict[int, tuple[str, str]], tmp_path: Path
) -> None:
    """From the bytes of a log on: file's name, prompts, answers, prompt ids, metric keys are attacks."""
    attack, _ = texts[1]
    folder = tmp_path / "<img src=x onerror=\"document.title='owned'\">\u202e{{7*7}}"
    folder.mkdir()
    rows = [
        {
            "step": 1 + i // 16,
            "prompt": f"{attack} {i // 4 % 4}",
            "prompt_id": f"{attack} {i // 4 % 4}",
            "response": attack,
            "dataset": attack,
            "response_tokens": 10 + i % 16 * (1 + i // 16),
            "reward": i % 2,
            "started_at": 100.0 * (i // 16),
            "completed_at": 100.0 * (i // 16) + i % 16 + 1,
            f"reward/{attack}": 0.5,
            f"timing_s/{attack}": 2.0,
        }
        for i in range(64)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows) + f'{{"step": {attack}\n'
    (folder / "<svg onload=alert(1)>.jsonl").write_text(text, encoding="utf-8")
    run = rollprof.open_run(str(folder), output=str(tmp_path / "dataset"), keep_text=True)
    assert rollprof.analyze(run).run.rollouts == 64
    file = tmp_path / "report.html"
    file.write_text(rollprof.report(run, include_text=True).html, encoding="utf-8")
    assert "attacker" in file.read_text(encoding="utf-8")
    browser.open(file)
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true })")
    assert browser.run("document.documentElement.dataset.plots") == "drawn"
    assert "owned" not in browser.run("document.title")
    assert browser.run("document.querySelectorAll('img, iframe, [onload], [onerror], [onfocus]').length") == 0
    assert not set("\u202e\u2066\x1b\x07") & set(browser.run("document.body.innerText"))
    assert browser.dialogs == []
    assert browser.errors == []
    assert only_itself(browser, file)


def test_the_policy_stops_what_should_slip_through(browser: Any, make: Any, tmp_path: Path) -> None:
    """If escaping failed one day: an inline script and a picture put into the page by hand."""
    file = tmp_path / "broken.html"
    take = "document.title='owned'"
    attack = f'<script>{take}</script><img src=https://attacker.invalid/x.png onerror="{take}">'
    file.write_text(render(make("difficulty")).replace("<main>", f"<main>{attack}"), encoding="utf-8")
    browser.open(file)
    assert browser.run("document.title") != "owned"
    assert any("Content Security Policy" in e for e in browser.errors)


def test_colours_follow_the_reader(browser: Any, make: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render(make("difficulty")), encoding="utf-8")
    bars = "getComputedStyle(document.querySelector('[data-plot=phases] .barlayer path')).fill"
    page = "getComputedStyle(document.body).backgroundColor"

    browser.open(file, scheme="light")
    assert browser.run(bars) == rgb(PALETTES["light"]["work"])
    browser.scheme("dark")
    browser.run("new Promise((done) => setTimeout(done, 500))")
    assert browser.run(bars) == rgb(PALETTES["dark"]["work"])
    assert browser.run(page) == rgb(PALETTES["dark"]["page"])


def test_the_keyboard_reaches_everything(browser: Any, make: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render(make("difficulty")), encoding="utf-8")
    browser.open(file)
    axis = "document.querySelector('[data-plot=lengths]').layout.xaxis.type"
    assert browser.run(axis) == "log"
    browser.run("document.querySelector('.switch input').focus()")
    browser.press("ArrowRight")
    browser.run("new Promise((done) => setTimeout(done, 300))")
    assert browser.run(axis) == "linear"
    reached = "[...document.querySelectorAll('a, summary, input, .scroll')].every((e) => e.tabIndex >= 0)"
    assert browser.run(reached)
    tip = "getComputedStyle(document.querySelector('a.fig'), '::after').content"
    browser.run("document.querySelector('a.fig').focus({focusVisible: true})")
    assert "step_idle" in browser.run(tip) or "generation_idle" in browser.run(tip)


def test_it_prints(browser: Any, make: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render(make("difficulty")), encoding="utf-8")
    browser.open(file, scheme="dark")
    assert browser.pdf().startswith(b"%PDF")
    assert browser.errors == []


def test_a_browser_without_decompression_still_has_the_numbers(
    browser: Any, make: Any, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    packed = render(make("difficulty"))
    start = packed.index('id="rollprof-plotly">') + len('id="rollprof-plotly">')
    file.write_text(packed[: start + 1000] + packed[packed.index("</script>", start) :], encoding="utf-8")
    browser.open(file)
    assert browser.run("document.documentElement.dataset.plots") == "failed"
    assert not browser.run("document.getElementById('notice').hidden")
    assert browser.run("[...document.querySelectorAll('figure details')].every((d) => d.open)")


def test_ten_thousand_steps_open_soon(browser: Any, make: Any, tmp_path: Path) -> None:
    from rollprof.analyzers.results import StepResult

    analysis = make("difficulty")
    steps = [StepResult(i, s.columns, s.figures) for i in range(10_000) for s in analysis.steps[i % 20 :][:1]]
    file = tmp_path / "long.html"
    file.write_text(render(replace(analysis, steps=steps)), encoding="utf-8")
    browser.open(file)
    timing = "performance.getEntriesByType('navigation')[0].domInteractive"
    assert browser.run(timing) < 2000
    assert browser.errors == []
