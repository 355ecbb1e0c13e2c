"""Runs by TRL of several releases: every sink of each makes one run, and the dump agrees with the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollprof import api

RELEASES = ("0.29.1", "1.0.0", "1.10.0", "1.14.0")


@pytest.mark.parametrize("release", RELEASES)
def test_a_run_of_a_release(corpus: Path, tmp_path: Path, release: str) -> None:
    folder = corpus / "trl" / "written" / "multiver" / f"conv_{release}"
    dataset = api.open_run([str(folder)], options=api.OpenOptions(output=str(tmp_path / "d"), workers=1))
    assert dataset.meta["other_runs"] == []
    assert dataset.meta["framework_version"] == release
    assert dataset.ledger.skipped == 0
    steps = {r["step"]: r for r in dataset.steps.collect().to_dicts() if r["split"] == "train"}
    rollouts = dataset.rollouts.collect()
    assert sorted(steps) == [1, 2]
    for step, row in steps.items():
        mine = rollouts.filter(rollouts["step"] == step)
        assert mine.height == row["rollouts"] == 8
        assert mine["reward"].mean() == pytest.approx(row["reward_mean"], abs=1e-5)
        assert mine["group_id"].n_unique() == 2
    sinks = {
        s.sink or s.role for s in api.diagnose([str(folder)], options=api.OpenOptions(workers=1)).sources
    }
    assert {"console", "metrics", "rollouts", "tfevents", "config"} <= sinks
