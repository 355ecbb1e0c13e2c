"""OpenRLHF's own loggers write; console, TensorBoard and wandb are read back as what was put in."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rollprof import api
from rollprof.schema.store import Dataset

pytestmark = pytest.mark.conformance

RELEASES = ("0.8.11", "0.9.5", "0.9.10", "0.10.4", "0.11.2")
WITH_LOGGERS = RELEASES[1:]
CACHE = Path(tempfile.gettempdir()) / "rollprof-conformance-wheels"
STEPS = 4
FLOAT32 = 1e-6


def status(step: int, release: tuple[int, ...]) -> dict[str, Any]:
    """What the trainer of a release logs of one step."""
    known: dict[str, Any] = {
        "policy_loss": -0.0123456789 * step,
        "actor_lr": 1e-06,
        "reward": 0.5 + 0.01 * step,
        "response_length": 300.123456789 + step,
        "total_length": 401.5 + step,
        "kl": float("nan") if step == 3 else 0.000123456789,
        "group_reward_std": 0.25,
    }
    if release >= (0, 9, 6):
        phases = {"generation": 12.5, "make_experience": 1.25, "ppo_train": 4.0625, "broadcast": 0.75}
        known |= {f"timing/{name}": value + 0.1 * step for name, value in phases.items()}
        known["timing/step_total"] = sum(phases.values()) + 0.4 * step
        known["actor_grad_norm"] = 0.3
    if release >= (0, 9, 8):
        known |= {
            "rollout/reward_mean": 0.5 + 0.01 * step,
            "rollout/reward_std": 0.4,
            "rollout/response_length_mean": 300.123456789 + step,
            "rollout/truncated_rate": 0.03125 * step,
            "rollout/num_samples": 32.0,
        }
    return known


def expected(step: int, release: tuple[int, ...]) -> dict[str, float]:
    """Columns of steps.parquet that follow."""
    known = status(step, release)
    columns = {"response_tokens_mean": known["response_length"], "reward_mean": known["reward"]}
    if release >= (0, 9, 6):
        columns["generate_s"] = known["timing/generation"]
        columns["update_s"] = known["timing/ppo_train"]
    if release >= (0, 9, 8):
        columns["truncated_share"] = known["rollout/truncated_rate"]
        columns["rollouts"] = 32
    return columns


@dataclass(frozen=True)
class Written:
    """A release's writers, and the folder they write to."""

    module: ModuleType
    wheel: Path
    version: str
    logs: Path
    dataset: Path

    @property
    def release(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.version.split("."))

    def arguments(self) -> dict[str, dict[str, Any]]:
        """2 actor GPUs, 2 engines of 2 GPUs, 8 x 4 responses; in both spellings."""
        wandb = {
            "key": "0" * 40,
            "org": None,
            "group": None,
            "project": "train",
            "run_name": "ppo_0101T00:00",
        }
        folder = str(self.logs / "tb")
        flat = {
            "actor_num_nodes": 1,
            "actor_num_gpus_per_node": 2,
            "vllm_num_engines": 2,
            "vllm_tensor_parallel_size": 2,
            "rollout_batch_size": 8,
            "n_samples_per_prompt": 4,
            "generate_max_len": 900,
            "colocate_all_models": False,
            "use_tensorboard": folder,
            "use_wandb": wandb["key"],
            **{f"wandb_{name}": value for name, value in wandb.items() if name != "key"},
        }
        nested = {
            "actor": {"num_nodes": 1, "num_gpus_per_node": 2},
            "vllm": {"num_engines": 2, "tensor_parallel_size": 2},
            "rollout": {"batch_size": 8, "n_samples_per_prompt": 4, "max_new_tokens": 900},
            "train": {"colocate_all": False, "async_enable": False},
            "logger": {"tensorboard_dir": folder, "wandb": wandb},
        }
        return {"flat": flat, "nested": nested}

    def console(self) -> Path:
        """The log of the process: its arguments, then a line a step."""
        writers = self.module.Writers(self.wheel, self.version)
        writers.console.write(f"{writers.arguments(**self.arguments())}\n")
        for step in range(1, STEPS + 1):
            writers.log_step(step, status(step, self.release))
        log = self.logs / "train.log"
        log.write_text(writers.console.getvalue())
        return log

    def tracked(self, logger: str) -> None:
        """What `TensorboardLogger` or `WandbLogger` writes, in a process of its own."""
        sample = {"generated_samples": ["a\ntext", 1.0]}
        steps = [(step, {**status(step, self.release), **sample}) for step in range(1, STEPS + 1)]
        spec = {
            "wheel": str(self.wheel),
            "version": self.version,
            "logger": logger,
            "steps": steps,
            "evaluation": (STEPS, {"eval_default_pass1": 0.4, "eval_response_length_mean": 250.0}),
            **self.arguments(),
        }
        settings = {"MODE": "offline", "SILENT": "true", "API_KEY": "0" * 40, "CONSOLE": "off"}
        wandb = {f"WANDB_{name}": value for name, value in settings.items()}
        subprocess.run(
            [sys.executable, str(self.module.__file__)],
            input=json.dumps(spec),
            env={**os.environ, **wandb, "WANDB_DIR": str(self.logs)},
            check=True,
            text=True,
            capture_output=True,
            timeout=120,
        )


