"""Facts of a run, each with how it is known: read by path from the configuration, given back by verl's
averages, or the default of the release.

`n_gpus_per_node` stands at five places of a configuration; only the trainer's (and, where rollouts have
GPUs of their own, the rollout's) count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Alarm, Evidence, Fact
from rollprof.adapters.verl import identities
from rollprof.adapters.verl.identities import first
from rollprof.adapters.verl.reading import Reading

ROLLOUT = "actor_rollout_ref.rollout"

SLOTS_TO_0_8, SLOTS_FROM_0_9 = 1024, 256
"""Default of `actor_rollout_ref.rollout.max_num_seqs`."""


def facts_of(evidence: Evidence, reading: Reading) -> tuple[dict[str, Fact], list[Alarm]]:
    """All facts that can be known (names of adapters.base.FACT_NAMES), and the contradictions met."""
    config = reading.config
    alarms: list[Alarm] = []
    facts: dict[str, Fact | None] = {}
    facts.update(_gpus(evidence, reading, alarms))
    facts.update(_engines(facts, evidence, config))
    facts["max_num_seqs"] = _user(evidence, "max_num_seqs") or _slots(reading)
    facts["response_cap"] = _user(evidence, "response_cap") or _cap(evidence, reading)
    facts.update(_batch(evidence, reading, alarms))
    told = reading.trainer is not None or bool(reading.keys)
    facts["mode"] = Fact(reading.mode if told else "unknown", "derived", _mode_how(reading))
    if told and reading.separate is not None:
        facts["colocated"] = Fact(not reading.separate, "derived", _mode_how(reading))
    facts["multi_turn"] = _multi_turn(evidence, config)
    if reading.engine_name is not None:
        facts["engine_name"] = Fact(reading.engine_name, "config", f"{ROLLOUT}.name")
    model = values.text(config.get("actor_rollout_ref.model.path"))
    if model is not None:
        facts["model"] = Fact(values.short_path(model), "config", "actor_rollout_ref.model.path")
    facts["grader"] = _grader(config)
    found = {name: fact for name, fact in facts.items() if fact is not None}
    queue = _may_queue(found)
    return ({**found, "requests_may_queue": queue} if queue is not None else found), alarms


def _grader(config: Mapping[str, Any]) -> Fact | None:
    """What scores responses: the user's function, a reward model, else the reward manager."""
    enabled = config.get("reward_model.enable") or config.get("reward.reward_model.enable")
    for path, name in GRADERS:
        said = values.text(config.get(path))
        if said is None or ("model.path" in path and not enabled):
            continue
        function = values.text(config.get(name)) if name else None
        label = values.short_path(said)
        return Fact(f"{label}:{function}" if function else label, "config", path)
    return None


GRADERS = (
    ("reward.custom_reward_function.path", "reward.custom_reward_function.name"),
    ("custom_reward_function.path", "custom_reward_function.name"),
    ("reward.reward_model.model_path", ""),
    ("reward_model.model.path", ""),
    ("reward.reward_manager.name", ""),
    ("reward_model.reward_manager", ""),
)
"""Configuration paths that name the grader, and the function in it, the most telling first."""


def group_size_of(evidence: Evidence, reading: Reading) -> Fact | None:
    """Responses per prompt."""
    said = _user(evidence, "group_size")
    if said is not None:
        return said
    paths = ("rollout.n", f"{ROLLOUT}.n") if reading.trainer == "fully-async" else (f"{ROLLOUT}.n",)
    for path in paths:
        n = _positive(reading.config, path)
        if n is not None:
            return Fact(n, "config", path)
    if reading.span.before((0, 2, 0)):
        return Fact(1, "default", "verl 0.1 samples one response per prompt")
    return None


