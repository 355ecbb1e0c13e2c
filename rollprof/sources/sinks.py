"""Trackers' files -> scalar runs: (step, key, value, time), settings, GPU samples. Knows no framework.

Every tracker keeps the same things in another container. Here each container has its reader, and all of them
give the same `ScalarRun`; what its keys mean is for the adapters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, cast

from rollprof.schema.ledger import Ledger
from rollprof.sources.records import GpuSample, MetricRecord, SniffedFile

Digits = Literal["float64", "float32"]

READERS: dict[str, str] = {
    "tfevents": "rollprof.sources.tfevents:read_events",
    "wandb": "rollprof.sources.wandb_log:read_wandb",
    "swanlab": "rollprof.sources.swanlab_log:read_swanlab",
    "trackio": "rollprof.sources.trackio:read_trackio",
    "mlflow": "rollprof.sources.mlflow:read_mlflow",
    "mlflow_run": "rollprof.sources.mlflow:read_mlflow_run",
    "history": "rollprof.sources.wandb_history:read_history",
}
"""Sink (`metadata["sink"]` of a sniffed file) -> its reader. Imported when such a file is there."""

TITLES: dict[str, str] = {
    "tfevents": "TensorBoard events",
    "wandb": "wandb's own log",
    "swanlab": "SwanLab's own log",
    "trackio": "trackio's database",
    "mlflow": "mlflow's database",
    "mlflow_run": "a run in mlflow's file store",
    "history": "an export of wandb's history",
}

MAX_KEYS = 4096
"""Distinct keys of a file that are looked at before it is claimed."""


@dataclass(slots=True)
class ScalarRun:
    """One run in a tracker's file.

    `records` stand in the order logged, with the tracker's own step and one `offset` per row: scalars logged
    together share it. `run_id` begins with the tracker's name. `digits`: what the tracker keeps of a number.
    `own_steps`: the tracker counts its rows itself (wandb's `_step`), unless the program said a step.
    """

    sink: str
    run_id: str
    name: str
    records: list[MetricRecord] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    gpus: list[GpuSample] = field(default_factory=list)
    digits: Digits = "float64"
    own_steps: bool = False


def sink_of(file: SniffedFile) -> str | None:
    """Which tracker wrote the file; None for anything else."""
    sink = file.metadata.get("sink")
    return sink if sink in READERS else None


def read_sink(file: SniffedFile, ledger: Ledger) -> list[ScalarRun]:
    """The runs in a tracker's file, in the order found. What is damaged stands in the ledger."""
    module, _, name = READERS[file.metadata["sink"]].partition(":")
    reader = cast("Callable[[SniffedFile, Ledger], list[ScalarRun]]", getattr(import_module(module), name))
    return reader(file, ledger)
