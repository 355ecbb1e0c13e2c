"""Facts of a run, each with how it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Evidence, Fact
from rollprof.adapters.trl.derived import reward_functions
from rollprof.adapters.trl.processes import (
    generation_batch,
    generator,
    number,
    processes_per_engine,
    world_size,
)

Config = Mapping[str, Any]
Rows = Sequence[Mapping[str, Any]]

EXTRA = ("num_generations_eval", "steps_per_generation", "num_iterations", "gradient_accumulation_steps")
"""Settings that explain the steps table and have no name of their own among the facts."""

VERSIONS = ("transformers", "pytorch", "vllm", "unsloth")


def facts_of(evidence: Evidence, asynchronous: str, keys: Sequence[str]) -> dict[str, Fact]:
    """All facts but the cap where it has to be derived from rows (`cap_from_rows`)."""
    config = evidence.config
    world, batch = world_size(config), generation_batch(config)
    group = _group_size(evidence)
    kind = "server" if asynchronous else generator(config)
    facts: dict[str, Fact | None] = {
        "processes": world,
        "group_size": group,
        "responses_per_step": batch,
        "response_cap": _said(evidence, "response_cap") or _setting(config, "max_completion_length"),
        "mode": Fact(
            "async" if asynchronous else "sync",
            "derived",
            "keys of AsyncGRPO" if asynchronous else "keys of a synchronous trainer",
        ),
        "engine_name": _engine_name(config, keys, kind),
        "model": _model(config),
        "grader": _grader(evidence),
    }
    if batch is not None and group is not None and int(batch.value) % int(group.value) == 0:
        facts["prompts_per_step"] = Fact(batch.value // group.value, "derived", f"{batch.how} / {group.how}")
    if kind is not None:
        facts["colocated"] = Fact(
            kind != "server", "config" if not asynchronous else "derived", _kind_how(kind)
        )
    if any(key.startswith("tools/") for key in keys):
        facts["multi_turn"] = Fact(True, "logged", "tools/* is logged")
    facts |= _gpus(evidence, world, kind)
    facts |= _engines(evidence, world, batch)
    for name in EXTRA:
        facts[name] = _setting(config, name)
    for name in VERSIONS:
        said = values.text(config.get(f"version.{name}"))
        facts[f"{name}_version"] = Fact(said, "logged", "model card or banner") if said is not None else None
    return {name: fact for name, fact in facts.items() if fact is not None}


def cap_from_rows(rows: Rows) -> Fact | None:
    """The cap, where the longest response of every step that was cut is the same and none is longer: a
    response that was cut has exactly the cap's tokens."""
    longest = [
        r["response_tokens_max"] for r in rows if r.get("split") == "train" and "response_tokens_max" in r
    ]
    cut = [
        r["response_tokens_max"]
        for r in rows
        if r.get("split") == "train" and r.get("truncated_share", 0) > 0 and "response_tokens_max" in r
    ]
    if len(cut) < 2 or len(set(cut)) != 1 or max(longest) > cut[0]:
        return None
    return Fact(int(cut[0]), "derived", f"the longest response of all {len(cut)} steps with truncated ones")


def _group_size(evidence: Evidence) -> Fact | None:
    return _said(evidence, "group_size") or _setting(evidence.config, "num_generations")


def _setting(config: Config, name: str) -> Fact | None:
    value = number(config, name)
    return Fact(value, "config", name) if value is not None else None


def _said(evidence: Evidence, name: str) -> Fact | None:
    value = evidence.overrides.get(name)
    return Fact(value, "user", f"--config {name}") if value is not None else None


def _kind_how(kind: str) -> str:
    return {
        "hf": "use_vllm is off: each process generates",
        "colocate": "vllm_mode colocate",
        "server": "a vLLM server beside the trainer",
    }[kind]


def _gpus(evidence: Evidence, world: Fact | None, kind: str | None) -> dict[str, Fact | None]:
    """One GPU per process, unless it trains on CPU; a vLLM server has GPUs of its own that no log counts."""
    config = evidence.config
    said = _said(evidence, "gpus")
    used = _setting(config, "gpus_used")
    if used is not None and world is None:
        world = Fact(used.value, "logged", "Num GPUs used")
    if config.get("use_cpu") is True or config.get("cpu") is True or world is None:
        return {"gpus": said}
    each = Fact(world.value, world.origin, f"one per process ({world.how})")
    if kind == "server":
        return {"gpus": said, "trainer_gpus": each}
    return {"gpus": said or (each if kind is not None or used is not None else None)}


def _engines(evidence: Evidence, world: Fact | None, batch: Fact | None) -> dict[str, Fact | None]:
    """Engines inside the trainer's processes. Each takes its whole share of a generation batch at once, so
    it has as many slots and nothing queues."""
    config = evidence.config
    said = _said(evidence, "engines")
    shared = processes_per_engine(config)
    if world is None or shared is None or int(world.value) % shared:
        return {"engines": said, "max_num_seqs": _said(evidence, "max_num_seqs")}
    how = "each process generates" if shared == 1 else f"{world.value} processes / vllm_tensor_parallel_size"
    engines = said or Fact(int(world.value) // shared, "derived", how)
    facts: dict[str, Fact | None] = {
        "engines": engines,
        "gpus_per_engine": Fact(shared, "config", how),
        "max_num_seqs": _said(evidence, "max_num_seqs"),
        "requests_may_queue": Fact(False, "derived", "an engine takes its whole share of a batch at once"),
    }
    if facts["max_num_seqs"] is None and batch is not None and int(batch.value) % int(engines.value) == 0:
        facts["max_num_seqs"] = Fact(
            int(batch.value) // int(engines.value), "derived", "a whole share of the generation batch at once"
        )
    return facts


def _engine_name(config: Config, keys: Sequence[str], kind: str | None) -> Fact | None:
    if any(key.startswith("sampling/") for key in keys):
        return Fact("vllm", "logged", "sampling/* is logged only with vLLM")
    if kind == "hf":
        return Fact("hf", "config", "use_vllm")
    if kind is not None or values.boolean(config.get("use_vllm")):
        return Fact("vllm", "config", "use_vllm")
    return None


def _grader(evidence: Evidence) -> Fact | None:
    names = reward_functions(evidence.metrics.values())
    return Fact(", ".join(names), "logged", "names of the reward metrics") if names else None


def _model(config: Config) -> Fact | None:
    for name in ("model", "model_name_or_path"):
        said = values.text(config.get(name))
        if said is not None:
            return Fact(values.short_path(said), "config", name)
    return None
