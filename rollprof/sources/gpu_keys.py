"""GPU statistics as trackers name them -> GPU samples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from rollprof.sources.records import GpuSample

GpuRow = tuple[float | None, Mapping[str, float]]
"""When, and every system metric sampled then."""

_WANDB = re.compile(r"(?:system\.)?gpu\.(\d+)\.(\w+)(?:/l:(.+))?$")
_MLFLOW = re.compile(r"system/(?:([^/]+)/)?gpu_(\d+)_(\w+)$")
_TRACKIO = re.compile(r"gpu/(\d+)/(\w+)$")

_PERCENT = ("gpu", "utilization_percentage", "utilization")
_POWER = ("powerWatts", "power_usage_watts")


def wandb_gpus(rows: Iterable[GpuRow], host: str) -> list[GpuSample]:
    """`gpu.0.gpu` (percent), `.memoryAllocatedBytes`, `.powerWatts`; several writers have a label each."""
    return _samples(rows, _WANDB, lambda m: (m[3] or host, m[1], m[2]))


def mlflow_gpus(rows: Iterable[GpuRow]) -> list[GpuSample]:
    """`system/gpu_0_utilization_percentage`, `…_memory_usage_megabytes`, `…_power_usage_watts`."""
    return _samples(rows, _MLFLOW, lambda m: (m[1] or "", m[2], m[3]))


def trackio_gpus(rows: Iterable[GpuRow]) -> list[GpuSample]:
    """`gpu/0/utilization` (percent)."""
    return _samples(rows, _TRACKIO, lambda m: ("", m[1], m[2]))


def is_system(key: str) -> bool:
    """True for a key of mlflow's system metrics, whose steps count samples."""
    return key.startswith("system/")


def _samples(
    rows: Iterable[GpuRow],
    pattern: re.Pattern[str],
    split: Callable[[re.Match[str]], tuple[str, str, str]],
) -> list[GpuSample]:
    found: list[GpuSample] = []
    for time, values in rows:
        if time is None:
            continue
        gpus: dict[tuple[str, str], dict[str, float]] = {}
        for key, value in values.items():
            match = pattern.match(key)
            if match is not None:
                node, gpu, what = split(match)
                gpus.setdefault((node, gpu), {})[what] = value
        for (node, gpu), said in sorted(gpus.items()):
            used = next((said[w] for w in _PERCENT if w in said), None)
            bytes_used, mb = said.get("memoryAllocatedBytes"), said.get("memory_usage_megabytes")
            memory = bytes_used / 1e6 if bytes_used is not None else mb
            power = next((said[w] for w in _POWER if w in said), None)
            share = None if used is None else used / 100
            if share is not None or memory is not None or power is not None:
                found.append(GpuSample(time, node, gpu, share, memory, power))
    return found