def _gpus(evidence: Evidence, reading: Reading, alarms: list[Alarm]) -> dict[str, Fact | None]:
    trainer = _product(reading.config, "trainer.n_gpus_per_node", "trainer.nnodes")
    rollout = _rollout_pool(reading)
    stated: Fact | None = trainer
    if trainer is not None and reading.separate:
        both = trainer.value + rollout.value if rollout is not None else None
        stated = (
            None
            if both is None or rollout is None
            else Fact(both, "config", f"{trainer.how} + {rollout.how}")
        )
    found = identities.agreed(identities.gpus(m) for m in evidence.metrics.values())
    said = _user(evidence, "gpus")
    gpus = said or stated
    if found is not None:
        value, how = found.value, f"total tokens / (throughput x step time), {found.how}"
        if stated is None:
            gpus = said or Fact(value, "derived", how)
        elif stated.value == value:
            gpus = said or Fact(value, "config", f"{stated.how}, confirmed by {how}")
        else:
            gpus = said or Fact(value, "derived", f"{how}; {stated.how} says {stated.value}")
        alarms += _doubted(said, stated, value, found.steps)
    facts: dict[str, Fact | None] = {"gpus": gpus}
    if reading.separate:
        facts["trainer_gpus"] = trainer
        facts["rollout_gpus"] = rollout
        if rollout is None and trainer is not None and gpus is not None and gpus.value > trainer.value:
            rest = gpus.value - trainer.value
            facts["rollout_gpus"] = Fact(rest, "derived", f"all GPUs without {trainer.how}")
    return facts


def _doubted(said: Fact | None, stated: Fact | None, derived: int, steps: int) -> Iterator[Alarm]:
    """GPUs that the step lines contradict. The user's word settles what the configuration says, not what the
    log computed with."""
    claim = said or stated
    if claim is not None and claim.value != derived:
        who = claim.how if claim is said else f"the configuration says {claim.value} GPUs ({claim.how})"
        text = f"{who}, the step lines give {derived}" + (" GPUs" if claim is said else "")
        evidence = {"user" if claim is said else "config": claim.value, "derived": derived, "steps": steps}
        yield Alarm("gpus-disagree", text, evidence)


def _rollout_pool(reading: Reading) -> Fact | None:
    """GPUs that only generate: a top-level `rollout` of the recipes, the rollout's own in v1."""
    if not reading.separate:
        return None
    top = _product(reading.config, "rollout.n_gpus_per_node", "rollout.nnodes")
    return top or _product(reading.config, f"{ROLLOUT}.n_gpus_per_node", f"{ROLLOUT}.nnodes")


