"""One run of TRL in the schema's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from rollprof.adapters import values
from rollprof.adapters.base import Evidence, Fact, Interpretation
from rollprof.adapters.trl import steps
from rollprof.adapters.trl.alarms import alarms_of, local_mean
from rollprof.adapters.trl.facts import cap_from_rows, facts_of
from rollprof.adapters.trl.processes import generation_batch, number, world_size
from rollprof.adapters.trl.releases import version_of
from rollprof.adapters.trl.steps import Conditions
from rollprof.adapters.trl.vocabulary import (
    ASYNC_NEW,
    ASYNC_OLD,
    CLIPPED,
    MAX,
    evaluation,
    generated,
    training,
    value,
)
from rollprof.adapters.trl.windows import Window, steps_per_generation, windows

Logs = Mapping[int, Mapping[str, float]]


def interpret(evidence: Evidence) -> Interpretation:
    """Steps, facts, release, trainer, and what is wrong or odd about this log."""
    logs = {s: own for s in sorted(evidence.metrics) if (own := training(evidence.metrics[s]))}
    keys = list(dict.fromkeys(k for own in logs.values() for k in own))
    asynchronous = _asynchronous(keys)
    facts = facts_of(evidence, asynchronous, keys)
    covered = windows(logs, evidence.config)
    conditions = _conditions(evidence, logs, facts, asynchronous)
    rows = {s: steps.train_row(s, own, covered[s], conditions) for s, own in logs.items()}
    clocked: steps.Clocked | None = None
    short: list[int] = []
    tracked: list[int] = []
    if not asynchronous:
        tracked = steps.add_timers(rows, evidence.metrics, covered)
        clocked = steps.add_clock(rows, evidence.metrics, covered)
        short = steps.add_tokens(
            rows, logs, covered, conditions, counted=evidence.hints.get("steps") == "counted"
        )
    evaluated = [
        row
        for s in sorted(evidence.metrics)
        if (row := steps.eval_row(s, evaluation(evidence.metrics[s]), conditions)) is not None
    ]
    everything = [_timed(row, evidence) for row in [*rows.values(), *evaluated]]
    cap = cap_from_rows(everything) if "response_cap" not in facts else None
    return Interpretation(
        steps=everything,
        facts={**facts, "response_cap": cap} if cap is not None else facts,
        version=_version(evidence, keys, conditions),
        trainer=_trainer(evidence, keys, asynchronous),
        alarms=alarms_of(evidence, logs, everything, covered, conditions, short),
        notes=[
            *_notes(evidence, logs, rows, covered, conditions, clocked if not tracked else None),
            *_tracked_notes(rows, tracked),
        ],
    )


def _timed(row: Mapping[str, Any], evidence: Evidence) -> Mapping[str, Any]:
    logged_at = evidence.times.get(row["step"])
    return row if logged_at is None else {**row, "logged_at": logged_at}


def _asynchronous(keys: Sequence[str]) -> str:
    if any(key in keys for key in ASYNC_NEW):
        return "new"
    return "old" if any(key in keys for key in ASYNC_OLD) else ""


def _conditions(evidence: Evidence, logs: Logs, facts: Mapping[str, Fact], asynchronous: str) -> Conditions:
    config = evidence.config
    world, batch, group = world_size(config), generation_batch(config), facts.get("group_size")
    cap = facts.get("response_cap")
    conditions = Conditions(
        asynchronous=asynchronous,
        world=int(world.value) if world is not None else None,
        gathered_over_local=any((value(v, CLIPPED) or 0.0) < 0 for v in logs.values()),
        zero_counted=any(steps.counted_as_zero(v) for v in logs.values()),
        batch=int(batch.value) if batch is not None and not asynchronous else None,
        group=int(group.value) if group is not None else None,
        cap=int(cap.value) if cap is not None else None,
        served=steps_per_generation(config),
    )
    return replace(conditions, evaluation_group=number(config, "num_generations_eval") or conditions.group)


def _version(evidence: Evidence, keys: Sequence[str], conditions: Conditions) -> str | None:
    if "mark.swift" in evidence.hints:
        return values.text(evidence.config.get("version.trl"))
    unsloth = "version.unsloth" in evidence.config or {"completion_length", "completions/mean_length"} <= set(
        keys
    )
    return version_of(
        keys, evidence.config, gathered_over_local=conditions.gathered_over_local, complete=not unsloth
    )


def _trainer(evidence: Evidence, keys: Sequence[str], asynchronous: str) -> str | None:
    """The trainer's class, as far as settings, model card or keys tell it."""
    if "mark.swift" in evidence.hints:
        return "ms-swift GRPOTrainer"
    saved = evidence.config.get("args_class")
    if isinstance(saved, str) and saved.endswith("Config"):
        return f"{saved.removesuffix('Config')}Trainer"
    if asynchronous:
        return "AsyncGRPOTrainer"
    method = {"grpo": "GRPOTrainer", "rloo": "RLOOTrainer", "ppo": "PPOTrainer"}.get(
        str(evidence.config.get("method"))
    )
    if method is not None:
        return method
    if any(key.startswith("objective/") for key in keys):
        return "PPOTrainer or a relative"
    return None


