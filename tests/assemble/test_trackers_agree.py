"""One run in many files: console, file logger and trackers tell the same story, and make one run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from agreement import assert_agree, one_run, sinks

from rollprof.assemble.build import BuildOptions, prepare
from rollprof.assemble.merge import values_by_step

TRL = [
    *("conv_spg2_ls1", "ddp2", "eval", "ga2", "iter2_spg2", "ls4_spg2_ga1", "mlflow", "notqdm", "trackio"),
    *("wandb_off", "wordlevel", "wordlevel_ddp2"),
]


@pytest.mark.parametrize("name", [*(f"variants/{v}" for v in TRL), "real_run_0.19.1", "real_run_1.16.0"])
def test_trl(corpus: Path, name: str) -> None:
    run = one_run(corpus / "trl" / "written" / name)
    found = sinks(run)
    tracker = {"variants/mlflow": "mlflow_run", "variants/trackio": "trackio", "variants/wandb_off": "wandb"}
    assert {"console", tracker.get(name, "tfevents")} <= found.keys()
    assert ("file" in found) == (name != "variants/mlflow")
    assert bool(run.series) == (name != "real_run_0.19.1")
    assert_agree(run, least=24)


@pytest.mark.parametrize("name", ["sync", "filter", "eval", "async", "partial"])
def test_openrlhf(corpus: Path, name: str) -> None:
    folder = corpus / "openrlhf" / "written"
    run = one_run(folder / name, folder / f"{name}.log")
    found = sinks(run)
    assert found.keys() == {"console", "tfevents", "wandb"}
    steps = {step for part in found["console"] for step in values_by_step(part)}
    for part in (*found["tfevents"], *found["wandb"]):
        assert set(values_by_step(part)) == steps
    assert_agree(run, least=25)


@pytest.mark.parametrize("name", ["v0.8.11_sync", "v0.8.11_filter", "v0.9.5_sync"])
def test_older_releases_of_openrlhf(corpus: Path, name: str) -> None:
    folder = corpus / "openrlhf" / "written"
    run = one_run(folder / name, folder / f"{name}.log")
    assert sinks(run).keys() == {"console", "tfevents"}
    assert_agree(run, least=10)


def test_verl(corpus: Path) -> None:
    folder = corpus / "verl" / "written" / "0.9.1_full"
    run = one_run(
        folder / "console.log", folder / "proj", folder / "tensorboard_log", folder / "rollout_legacy"
    )
    assert sinks(run).keys() == {"console", "tfevents", "file"}
    assert [s.name for s in run.series] == ["rollout_legacy"]
    assert_agree(run, least=200)


def test_the_ledger_says_whose_values_count(corpus: Path) -> None:
    folder = corpus / "verl" / "written" / "0.9.1_full"
    plan = prepare([str(folder / "proj"), str(folder / "tensorboard_log")], BuildOptions())
    (note,) = [p for p in plan.ledger.problems if "its values count" in p.reason]
    assert "events.out.tfevents" in note.file
    assert "exp.jsonl" in note.reason
    assert "which is more exact" in note.reason


def test_a_tracker_alone_gives_the_whole_of_trl(corpus: Path) -> None:
    run = one_run(corpus / "trl" / "written" / "variants" / "wandb_off" / "wandb")
    assert [s.is_copy for s in run.series] == [True]
    assert sinks(run).keys() == {"console", "wandb"}
