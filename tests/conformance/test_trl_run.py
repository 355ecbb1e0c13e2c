"""TRL's own trainer writes a run here, of today's release and of an older one; every sink says the same.

ROLLPROF_TRL_PYTHON and ROLLPROF_TRL_OLD_PYTHON name interpreters with torch, TRL and trackers
(tests/conformance/make_environments.sh makes them). Without them the interpreter of the tests is tried. About
half a minute each.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rollprof.api import OpenOptions, open_run
from rollprof.schema.store import Dataset

pytestmark = pytest.mark.conformance

STEPS, ROLLOUTS, GROUPS = 4, 128, 16
VARIABLES = {"current": "ROLLPROF_TRL_PYTHON", "old": "ROLLPROF_TRL_OLD_PYTHON"}
LONG_SINCE = {"tensorboard": "tfevents", "wandb": "wandb", "mlflow": "mlflow_run"}
TRACKERS = {
    "current": {**LONG_SINCE, "trackio": "trackio"},
    "old": LONG_SINCE,
}
"""Trackers that a release reports to, and the sinks that they leave."""
FOLDERS = {"tfevents": "out/runs", "wandb": "wandb", "trackio": "trackio", "mlflow_run": "mlruns"}
ONE_BY_ONE = ("stdout.log", *FOLDERS.values())
COLUMNS = {
    "response_tokens_mean": "completions/mean_length",
    "response_tokens_min": "completions/min_length",
    "response_tokens_max": "completions/max_length",
    "truncated_share": "completions/clipped_ratio",
    "reward_mean": "reward",
}
FLOAT32, FOUR_DIGITS = 1e-6, 5.1e-4


@dataclass(frozen=True)
class Run:
    """What a release left of a run, and its log as the trainer saved it: step -> key -> value."""

    release: str
    folder: Path
    history: dict[int, dict[str, float]]

    @property
    def sinks(self) -> set[str]:
        return set(TRACKERS[self.release].values())


def interpreter(release: str) -> str:
    """One that has this release; skips the test where there is none."""
    named = os.environ.get(VARIABLES[release])
    if named:
        return named
    if release == "current" and all(importlib.util.find_spec(n) for n in ("torch", "trl", "pandas")):
        return sys.executable
    pytest.skip(f"no environment with TRL ({release}): set {VARIABLES[release]}")


def has(python: str, modules: list[str]) -> list[str]:
    """Those of the modules that the interpreter finds."""
    code = "import importlib.util, sys; print(*(m for m in sys.argv[1:] if importlib.util.find_spec(m)))"
    command = [python, "-c", code, *modules]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


@pytest.fixture(
    scope="module", params=[pytest.param(r, marks=pytest.mark.xdist_group(f"trl {r}")) for r in VARIABLES]
)
def run(request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    python = interpreter(request.param)
    wanted = list(TRACKERS[request.param])
    lacking = sorted({*wanted} - {*has(python, wanted)})
    if lacking:
        pytest.skip(f"{python} has no {', '.join(lacking)}")
    folder = tmp_path_factory.mktemp("trl") / request.param
    command = [python, str(root / "sample_logs" / "make_trl.py"), str(folder), "--steps", str(STEPS)]
    done = subprocess.run([*command, "--report-to", *wanted], timeout=900, capture_output=True, text=True)
    assert done.returncode == 0, (folder / "stdout.log").read_text(errors="replace")[-3000:]
    state = json.loads((folder / f"out/checkpoint-{STEPS}/trainer_state.json").read_text())
    return Run(request.param, folder, {entry["step"]: entry for entry in state["log_history"]})


def opened(path: Path, out: Path) -> Dataset:
    return open_run([str(path)], options=OpenOptions(output=str(out), workers=1))


def rows(dataset: Dataset) -> dict[int, dict[str, Any]]:
    return {r["step"]: r for r in dataset.steps.collect().to_dicts() if r["split"] == "train"}


def test_the_parts_are_one_run_and_agree(run: Run, tool: Callable[[str], ModuleType]) -> None:
    agreement = tool("agreement")
    whole = agreement.one_run(run.folder)
    assert agreement.sinks(whole).keys() == {"console", "file", *run.sinks}
    agreement.assert_agree(whole, least=23 * STEPS)


def test_the_whole_is_what_the_trainer_saved(run: Run, tmp_path: Path) -> None:
    dataset = opened(run.folder, tmp_path / "dataset")
    assert dataset.meta["alarms"] == []
    assert dataset.meta["facts"]["processes"]["value"] == 2
    assert dataset.ledger.skipped == 0
    steps = rows(dataset)
    assert sorted(steps) == sorted(run.history) == list(range(1, STEPS + 1))
    for step, entry in run.history.items():
        for column, key in COLUMNS.items():
            assert steps[step][column] == entry[key], (step, column)
        before = run.history[step - 1]["num_tokens"] if step > 1 else 0
        assert steps[step]["tokens_total"] == entry["num_tokens"] - before
    rollouts = dataset.rollouts.collect()
    assert rollouts.height == STEPS * ROLLOUTS
    for (step,), group in rollouts.group_by("step"):
        assert group["reward"].mean() == pytest.approx(steps[step]["reward_mean"], abs=1e-5)
        assert group["group_id"].n_unique() == GROUPS


@pytest.mark.parametrize("part", ONE_BY_ONE)
def test_a_sink_alone_says_the_same(run: Run, part: str, tmp_path: Path) -> None:
    sink = next((name for name, folder in FOLDERS.items() if folder == part), "console")
    if sink not in {"console", *run.sinks}:
        pytest.skip(f"this release does not report to {sink}")
    steps = rows(opened(run.folder / part, tmp_path / "dataset"))
    digits = {"tfevents": FLOAT32, "console": FOUR_DIGITS}.get(sink, 0.0)
    assert sorted(steps) == sorted(run.history)
    for step, entry in run.history.items():
        for column, key in COLUMNS.items():
            assert steps[step][column] == pytest.approx(entry[key], rel=digits, abs=0), (step, column)
        timed = entry.get("step_time", math.nan)
        if not math.isnan(timed):
            assert steps[step]["step_s"] == pytest.approx(timed, rel=digits, abs=0)


def test_the_dump_and_the_tables_hold_the_same_rollouts(run: Run, tmp_path: Path) -> None:
    """The Parquet files of releases that write them, and the tables that wandb keeps of every release."""
    tables = opened(run.folder / "wandb", tmp_path / "tables").rollouts.collect()
    assert tables.height == STEPS * ROLLOUTS
    dumps = sorted((run.folder / "out").glob("completions/*.parquet"))
    assert bool(dumps) == (run.release == "current")
    if dumps:
        kept = ["step", "group_id", "sample_index", "reward", "advantage", "response_chars", "prompt_chars"]
        dumped = opened(run.folder / "out", tmp_path / "dump").rollouts.collect()
        assert dumped.select(kept).equals(tables.select(kept))