def _engines(
    facts: Mapping[str, Fact | None], evidence: Evidence, config: Mapping[str, Any]
) -> dict[str, Fact | None]:
    """Replicas = GPUs // (tensor x data x pipeline parallel size)."""
    sizes = [
        f"{ROLLOUT}.{name}"
        for name in ("tensor_model_parallel_size", "data_parallel_size", "pipeline_model_parallel_size")
    ]
    tensor = _positive(config, sizes[0])
    per_engine: Fact | None = None
    if tensor is not None:
        size, said = tensor, [sizes[0]]
        for path in sizes[1:]:
            more = _positive(config, path) or 1
            size, said = size * more, [*said, path] if more > 1 else said
        per_engine = Fact(size, "config", " x ".join(said))
    engines = _user(evidence, "engines")
    pool = facts.get("rollout_gpus") or facts.get("gpus")
    # Rollouts on GPUs of their own, but not known how many: all GPUs would be too many.
    known = pool is not None and ("rollout_gpus" not in facts or facts["rollout_gpus"] is not None)
    if (
        engines is None
        and known
        and pool is not None
        and per_engine is not None
        and pool.value >= per_engine.value
    ):
        engines = Fact(
            int(pool.value // per_engine.value), "derived", f"{pool.value:g} GPUs // ({per_engine.how})"
        )
    return {"gpus_per_engine": per_engine, "engines": engines}


def _slots(reading: Reading) -> Fact | None:
    path = f"{ROLLOUT}.max_num_seqs"
    said = _positive(reading.config, path)
    if said is not None:
        return Fact(said, "config", path)
    if reading.engine_name == "hf":
        return None
    if reading.span.before((0, 9, 0)):
        return Fact(SLOTS_TO_0_8, "default", f"default of verl to 0.8 for {path}")
    if reading.span.from_((0, 9, 0)):
        return Fact(SLOTS_FROM_0_9, "default", f"default of verl since 0.9 for {path}")
    return None


def _cap(evidence: Evidence, reading: Reading) -> Fact | None:
    for path in ("data.max_response_length", f"{ROLLOUT}.response_length"):
        said = _positive(reading.config, path)
        if said is not None:
            return Fact(said, "config", path)
    if reading.clip_ratio_holds is not True:
        return None
    caps = {
        first(m, "response_length/max")
        for m in evidence.metrics.values()
        if (first(m, "response_length/clip_ratio") or 0.0) > 0
    } - {None}
    if len(caps) != 1:
        return None
    return Fact(int(caps.pop() or 0), "derived", "response_length/max of the steps that were clipped")


def _batch(evidence: Evidence, reading: Reading, alarms: list[Alarm]) -> dict[str, Fact | None]:
    group = group_size_of(evidence, reading)
    prompts = _positive(reading.config, "data.train_batch_size")
    stated_prompts = Fact(prompts, "config", "data.train_batch_size") if prompts is not None else None
    found = identities.agreed(identities.responses(m) for m in evidence.metrics.values())
    stated: int | None = None
    if prompts is not None and group is not None and reading.trainer != "fully-async":
        stated = prompts * int(group.value)
    responses = (
        None
        if stated is None or group is None
        else Fact(stated, "config", f"data.train_batch_size x {group.how}")
    )
    if found is not None:
        value, how = found.value, f"total tokens / mean tokens, {found.how}"
        if responses is not None and stated == value:
            responses = Fact(value, "config", f"{responses.how}, confirmed by {how}")
        else:
            if responses is not None:
                alarms.append(
                    Alarm(
                        "responses-disagree",
                        f"the configuration says {stated} responses per step ({responses.how}), "
                        f"the step lines give {value}",
                        {"config": stated, "derived": value, "steps": found.steps},
                    )
                )
            responses = Fact(value, "derived", how)
    if reading.trainer == "fully-async":
        stated_prompts = None
    if (
        stated_prompts is None
        and responses is not None
        and group is not None
        and responses.value % group.value == 0
    ):
        stated_prompts = Fact(
            responses.value // int(group.value), "derived", f"responses per step / {group.how}"
        )
    return {"group_size": group, "prompts_per_step": stated_prompts, "responses_per_step": responses}


def _multi_turn(evidence: Evidence, config: Mapping[str, Any]) -> Fact | None:
    turns = [
        value
        for m in evidence.metrics.values()
        if (value := first(m, "num_turns/max", "training/num_turns/max")) is not None
    ]
    if turns and max(turns) > 2:  # prompt and response are two
        return Fact(True, "logged", f"num_turns/max up to {max(turns):g}")
    said = values.boolean(config.get(f"{ROLLOUT}.multi_turn.enable"))
    if said is not None:
        return Fact(said, "config", f"{ROLLOUT}.multi_turn.enable")
    return Fact(False, "logged", "num_turns/max is 2: prompt and response") if turns else None


def _may_queue(facts: Mapping[str, Fact]) -> Fact | None:
    """Whether requests wait for a slot; None where slots, engines or responses are not known."""
    slots, engines, n = facts.get("max_num_seqs"), facts.get("engines"), facts.get("responses_per_step")
    if slots is None or n is None:
        return None
    if engines is None:
        one = f"{n.value} responses fit the {slots.value} slots of a single engine"
        return Fact(False, "derived", one) if n.value <= slots.value else None
    room = int(slots.value) * int(engines.value)
    return Fact(n.value > room, "derived", f"{n.value} responses on {engines.value} x {slots.value} slots")


def _mode_how(reading: Reading) -> str:
    if reading.trainer is None:
        return "step lines name neither an asynchronous nor the v1 trainer"
    mode = f", mode {reading.v1_mode or 'unknown'}" if reading.trainer == "v1" else ""
    return f"{reading.trainer} trainer ({reading.trainer_how}){mode}"


def _product(config: Mapping[str, Any], first_path: str, second_path: str) -> Fact | None:
    a, b = _positive(config, first_path), _positive(config, second_path)
    return None if a is None or b is None else Fact(a * b, "config", f"{first_path} x {second_path}")


def _positive(config: Mapping[str, Any], path: str) -> int | None:
    value = values.integer(config.get(path))
    return value if value is not None and value > 0 else None


def _user(evidence: Evidence, key: str) -> Fact | None:
    value = evidence.overrides.get(key)
    return None if value is None else Fact(value, "user", f"--config {key}={value}")
