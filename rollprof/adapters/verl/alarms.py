"""Traps of verl met in a log, and numbers that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rollprof.adapters.base import Alarm, Evidence, Fact, RolloutSummary
from rollprof.adapters.verl.dumps import extras_aligned, steps_per_version
from rollprof.adapters.verl.identities import first
from rollprof.adapters.verl.reading import Reading

Row = Mapping[str, Any]
TOLERANCE = 0.01
"""Relative; a sum of timers may exceed the timer around it by what the clocks do in between."""


def alarms_of(
    evidence: Evidence, reading: Reading, rows: Iterable[Row], facts: Mapping[str, Fact]
) -> list[Alarm]:
    """All alarms of a run, each kind once."""
    train = [r for r in rows if r["split"] == "train"]
    return [
        *_clip_ratio(evidence, reading),
        *_model_length(reading, facts),
        *_contradictions(train),
        *_dump(evidence, reading, train),
        *_rollouter(evidence, reading),
    ]


def _clip_ratio(evidence: Evidence, reading: Reading) -> Iterator[Alarm]:
    steps = [s for s, m in evidence.metrics.items() if (first(m, "response_length/clip_ratio") or 0.0) > 0]
    if not steps or reading.clip_ratio_holds is True:
        return
    if reading.clip_ratio_holds is False:
        text = (
            "response_length/clip_ratio of the v1 trainer counts the responses as long as the longest of the "
            "batch, not those at the cap: no truncated share from it"
        )
    else:
        text = (
            "response_length/clip_ratio means the share at the cap in one trainer and something else in the "
            "v1 trainer, and this log does not say which wrote it: no truncated share from it"
        )
    yield Alarm("clip-ratio-v1", text, {"steps": len(steps)}, handled=True)


def _model_length(reading: Reading, facts: Mapping[str, Fact]) -> Iterator[Alarm]:
    limit = reading.config.get("actor_rollout_ref.rollout.max_model_len")
    prompt, cap = reading.config.get("data.max_prompt_length"), facts.get("response_cap")
    if (
        not isinstance(limit, int)
        or not isinstance(prompt, int)
        or cap is None
        or limit >= prompt + cap.value
    ):
        return
    yield Alarm(
        "max-model-len-binds",
        f"max_model_len {limit} ends responses before max_response_length {cap.value} can: "
        "verl counts such responses as not truncated",
        {"max_model_len": limit, "max_prompt_length": prompt, "max_response_length": cap.value},
    )


def _contradictions(train: list[Row]) -> Iterator[Alarm]:
    def beyond(inner: str, outer: str) -> list[Row]:
        return [
            r
            for r in train
            if r.get(inner) is not None
            and r.get(outer) is not None
            and r[inner] > r[outer] * (1 + TOLERANCE) + 0.01
        ]

    for inner, outer, what in (
        ("rollout_s_max", "generate_s", "the slowest rollout took longer than the generation it is part of"),
        ("engine_s_max", "generate_s", "an engine took longer than the generation it is part of"),
        ("generate_s", "step_s", "generation took longer than the step it is part of"),
    ):
        found = beyond(inner, outer)
        if found:
            worst = max(found, key=lambda r: r[inner] - r[outer])
            yield Alarm(
                f"{_dashed(inner)}-beyond-{_dashed(outer)}",
                f"{what} in {len(found)} of {len(train)} steps (step {worst['step']}: "
                f"{worst[inner]:.6g} s against {worst[outer]:.6g} s)",
                {"steps": len(found), "step": worst["step"], inner: worst[inner], outer: worst[outer]},
            )


def _dump(evidence: Evidence, reading: Reading, train: list[Row]) -> Iterator[Alarm]:
    """The rollout dump against the metrics."""
    if not any(split == "train" for _, split in evidence.rollouts):
        return
    if reading.trainer == "fully-async":
        if steps_per_version(reading.config) is not None:
            return  # the mapper renumbers them
        yield Alarm(
            "dump-steps-differ",
            "the dump is numbered by trainer step and the metrics by model version: their steps differ",
        )
        return
    if reading.trainer == "dapo" and not extras_aligned(reading.config):
        yield Alarm(
            "dapo-extras-misaligned",
            "the DAPO recipe dumps reward extras in another order than the responses (filtered and balanced "
            "in between): they are not used",
            handled=True,
        )
    counts: list[tuple[int, int, int]] = []
    rewards: list[tuple[int, float, float]] = []
    for row in train:
        summary: RolloutSummary | None = evidence.rollouts.get((row["step"], "train"))
        if summary is None:
            continue
        logged = row.get("rollouts")
        if logged is not None and logged != summary.rollouts:
            counts.append((row["step"], summary.rollouts, logged))
        reward = row.get("reward_mean")
        if reward is None or summary.reward_mean is None:
            continue
        if abs(reward - summary.reward_mean) > 1e-3 + 1e-3 * abs(reward):
            rewards.append((row["step"], summary.reward_mean, reward))
    if counts:
        step, dumped, wanted = counts[0]
        yield Alarm(
            "dump-incomplete" if dumped < wanted else "dump-larger",
            f"the dump has {dumped} responses of step {step}, the metrics say {wanted} "
            f"({len(counts)} such steps)",
            {"step": step, "dumped": dumped, "logged": wanted, "steps": len(counts)},
        )
    elif rewards:
        step, dumped_mean, logged_mean = rewards[0]
        yield Alarm(
            "score-overwritten",
            f"the dumped scores of step {step} average {dumped_mean:.4g}, the trainer's {logged_mean:.4g}: "
            "the reward function's own score stands in the dump, not what was trained on",
            {"step": step, "dumped": dumped_mean, "logged": logged_mean, "steps": len(rewards)},
            handled=True,
        )


def _rollouter(evidence: Evidence, reading: Reading) -> Iterator[Alarm]:
    if reading.trainer != "fully-async":
        return
    idle = [
        value
        for m in evidence.metrics.values()
        if (value := first(m, "fully_async/rollouter/idle_ratio", "rollouter/idle_ratio")) is not None
    ]
    if idle and "rollouter_paused" in evidence.hints and max(idle) < 0.01:
        yield Alarm(
            "rollouter-idle-understated",
            "the rollouter's idle_ratio counts only its last pause and reads zero here, though its log says "
            f"that it paused ({evidence.hints['rollouter_paused']})",
            {"largest": max(idle)},
            handled=True,
        )


def _dashed(column: str) -> str:
    return column.replace("_s", "").replace("_", "-")
