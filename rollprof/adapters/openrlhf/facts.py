"""What the arguments say of a run: GPUs, engines, batch, cap, mode.

Placement follows OpenRLHF's own launcher: with `train.colocate_all` every model shares the actor's GPUs, and
a synchronous run's engines do too; an asynchronous one's engines always stand on GPUs of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Fact

SURE_SLOTS = 256
"""vLLM's smallest default of max_num_seqs; OpenRLHF never sets it."""

_ASYNC_ACTORS = ("PPOTrainerAsync", "TrainingActor", "GenerateSamplesActor")
_SYNC_ACTORS = ("PPOTrainer", "ActorModelRayActor")


def facts_of(config: Mapping[str, Any], hints: Mapping[str, str], sums_up: bool | None) -> dict[str, Fact]:
    """Facts with their origin; those that cannot be known are left out. `sums_up` as `timing.sums_up`."""
    facts = {**_mode(config, hints, sums_up), **_batch(config)}
    facts.update(_engines(config, hints))
    facts.update(_placement(config, asynchronous=facts["mode"].value == "async"))
    facts.update(_queue(facts, config))
    if name := values.text(config.get("actor.model_name_or_path")):
        facts["model"] = Fact(values.short_path(name), "config", "actor.model_name_or_path")
    for path in ("reward.remote_url", "reward.model_name_or_path"):
        said = config.get(path)
        if grader := values.text(said[0] if isinstance(said, list | tuple) and said else said):
            facts["grader"] = Fact(values.short_path(grader), "config", path)
            break
    return facts


def _mode(config: Mapping[str, Any], hints: Mapping[str, str], sums_up: bool | None) -> dict[str, Fact]:
    said = values.boolean(config.get("train.async_enable"))
    if said is not None:
        mode = Fact("async" if said else "sync", "config", "train.async_enable")
    elif any(f"mark.actor.{name}" in hints for name in _ASYNC_ACTORS):
        mode = Fact("async", "logged", "actors of the asynchronous trainer")
    elif any(f"mark.actor.{name}" in hints for name in _SYNC_ACTORS):
        mode = Fact("sync", "logged", "actors of the synchronous trainer")
    elif sums_up is not None:
        how = "timing/step_total is the sum of the phases" if sums_up else "its phases overlap"
        mode = Fact("sync" if sums_up else "async", "derived", how)
    else:
        mode = Fact("unknown", "derived", "neither arguments nor actors in the log")
    found = {"mode": mode}
    agent = config.get("train.agent_func_path")
    if config:
        found["multi_turn"] = Fact(bool(agent), "config", "train.agent_func_path")
    partial = values.boolean(config.get("train.partial_rollout_enable"))
    if partial is not None:
        found["partial_rollout"] = Fact(partial, "config", "train.partial_rollout_enable")
    return found


def _batch(config: Mapping[str, Any]) -> dict[str, Fact]:
    found: dict[str, Fact] = {}
    prompts = _positive(config, "rollout.batch_size")
    size = _positive(config, "rollout.n_samples_per_prompt")
    cap = _positive(config, "rollout.max_new_tokens")
    if prompts:
        found["prompts_per_step"] = Fact(prompts, "config", "rollout.batch_size")
    if size:
        found["group_size"] = Fact(size, "config", "rollout.n_samples_per_prompt")
    if prompts and size:
        how = "rollout.batch_size x rollout.n_samples_per_prompt"
        found["responses_per_step"] = Fact(prompts * size, "config", how)
    if cap:
        found["response_cap"] = Fact(cap, "config", "rollout.max_new_tokens")
    return found


