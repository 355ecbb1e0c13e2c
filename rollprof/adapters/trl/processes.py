"""How many processes trained, and which of them generated what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Fact
from rollprof.adapters.trl import completions

Config = Mapping[str, Any]


def number(config: Config, name: str) -> int | None:
    """A setting that is a whole number above 0."""
    value = values.integer(config.get(name))
    return value if value is not None and value > 0 else None


def world_size(config: Config) -> Fact | None:
    """Processes of the trainer: as saved, as the launcher or a banner says, else from the batch sizes.

    TRL fills in `generation_batch_size = per_device_train_batch_size x processes x steps_per_generation`
    (from 0.18); the Trainer prints a total batch of `per device x processes x accumulation steps`.
    """
    told = number(config, "num_processes")
    if told is not None:
        return Fact(told, "config", "num_processes")
    device = number(config, "per_device_train_batch_size")
    for total, repeats in (
        ("generation_batch_size", "steps_per_generation"),
        ("train_batch", "gradient_accumulation_steps"),
    ):
        batch, times = number(config, total), number(config, repeats)
        if batch and device and times and batch % (device * times) == 0:
            how = f"{total} / (per_device_train_batch_size x {repeats})"
            return Fact(batch // (device * times), "derived", how)
    return None


def generation_batch(config: Config) -> Fact | None:
    """Responses generated together."""
    told = number(config, "generation_batch_size")
    if told is not None:
        return Fact(told, "config", "generation_batch_size")
    device, world = number(config, "per_device_train_batch_size"), world_size(config)
    times = number(config, "steps_per_generation") or number(config, "gradient_accumulation_steps")
    if device and world is not None and times:
        how = "per_device_train_batch_size x processes x steps_per_generation"
        return Fact(device * int(world.value) * times, "derived", how)
    return None


def generator(config: Config) -> str | None:
    """Who generates: `hf` (each process for itself), `colocate` (vLLM inside the processes), `server`.

    `vllm_mode` is set to a default even where vLLM is not used.
    """
    uses = values.boolean(config.get("use_vllm"))
    if config.get("vllm_sleeps"):
        return "colocate"
    if uses is None:
        return None
    if not uses:
        return "hf"
    mode = config.get("vllm_mode")
    return mode if mode in ("colocate", "server") else None


def processes_per_engine(config: Config) -> int | None:
    """Processes that share one engine; None where the trainer does not generate itself, or unknown."""
    kind = generator(config)
    if kind == "hf":
        return 1
    return number(config, "vllm_tensor_parallel_size") or 1 if kind == "colocate" else None


def engine_hints(rows: int, config: Config) -> dict[str, str]:
    """Which rows of a file each engine generated: equal blocks, in the order of the processes."""
    world, shared = world_size(config), processes_per_engine(config)
    if world is None or shared is None or int(world.value) < 1 or int(world.value) % shared:
        return {}
    engines = int(world.value) // shared
    if not rows or rows % engines:
        return {}
    name = "rank" if shared == 1 else "engine"
    return {completions.ENGINE_ROWS: str(rows // engines), completions.ENGINE_NAME: name}
