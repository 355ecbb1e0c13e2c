"""The merged metrics of a run of OpenRLHF -> columns, facts, alarms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Evidence, Fact, Interpretation
from rollprof.adapters.openrlhf import vocabulary
from rollprof.adapters.openrlhf.alarms import Findings, alarms_of, notes_of
from rollprof.adapters.openrlhf.args import OLD_NAMES
from rollprof.adapters.openrlhf.facts import facts_of, has_reward_model
from rollprof.adapters.openrlhf.releases import release_range
from rollprof.adapters.openrlhf.sampling import pass_rate
from rollprof.adapters.openrlhf.timing import Setting, sums_up, timing_columns


def interpret(evidence: Evidence) -> Interpretation:
    """One run in the schema's words."""
    steps = _finite(evidence.metrics)
    config = {OLD_NAMES.get(k, k): v for k, v in evidence.config.items()}
    trained = [n for n in sorted(steps) if _is_training(steps[n])]
    rows = [steps[n] for n in trained]
    release = release_range(evidence.hints, {key for step in steps.values() for key in step})
    facts = facts_of(config, evidence.hints, sums_up(rows))
    group_size = _group_size(facts, evidence.overrides, rows)
    setting = _setting(config, facts, evidence.hints)
    timing = timing_columns(trained, rows, evidence.times, setting)
    agents = bool(config.get("train.agent_func_path"))
    sampling = pass_rate(rows, release, group_size)
    if sampling is not None and sampling.share is not None:
        facts["sampling_pass_rate"] = Fact(sampling.share, "logged", sampling.how)
    served = [n for n, b in zip(trained, timing.buffered, strict=True) if b]
    if served:
        facts["buffered_steps"] = Fact(
            ",".join(map(str, served)), "derived", "timing/generation near 0: responses of the call before"
        )
    found = Findings(trained, rows, timing, setting, release, sampling, config, evidence.hints, agents)
    return Interpretation(
        steps=[
            *(
                _row(
                    n,
                    "train",
                    evidence,
                    {
                        **vocabulary.content_columns(row, release, group_size=group_size, agents=agents),
                        **times,
                    },
                )
                for n, row, times in zip(trained, rows, timing.rows, strict=True)
            ),
            *(
                _row(n, "eval", evidence, columns)
                for n in sorted(steps)
                if (columns := vocabulary.evaluation_columns(steps[n])) is not None
            ),
        ],
        facts=facts,
        version=str(release) if release.known else None,
        trainer=_trainer(facts),
        alarms=alarms_of(found),
        notes=notes_of(found),
    )


def _finite(metrics: Mapping[int, Mapping[str, float]]) -> dict[int, dict[str, float]]:
    """Values that are numbers, under the trainer's own keys."""
    return {
        step: {vocabulary.plain(key): value for key, value in found.items() if math.isfinite(value)}
        for step, found in metrics.items()
    }


def _is_training(step: Mapping[str, float]) -> bool:
    return any(not key.startswith("eval_") and key not in ("log/eval_s", "global_step") for key in step)


def _row(step: int, split: str, evidence: Evidence, columns: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in columns.items() if value is not None}
    time = evidence.times.get(step) if split == "train" else None
    return {"step": step, "split": split, "logged_at": time, **known}


def _setting(config: Mapping[str, Any], facts: Mapping[str, Fact], hints: Mapping[str, str]) -> Setting:
    kl = values.number(config.get("algo.kl.init_coef"))
    alone = kl == 0 and not config.get("critic.model_name_or_path") and not has_reward_model(config)
    return Setting(
        mode=str(facts["mode"].value),
        partial="partial_rollout" in facts and facts["partial_rollout"].value is True,
        alone=bool(config) and alone,
        queue_size=values.integer(config.get("train.async_queue_size", hints.get("queue_size"))) or 1,
    )


def _group_size(
    facts: dict[str, Fact], overrides: Mapping[str, Any], rows: Sequence[Mapping[str, float]]
) -> int | None:
    """Responses per prompt: as the user or the arguments say, else responses per tick of the group bars."""
    said = overrides.get("group_size") or (facts["group_size"].value if "group_size" in facts else None)
    if said is not None:
        return int(said)
    ratios = {
        row["rollout/num_samples"] / row["bar/generate_samples/groups"]
        for row in rows
        if row.get("bar/generate_samples/groups") and "rollout/num_samples" in row
    }
    if len(rows) < 2 or len(ratios) != 1 or not (size := ratios.pop()).is_integer() or size < 1:
        return None
    facts["group_size"] = Fact(int(size), "derived", "responses of a step / groups that its bar counted")
    return int(size)


def _trainer(facts: Mapping[str, Fact]) -> str | None:
    if facts["mode"].value == "async":
        partial = "partial_rollout" in facts and facts["partial_rollout"].value
        return "asynchronous PPO, partial rollouts" if partial else "asynchronous PPO"
    return "PPO" if facts["mode"].value == "sync" else None
