"""A hostile run, real runs, and a browser."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rollprof.analyzers.results import (
    Analysis,
    EngineCurve,
    EngineResult,
    Figure,
    Finding,
    InFlight,
    Missing,
    SampleCurves,
    SampleJoin,
)

TOOL = Path(__file__).resolve().parents[2] / "tools" / "chromium.py"
ATTACKS = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<img src=https://attacker.invalid/pixel.png>",
    '"><svg onload=alert(1)>',
    "'\" onfocus=alert(1) autofocus tabindex=1 x='",
    "{{ 7 * 191 }}{% raw %}{# x #}${7*191}",
    "</title></style></textarea><iframe src=https://attacker.invalid></iframe>",
    "<!--<script>",
    "]]>\u202egnp.exe\u2066\u200b\x1b[2J\x1b]0;owned\x07\x9b31m\x00",
    "javascript:document.title='owned'",
    "url(https://attacker.invalid/x.css) @import 'https://attacker.invalid'",
    "%{y}<a href='javascript:alert(1)'>x</a>",
)
HOSTILE = " ".join(ATTACKS)


def hostile(analysis: Analysis) -> Analysis:
    """The analysis with every text that can come out of a log replaced by attacks."""
    bad = HOSTILE
    figures = {n: replace(f, note=bad) for n, f in analysis.figures.items()}
    curve = InFlight(1, "worst", (0.0, 1.0, 4.0), (8.0, 4.0, 1.0), 8.0, 2.0, 9.0, "measured")
    return replace(
        analysis,
        run=replace(
            analysis.run,
            framework=bad,
            framework_version=bad,
            trainer=bad,
            facts={bad: {"value": bad, "origin": bad, "how": bad}},
            sources=[{"name": bad, "size": 1}, {"path": bad, bad: bad}],
            versions={bad: bad},
        ),
        figures=figures,
        phases={n: replace(f, note=bad) for n, f in analysis.phases.items()},
        stragglers=[replace(s, finish_reason=bad, why=bad) for s in analysis.stragglers],
        in_flight=[curve],
        samples=SampleCurves(
            [EngineCurve(bad, (0.0, 9.0), (4.0, 0.0), (1.0, 0.0), 4.0)],
            windows=[(0.0, 9.0, 1)],
            shaded=[(0.0, 9.0)],
            join=SampleJoin(bad, bad, 1.0, slots_how=bad, refused={1: bad}),
        ),
        engines=[
            EngineResult(bad, {"slot_idle": Figure("slot_idle", 0.5, "fraction", "measured", note=bad)})
        ],
        findings=[Finding(bad, "alarm", bad, {bad: bad}, bad)],
        missing=[Missing(bad, bad, bad)],
        ledger={
            "read": 1,
            "skipped": 1,
            "problems": [{"file": bad, "offset": 3, "reason": bad, "kind": bad}],
            bad: bad,
        },
        difficulty=[*analysis.difficulty, {"dataset": bad, "prompts": 3, "rollouts": 9, "length_mean": 4.0}],
        sampling={"unit": bad, "groups": {bad: {"groups": 1, "rollouts": 2}}},
    )


@pytest.fixture
def attacked(make: Callable[..., Analysis]) -> Analysis:
    """A run in which every text is an attack."""
    return hostile(make("difficulty"))


@pytest.fixture
def texts() -> dict[int, tuple[str | None, str | None]]:
    """Private text of every step, hostile too."""
    return dict.fromkeys(range(1, 40), (HOSTILE, f"{HOSTILE}\n{HOSTILE}"))


@pytest.fixture(scope="session")
def sample(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Analysis]:
    """`sample(name)`: the analysis of a sample log."""
    from rollprof import api

    known: dict[str, Analysis] = {}

    def analysed(name: str) -> Analysis:
        if name not in known:
            folder = tmp_path_factory.mktemp("dataset")
            options = api.OpenOptions(output=str(folder / "d"))
            known[name] = api.analyze(api.open_run([str(root / "sample_logs" / name)], options=options))
        return known[name]

    return analysed


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium; skips where there is none."""
    spec = importlib.util.spec_from_file_location("chromium_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules["chromium_tool"] = tool
    spec.loader.exec_module(tool)
    path = tool.executable()
    if path is None:
        pytest.skip("no Chromium (Debian: apt-get install chromium)")
    page = tool.Page(path)
    yield page
    page.close()
