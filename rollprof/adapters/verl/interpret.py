"""One run of verl in the schema's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rollprof.adapters.base import Evidence, Interpretation
from rollprof.adapters.verl.alarms import alarms_of
from rollprof.adapters.verl.facts import facts_of, group_size_of
from rollprof.adapters.verl.identities import first, logged_step_seconds
from rollprof.adapters.verl.reading import Reading, read_evidence
from rollprof.adapters.verl.steps import eval_row, several_rounds, train_row


def interpret(evidence: Evidence) -> Interpretation:
    """Steps, facts, release, trainer, and what is wrong or odd about this log."""
    reading = read_evidence(evidence)
    group = group_size_of(evidence, reading)
    size = int(group.value) if group is not None else None
    rows: list[Mapping[str, Any]] = []
    for step in sorted(evidence.metrics):
        metrics = evidence.metrics[step]
        for row in (train_row(step, metrics, reading, size), eval_row(step, metrics)):
            if row is not None:
                logged_at = evidence.times.get(step)
                rows.append(row if logged_at is None else {**row, "logged_at": logged_at})
    facts, alarms = facts_of(evidence, reading)
    return Interpretation(
        steps=rows,
        facts=facts,
        version=reading.span.text(),
        trainer=reading.trainer,
        alarms=[*alarms, *alarms_of(evidence, reading, rows, facts)],
        notes=list(_notes(evidence, reading, rows)),
    )


def _notes(evidence: Evidence, reading: Reading, rows: list[Mapping[str, Any]]) -> Iterator[str]:
    steps = evidence.metrics
    if reading.span.contradictory:
        yield "keys of several verl releases in one log: a fork or a development version"
    if reading.gen_means == "unknown":
        yield "timing_s/gen of the v1 trainer is generation or waiting, and this log does not show its mode"
    if reading.trainer == "v1" and reading.gen_means == "call":
        yield "the v1 trainer polls for finished rollouts every 1-2 s: generate_s is rounded up to that"
    if any(several_rounds(m) for m in steps.values()):
        yield (
            "steps that generated in several rounds log rollout times of the last round only: "
            "they have no rollout times here"
        )
    if reading.engine_name in ("sglang", "sglang_async") and any(
        "timing_s/generate_sequences" in m for m in steps.values()
    ):
        yield "SGLang's ranks wait for each other before they report: no engine times"
    generates = any("generate_s" in row for row in rows)
    if generates and reading.gen_means == "call" and reading.span.before((0, 7, 1)):
        yield "generate_s includes moving the weights to the engines in this release"
    scored = any((first(m, "timing_s/reward") or 1.0) < 1e-2 for m in steps.values())
    if reading.server_mode and scored and generates:
        yield "rewards were computed while rollouts ran: their time is inside generate_s, not in reward_s"
    if any((first(m, "response/aborted_ratio") or 0.0) > 0 for m in steps.values()):
        yield "aborted responses count as empty in verl's mean response length"
    if reading.trainer == "fully-async":
        yield "values are sums and means over the trainer steps of one model version"
    for row in rows:
        logged = logged_step_seconds(steps[row["step"]])
        if row["split"] == "train" and logged is not None and row.get("step_s", logged) > logged:
            yield "step_s includes evaluation and checkpoints, which timing_s/step leaves out in this release"
            break
    for name, what in (("rollout_skip", "verl's RolloutSkip was on: generation may have been replayed"),):
        if f"mark.{name}" in evidence.hints:
            yield what
