"""Numbers in a TRL log that are wrong, or contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollprof.adapters.base import Alarm, Evidence
from rollprof.adapters.trl.steps import Conditions
from rollprof.adapters.trl.vocabulary import CLIPPED, MEAN, value
from rollprof.adapters.trl.windows import Window

Logs = Mapping[int, Mapping[str, float]]
Rows = Sequence[Mapping[str, Any]]

TOKENS_OFF = 0.05
FEW_TOKENS = 2.0
REWARD_OFF = 0.01


def alarms_of(
    evidence: Evidence,
    logs: Logs,
    rows: Rows,
    windows: Mapping[int, Window],
    conditions: Conditions,
    short: Sequence[int],
) -> list[Alarm]:
    """What is wrong in this log. `short`: steps whose running total grew by less than their responses."""
    return [
        *_short(short, conditions),
        *_clipped(logs, conditions),
        *_zero_counted(logs, conditions),
        *_disorder(rows),
        *_against_dump(evidence, rows, windows),
    ]


def _clipped(logs: Logs, conditions: Conditions) -> Iterator[Alarm]:
    negative = {s: v for s, values in logs.items() if (v := value(values, CLIPPED)) is not None and v < 0}
    if not negative:
        return
    done = (
        f"corrected for {conditions.world} processes"
        if conditions.world is not None
        else "left out, since the number of processes is not known"
    )
    yield Alarm(
        "trl-negative-clipped-ratio",
        f"completions/clipped_ratio is negative: TRL 0.18.0 divides by the responses of one process; {done}",
        {"steps": len(negative), "lowest": min(negative.values())},
        handled=True,
    )


def _zero_counted(logs: Logs, conditions: Conditions) -> Iterator[Alarm]:
    if not conditions.zero_counted:
        return
    affected = [s for s, values in logs.items() if (value(values, CLIPPED) or 0) > 0]
    yield Alarm(
        "trl-truncated-counted-as-zero",
        "truncated responses count as 0 tokens in this log (mask_truncated_completions before TRL 0.18): "
        f"the lengths of {len(affected)} steps are left out",
        {"steps": len(affected), "first": min(affected, default=None)},
        handled=True,
    )


def _short(short: Sequence[int], conditions: Conditions) -> Iterator[Alarm]:
    if short:
        yield Alarm(
            "trl-batch-disagrees",
            f"step {short[0]}: num_tokens grew by less than {conditions.batch} responses of the mean length "
            "have: the batch size is that of another run",
            {"steps": len(short), "first": short[0], "responses": conditions.batch},
        )


def _disorder(rows: Rows) -> Iterator[Alarm]:
    """A mean outside its extremes."""
    for row in rows:
        mean, least, longest = (row.get(f"response_tokens_{k}") for k in ("mean", "min", "max"))
        if mean is None or (least is None and longest is None):
            continue
        slack = 1e-3 * mean + 1e-9
        if (longest is not None and mean > longest + slack) or (least is not None and mean < least - slack):
            yield Alarm(
                "trl-lengths-disagree",
                f"step {row['step']}: the mean length {mean:g} lies outside of {least} to {longest}",
                {"step": row["step"], "mean": mean, "min": least, "max": longest},
            )
            return


def _against_dump(evidence: Evidence, rows: Rows, windows: Mapping[int, Window]) -> Iterator[Alarm]:
    """The dump of a step that holds one generation must agree with its log."""
    tokens: list[tuple[int, float, float]] = []
    rewards: list[tuple[int, float, float]] = []
    compared = 0
    for row in rows:
        summary = evidence.rollouts.get((row["step"], "train"))
        window = windows.get(row["step"])
        if (
            row.get("split") != "train"
            or summary is None
            or window is None
            or not 0 < window.generations <= 1
        ):
            continue
        if (row["step"], "eval") in evidence.rollouts:
            continue  # an evaluation took some of the rows' places
        compared += 1
        mean, reward = row.get("response_tokens_mean"), row.get("reward_mean")
        if mean and summary.tokens_mean is not None:
            off = abs(summary.tokens_mean - mean)
            if off > FEW_TOKENS and off > TOKENS_OFF * mean:
                tokens.append((row["step"], summary.tokens_mean, mean))
        if reward is None or summary.reward_mean is None:
            continue
        if abs(summary.reward_mean - reward) > REWARD_OFF * max(1.0, abs(reward)):
            rewards.append((row["step"], summary.reward_mean, reward))
    if 2 * len(tokens) > compared:
        step, counted, logged = tokens[0]
        yield Alarm(
            "trl-tokenizer-disagrees",
            f"step {step}: {counted:.1f} tokens per response by this tokenizer, {logged:.1f} in the log: "
            "the wrong one, or text that does not encode back to what was sampled",
            {"steps": len(tokens), "counted": counted, "logged": logged},
        )
    if 2 * len(rewards) > compared:
        step, dumped, logged = rewards[0]
        yield Alarm(
            "trl-reward-disagrees",
            f"step {step}: the dump's mean reward is {dumped:.4g}, the log's {logged:.4g}",
            {"steps": len(rewards), "dump": dumped, "logged": logged},
        )


def local_mean(logs: Logs) -> bool:
    """Whether Unsloth's mean of the first process stands beside the true one and differs."""
    return any(
        (local := values.get("completion_length")) is not None
        and (mean := values.get(MEAN)) is not None
        and abs(local - mean) > 1e-6 * abs(mean)
        for values in logs.values()
    )