@pytest.fixture
def written(request: pytest.FixtureRequest, tool: Callable[[str], ModuleType], tmp_path: Path) -> Written:
    module = tool("openrlhf_writers")
    try:
        wheel = module.download(request.param, CACHE)
    except module.NotReached as problem:
        pytest.skip(f"OpenRLHF {request.param} cannot be had from the package index: {problem}")
    (tmp_path / "logs").mkdir()
    return Written(module, wheel, request.param, tmp_path / "logs", tmp_path / "dataset")


def opened(path: Path, out: Path) -> Dataset:
    return api.open_run([str(path)], options=api.OpenOptions(output=str(out), workers=1))


def check(dataset: Dataset, release: tuple[int, ...], rel: float) -> None:
    rows = {r["step"]: r for r in dataset.steps.collect().to_dicts() if r["split"] == "train"}
    assert sorted(rows) == list(range(1, STEPS + 1))
    for step, row in rows.items():
        for column, value in expected(step, release).items():
            assert row[column] == pytest.approx(value, rel=rel), (column, step)
    assert dataset.meta["framework"] == "openrlhf"
    assert dataset.ledger.skipped == 0


def check_metrics(dataset: Dataset, release: tuple[int, ...], rel: float) -> None:
    """Every number that was logged, NaN too."""
    read = {(r["step"], r["key"]): r["value"] for r in dataset.metrics.collect().to_dicts()}
    for step in range(1, STEPS + 1):
        for key, value in status(step, release).items():
            found = read[step, key]
            assert math.isnan(found) if math.isnan(value) else found == pytest.approx(value, rel=rel), key


def facts_of(dataset: Dataset) -> dict[str, Any]:
    assert "0" * 40 not in str(dataset.meta)
    return {name: fact["value"] for name, fact in dataset.meta["facts"].items()}


@pytest.mark.parametrize("written", RELEASES, indirect=True)
def test_console(written: Written) -> None:
    dataset = opened(written.console(), written.dataset)
    check(dataset, written.release, 0)
    check_metrics(dataset, written.release, 0)
    facts = facts_of(dataset)
    assert (facts["engines"], facts["gpus_per_engine"]) == (2, 2)
    assert (facts["group_size"], facts["responses_per_step"]) == (4, 32)


@pytest.mark.parametrize("written", WITH_LOGGERS, indirect=True)
def test_tensorboard(written: Written) -> None:
    pytest.importorskip("tensorboard", reason="its event writer")
    written.tracked("TensorboardLogger")
    dataset = opened(written.logs, written.dataset)
    check(dataset, written.release, FLOAT32)
    check_metrics(dataset, written.release, FLOAT32)


@pytest.mark.parametrize("written", WITH_LOGGERS, indirect=True)
def test_wandb(written: Written) -> None:
    pytest.importorskip("wandb", reason="it writes its own log")
    written.tracked("WandbLogger")
    dataset = opened(written.logs, written.dataset)
    check(dataset, written.release, 0)
    facts = facts_of(dataset)
    assert (facts["engines"], facts["group_size"]) == (2, 4)


@pytest.mark.parametrize("written", WITH_LOGGERS, indirect=True)
def test_all_of_them_are_one_run(written: Written) -> None:
    pytest.importorskip("tensorboard", reason="its event writer")
    pytest.importorskip("wandb", reason="it writes its own log")
    written.console()
    written.tracked("TensorboardLogger")
    written.tracked("WandbLogger")
    found = api.diagnose([str(written.logs)], options=api.OpenOptions(workers=1))
    assert len(found.runs) == 1
    assert {s.sink or s.role for s in found.sources} >= {"console", "tfevents", "wandb"}
    check(opened(written.logs, written.dataset), written.release, 0)