def _notes(
    evidence: Evidence,
    logs: Logs,
    rows: Mapping[int, Mapping[str, Any]],
    covered: Mapping[int, Window],
    conditions: Conditions,
    clocked: steps.Clocked | None,
) -> Iterator[str]:
    if evidence.hints.get("steps") == "counted":
        yield "no progress bar and no step number in this log: steps are the order of the metric dicts"
    several = [s for s, w in covered.items() if w.generations > 1]
    if several and conditions.asynchronous != "new":
        if any(value(logs[s], MAX) is not None for s in several):
            yield (
                f"each log covers several generations ({max(covered[s].generations for s in several):g}): "
                "completions/max_length is the mean of their longest, min_length that of their shortest, so "
                "steps have no longest and shortest response (logging_steps=1 would bring them)"
            )
        if any(w.steps > 1 for w in covered.values()):
            yield "values are means over the steps between two logs (logging_steps=1 gives each step its own)"
    lost = [s for s, w in covered.items() if not w.whole]
    if lost:
        yield f"logs are missing before step{'s' if len(lost) > 1 else ''} {', '.join(map(str, lost[:5]))}"
    reuse = [s for s in logs if not generated(logs[s])]
    if reuse and not conditions.asynchronous:
        yield f"{len(reuse)} of {len(logs)} steps train on completions that an earlier step generated"
        yield from _reuse_times(rows, reuse)
    if clocked is not None:
        shared = "; steps between two bars share their mean" if clocked == "shared" else ""
        yield f"step_s is from the progress bar, which counts whole seconds{shared}"
    elif not conditions.asynchronous and any(value(own, "step_time") is not None for own in logs.values()):
        yield (
            "step_time is the first process's: it holds the waiting for the others, and leaves out the "
            "optimizer step, data loading, evaluation and saving"
        )
    if conditions.asynchronous == "old":
        yield "queue_wait_time_s is a mean per sample, so the trainer's waiting time per step is not known"
    if local_mean(logs):
        yield "completion_length is the mean of the first process alone; completions/mean_length is used"


def _tracked_notes(rows: Mapping[int, Mapping[str, Any]], clocked: Sequence[int]) -> Iterator[str]:
    if clocked:
        yield (
            f"step_s of {len(clocked)} steps is the time from log to log by the tracker's clock: "
            "TRL logged no step_time"
        )
    if any("generate_s" in row for row in rows.values()):
        yield "generate_s is what the first process's timer counted (profiling/Time taken)"


def _reuse_times(rows: Mapping[int, Mapping[str, Any]], reuse: Sequence[int]) -> Iterator[str]:
    again = [rows[s]["step_s"] for s in reuse if "step_s" in rows[s]]
    fresh = [row["step_s"] for s, row in rows.items() if s not in reuse and "step_s" in row]
    if again and fresh:
        yield (
            f"steps that generate take {median(fresh):.3g} s, those that do not {median(again):.3g} s "
            "(medians): the difference is generation and scoring"
        )
