"""The package as notebooks and scripts use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rollprof
from rollprof.errors import UsageProblem


@pytest.fixture
def run(root: Path, tmp_path: Path) -> rollprof.Run:
    return rollprof.open_run(
        str(root / "sample_logs" / "straggler_512.jsonl"), output=str(tmp_path / "dataset")
    )


def test_from_a_log_to_figures_and_a_report(run: rollprof.Run) -> None:
    analysis = rollprof.analyze(run)
    assert analysis.figures["slot_idle"].value == pytest.approx(0.9115, abs=1e-4)
    report = rollprof.report(run)
    assert isinstance(report, rollprof.Report)
    assert report.analysis == analysis
    assert report.html == rollprof.to_html(analysis) == rollprof.to_html(run)
    assert json.loads(report.json)["run"]["rollouts"] == 512
    assert "in-flight-typical" in report.figures
    assert "91\u00a0%" in report._repr_html_()


def test_tables_are_polars_frames(run: rollprof.Run) -> None:
    import polars as pl

    assert run.rollouts.select(pl.len()).collect().item() == 512
    assert "step" in run.steps.collect_schema().names()


def test_text_that_is_not_there_is_said_so(run: rollprof.Run) -> None:
    with pytest.raises(UsageProblem, match="no prompts"):
        rollprof.report(run, include_text=True)
    with pytest.raises(UsageProblem, match="holds no text"):
        rollprof.report(rollprof.analyze(run), include_text=True)
