"""What each release of verl logs to its trackers is read back, from each alone and as one run.

Its own `Tracking` calls the trackers' packages, which stand in an environment that ROLLPROF_TRL_PYTHON names
(tests/conformance/make_environments.sh): wandb, mlflow, SwanLab, trackio, and torch for TensorBoard.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from .test_verl_releases import check_steps, expected, opened, pytestmark, step_rows

__all__ = ["pytestmark"]  # the same packages are needed

RELEASES = (
    *("0.2", "0.3.0.post1", "0.4.0", "0.4.1", "0.5.0", "0.6.0", "0.6.1"),
    *("0.7.0", "0.7.1", "0.8.0", "0.9.0", "0.9.1"),
)
SINCE = {"wandb": (0, 2), "mlflow": (0, 2), "swanlab": (0, 2), "tensorboard": (0, 3), "trackio": (0, 8)}
"""First release that a backend works with; 0.6 and 0.7 name trackio, and call it as it cannot be called."""
SINKS = {"wandb": "wandb", "mlflow": "mlflow_run", "swanlab": "swanlab", "tensorboard": "tfevents"}
FLOAT32 = 1e-6


def plain(metrics: dict[str, Any]) -> dict[str, float]:
    """numpy's numbers as JSON has them."""
    return {key: float(value) for key, value in metrics.items()}


def track(
    writers: Any, wheel: Path, folder: Path, backends: list[str], tool: Callable[[str], ModuleType]
) -> list[Any]:
    """A folder per backend; the steps that were logged."""
    python = os.environ.get("ROLLPROF_TRL_PYTHON")
    if not python:
        pytest.skip("no environment with trackers: set ROLLPROF_TRL_PYTHON")
    run = tool("verl_run")
    steps = [run.truth(step) for step in range(1, run.STEPS + 1)]
    spec = {
        "wheel": str(wheel),
        "backends": backends,
        "config": writers.config(run.overrides(writers)),
        "steps": [[known.step, plain(run.metrics_of(writers, known))] for known in steps],
    }
    places = {
        "WANDB_DIR": folder / "wandb",
        "SWANLAB_LOG_DIR": folder / "swanlab",
        "TENSORBOARD_DIR": folder / "tensorboard",
        "TRACKIO_DIR": folder / "trackio",
    }
    for place in places.values():
        place.mkdir(parents=True)
    modes = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_CONSOLE": "off", "SWANLAB_MODE": "local"}
    modes |= {"MLFLOW_TRACKING_URI": (folder / "mlflow").as_uri(), "MLFLOW_ALLOW_FILE_STORE": "true"}
    done = subprocess.run(
        [python, str(tool("verl_tracking").__file__)],
        input=json.dumps(spec),
        env={**os.environ, **modes, **{name: str(place) for name, place in places.items()}},
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return steps


@pytest.mark.parametrize("release", RELEASES)
def test_trackers(
    release: str, tool: Callable[[str], ModuleType], wheel_of: Callable[[str], Path], tmp_path: Path
) -> None:
    module, run, agreement = tool("verl_writers"), tool("verl_run"), tool("agreement")
    wheel = wheel_of(release)
    writers = module.Writers(module.Wheel(wheel))
    version = writers.wheel.release
    backends = [name for name, since in SINCE.items() if version >= since]
    folder = tmp_path / "logs"
    folder.mkdir()
    steps = track(writers, wheel, folder, backends, tool)
    for backend in backends:
        dataset = opened(folder / backend, tmp_path / f"{backend}_dataset")
        assert dataset.meta["framework"] == "verl"
        assert (dataset.ledger.skipped, dataset.ledger.repaired) == (0, 0)
        if backend != "tensorboard":  # which keeps no settings
            check_steps(dataset, steps, writers, tool)
        rows, digits = step_rows(dataset), FLOAT32 if backend == "tensorboard" else 1e-12
        for known in steps:
            for column, value in expected(known, version, run.RESPONSE_CAP, run.GPUS).items():
                # the metrics themselves are verl's, in single precision
                assert rows[known.step][column] == pytest.approx(value, rel=max(digits, 2e-6)), (
                    backend,
                    column,
                )
    whole = agreement.one_run(folder)
    assert agreement.sinks(whole).keys() == {SINKS.get(backend, backend) for backend in backends}
    agreement.assert_agree(whole, least=20 * run.STEPS)
