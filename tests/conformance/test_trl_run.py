"""TRL's own trainer writes a run here, and every sink of it says the same.

Needs torch, transformers, trl and pandas (see sample_logs/make_trl.py); about a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="TRL trains with torch")
pytest.importorskip("trl", reason="the trainer that writes the logs")

from rollprof.api import OpenOptions, open_run

pytestmark = pytest.mark.conformance


def test_a_run_of_the_installed_release(tmp_path: Path, root: Path) -> None:
    target = tmp_path / "trl"
    maker = root / "sample_logs" / "make_trl.py"
    subprocess.run([sys.executable, str(maker), str(target)], check=True, timeout=900)
    state = json.loads((target / "out/checkpoint-12/trainer_state.json").read_text())
    dataset = open_run([str(target)], options=OpenOptions(output=str(tmp_path / "dataset"), workers=1))
    assert dataset.meta["alarms"] == []
    assert dataset.meta["facts"]["processes"]["value"] == 2
    steps = {r["step"]: r for r in dataset.steps.collect().to_dicts() if r["split"] == "train"}
    for entry in state["log_history"]:
        row = steps[entry["step"]]
        for column, key in (("mean", "mean"), ("min", "min"), ("max", "max")):
            assert row[f"response_tokens_{column}"] == entry[f"completions/{key}_length"]
        assert row["reward_mean"] == entry["reward"]
    rollouts = dataset.rollouts.collect()
    assert rollouts.height == 12 * 128
    for (step,), group in rollouts.group_by("step"):
        assert group["reward"].mean() == pytest.approx(steps[step]["reward_mean"], abs=1e-5)
        assert group["group_id"].n_unique() == 16