def _engines(config: Mapping[str, Any], hints: Mapping[str, str]) -> dict[str, Fact]:
    engines = values.integer(config.get("vllm.num_engines"))
    seen = values.integer(hints.get("engines_seen"))
    found: dict[str, Fact] = {}
    if engines is not None:
        found["engine_name"] = Fact("vllm" if engines > 0 else "hf", "config", "vllm.num_engines")
    if engines:
        found["engines"] = Fact(engines, "config", "vllm.num_engines")
        size = _positive(config, "vllm.tensor_parallel_size")
        if size:
            found["gpus_per_engine"] = Fact(size, "config", "vllm.tensor_parallel_size")
    elif seen and engines is None:
        found["engines"] = Fact(seen, "logged", "engines that drew bars of their own")
        found["engine_name"] = Fact("vllm", "logged", "vLLM's progress bars")
    return found


def _placement(config: Mapping[str, Any], *, asynchronous: bool) -> dict[str, Fact]:
    actor = _group(config, "actor")
    engines = values.integer(config.get("vllm.num_engines")) or 0
    rollout = engines * (_positive(config, "vllm.tensor_parallel_size") or 1)
    if not actor:
        return {}
    together = values.boolean(config.get("train.colocate_all")) is True
    if engines == 0 or (together and not asynchronous):
        how = "actor.num_nodes x actor.num_gpus_per_node, shared by all models"
        trainer, extra = (actor, "") if together else _trainer(config, actor)
        return {
            "colocated": Fact(True, "config", "train.colocate_all" if together else "no vLLM engines"),
            "gpus": Fact(trainer, "config", how if together else f"actor{extra}"),
        }
    trainer, extra = (actor, " (train.colocate_all)") if together else _trainer(config, actor)
    return {
        "colocated": Fact(False, "config", "train.async_enable" if together else "train.colocate_all"),
        "trainer_gpus": Fact(trainer, "config", f"GPUs of actor{extra}"),
        "rollout_gpus": Fact(rollout, "config", "vllm.num_engines x vllm.tensor_parallel_size"),
        "gpus": Fact(trainer + rollout, "config", f"GPUs of actor{extra} and of the engines"),
    }


def _trainer(config: Mapping[str, Any], actor: int) -> tuple[int, str]:
    """GPUs of all models that are no engine, and which models they are."""
    total, names = actor, []
    kl = values.number(config.get("algo.kl.init_coef"))
    if kl != 0 and values.boolean(config.get("train.colocate_actor_ref")) is not True:
        total += _group(config, "ref")
        names.append("reference")
    critic = bool(config.get("critic.model_name_or_path"))
    if critic:
        total += _group(config, "critic")
        names.append("critic")
    shared = critic and values.boolean(config.get("train.colocate_critic_reward")) is True
    if has_reward_model(config) and not shared:
        total += _group(config, "reward")
        names.append("reward model")
    return total, "".join(f", {name}" for name in names)


def has_reward_model(config: Mapping[str, Any]) -> bool:
    """A reward model on GPUs of the job, rather than a function, a server or an agent."""
    return not config.get("reward.remote_url") and not config.get("train.agent_func_path")


def _group(config: Mapping[str, Any], model: str) -> int:
    nodes, each = (_positive(config, f"{model}.{name}") or 0 for name in ("num_nodes", "num_gpus_per_node"))
    return nodes * each


def _queue(facts: Mapping[str, Fact], config: Mapping[str, Any]) -> dict[str, Fact]:
    """Whether requests may wait for a slot: not known, since vLLM's default number of slots depends on its
    release and on the GPU, except where there are fewer of them than the smallest default."""
    size, engines = facts.get("group_size"), facts.get("engines")
    prompts = _positive(config, "rollout.vllm_generate_batch_size") or _positive(config, "rollout.batch_size")
    if size is None or engines is None or prompts is None:
        return {}
    each = -(-prompts * int(size.value) // int(engines.value))
    how = f"{each} responses per engine, vLLM decodes at least {SURE_SLOTS} at a time by default"
    return {"requests_may_queue": Fact(each > SURE_SLOTS, "derived", how)}


def _positive(config: Mapping[str, Any], key: str) -> int | None:
    whole = values.integer(config.get(key))
    return whole if whole is not None and whole > 0 else None
