"""The Markdown report: the same sections, and nothing from a log becomes markup."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from rollprof.analyzers.results import Analysis, Finding, Missing
from rollprof.render.markdown import MARK, render
from rollprof.render.report.content import content

KINDS = ("calibrated", "difficulty", "logged", "bracket", "straggler_512", "nothing_known", "asynchronous")


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_the_sections_of_the_report(make: Callable[..., Analysis], kind: str) -> None:
    analysis = make(kind)
    text = render(analysis)
    assert text.startswith(MARK)
    titles = [t.replace("\\", "") for t in re.findall(r"^## (.*)$", text, re.MULTILINE)]
    assert titles[0].startswith("GPU-idle fraction: ")
    assert titles[1:] == [*(s.title for s in content(analysis).sections), "Definitions"]


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_tables(make: Callable[..., Analysis], kind: str) -> None:
    lines = render(make(kind)).splitlines()
    for i, line in enumerate(lines):
        if line.startswith("| ---"):
            columns = len(re.split(r"(?<!\\)\|", line)) - 2
            j = i - 1
            while j < len(lines) and lines[j].startswith("|"):
                assert len(re.split(r"(?<!\\)\|", lines[j])) - 2 == columns, lines[j]
                j += 1


def test_numbers_are_those_of_the_figures(make: Callable[..., Analysis]) -> None:
    text = render(make("calibrated"))
    assert "GPU-idle fraction: 41 %" in text
    assert "`step_idle` (calibrated)" in text
    assert "Half of the responses are shorter than the median" in text


def test_nothing_from_a_log_becomes_markup(make: Callable[..., Analysis]) -> None:
    bad = "<img src=x onerror=alert(1)> [x](javascript:1) ![x](http://a) `code` | cell **b** \x1b[2J\u202e# h"
    analysis = make("difficulty")
    analysis = replace(
        analysis,
        run=replace(analysis.run, framework=bad, facts={bad: {"value": bad}}, sources=[{"name": bad}]),
        findings=[Finding("x", "high", bad, {}, bad)],
        missing=[Missing("slot_idle", bad, bad)],
        stragglers=[replace(s, finish_reason=bad) for s in analysis.stragglers],
        ledger={"read": 1, "skipped": 1, "problems": [{"file": bad, "offset": 1, "reason": bad}]},
    )
    text = render(analysis, texts={step.step: (bad, f"{bad}\n# not a title") for step in analysis.steps})
    spans = re.compile(r"(`+) ?.*?\1")
    outside = "\n".join(
        spans.sub("", line) for line in text.splitlines() if not line.startswith(("    ", MARK))
    )
    assert not re.search(r"(?<!\\)<", outside)
    assert not re.search(r"(?<!\\)\[", outside)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not re.search(r"^# not a title", text, re.MULTILINE)
