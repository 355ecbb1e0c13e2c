"""Rows of `steps` from the logs of a run: one meaning per column, null where a key means another."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rollprof.adapters.trl.progress import ELAPSED
from rollprof.adapters.trl.vocabulary import (
    CLIPPED,
    GENERATE,
    MAX,
    MAX_TERMINATED,
    MEAN,
    MIN,
    REWARD,
    SINCE,
    SYNC,
    TOKENS,
    value,
)
from rollprof.adapters.trl.windows import Window

Values = Mapping[str, float]
Clocked = Literal["own", "shared"]
"""Step times from the progress bar: each from its own bars, or some from bars that lie further apart."""

Row = dict[str, Any]

GENERATIONS = "generations"
"""Beside the columns: generation batches that a row is the mean of, where it is more than one. A dump holds
the last of them, whose mean reward and length are others."""

SHORTEST_CLOCK = 10.0
"""Seconds that a window must take for the bar's whole seconds to say how long: an error of 10 % at most."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the rows of a run depend on.

    `asynchronous`: "" or the naming, "old" or "new". `world`: processes. `gathered_over_local`: the clipped
    ratio of 0.18.0. `zero_counted`: truncated responses count as 0 tokens (0.17 with
    mask_truncated_completions). `batch`: responses per generation. `served`: steps that a batch serves.
    """

    asynchronous: str = ""
    world: int | None = None
    gathered_over_local: bool = False
    zero_counted: bool = False
    batch: int | None = None
    group: int | None = None
    cap: int | None = None
    served: float | None = None
    evaluation_group: int | None = None


def train_row(step: int, values: Values, window: Window, conditions: Conditions) -> Row:
    """The row of a training log. `step_s` and tokens come from `add_times` and `add_tokens`."""
    row: Row = {"step": step, "split": "train"}
    row |= _lengths(values, window, conditions)
    row["reward_mean"] = value(values, "reward")
    if window.generations > 1:
        row[GENERATIONS] = window.generations
    if conditions.asynchronous:
        row |= _async_times(values, window, conditions)
    else:
        row["step_s"] = value(values, "step_time")
        if window.generations and conditions.batch is not None:
            row |= _counts(conditions)
    return {k: v for k, v in row.items() if v is not None}


def eval_row(step: int, values: Values, conditions: Conditions) -> Row | None:
    """The row of an evaluation; None where nothing was generated in it.

    Its lengths are means over batches of unknown number, so it has no extremes.
    """
    mean, reward = value(values, MEAN), value(values, "reward")
    if mean is None and reward is None:
        return None
    row: Row = {
        "step": step,
        "split": "eval",
        "response_tokens_mean": mean,
        "truncated_share": clipped_share(values, conditions),
        "reward_mean": reward,
        "eval_s": value(values, "runtime"),
    }
    speed = value(values, "samples_per_second")
    if row["eval_s"] and speed:
        row["prompts"] = round(row["eval_s"] * speed)
        if conditions.evaluation_group:
            row["rollouts"] = row["prompts"] * conditions.evaluation_group
            if conditions.batch and row["rollouts"] > conditions.batch:
                row[GENERATIONS] = row["rollouts"] / conditions.batch
    return {k: v for k, v in row.items() if v is not None}


def counted_as_zero(values: Values) -> bool:
    """Whether truncated responses went into the lengths as 0 tokens: the shortest has none, and the longest
    is the longest of those that ended by themselves."""
    clipped, least = value(values, CLIPPED), value(values, MIN)
    longest, ended = value(values, MAX), value(values, MAX_TERMINATED)
    return bool(clipped and clipped > 0) and least == 0 and longest is not None and longest == ended


def clipped_share(values: Values, conditions: Conditions) -> float | None:
    """Share of truncated responses.

    0.18.0 logs 1 - T/(N/W): T of the N responses of all W processes ended by themselves, divided by those
    of one. 1 - (1 - x)/W gives the share back.
    """
    share = value(values, CLIPPED)
    if share is None:
        return None
    if conditions.gathered_over_local:
        if conditions.world is None:
            return None
        share = 1 - (1 - share) / conditions.world
    return share if -1e-6 <= share <= 1 + 1e-6 else None


def _lengths(values: Values, window: Window, conditions: Conditions) -> Row:
    share = clipped_share(values, conditions)
    row: Row = {"truncated_share": share}
    if conditions.zero_counted and (share is None or share > 0):
        return row
    row["response_tokens_mean"] = value(values, MEAN)
    least, longest = value(values, MIN), value(values, MAX)
    if conditions.asynchronous == "new" or window.single:
        row["response_tokens_min"], row["response_tokens_max"] = least, longest
        return row
    # A mean of extremes that lies on the bound of all values is an extreme: all of them lie there.
    if least == 1:
        row["response_tokens_min"] = least
    if longest is not None and longest == conditions.cap:
        row["response_tokens_max"] = longest
    return row


def _counts(conditions: Conditions) -> Row:
    """Responses of the step: a batch that serves several steps counts where it was generated, a step that
    takes several batches takes all."""
    rollouts = round((conditions.batch or 0) * rounds(conditions.served))
    row: Row = {"rollouts": rollouts}
    if conditions.group and rollouts % conditions.group == 0:
        row["prompts"] = rollouts // conditions.group
    return row


def rounds(served: float | None) -> float:
    """Generations that one optimizer step takes; 1 where a generation serves one step or several."""
    return 1 / served if served is not None and served < 1 else 1.0


def _async_times(values: Values, window: Window, conditions: Conditions) -> Row:
    """AsyncGRPO. `step_time` of 1.10 is forward and backward alone; `queue_wait_time_s` is per sample."""
    if conditions.asynchronous == "old":
        return {
            "step_s": value(values, "iteration_time_s"),
            "weight_sync_s": value(values, "weight_sync_time_s"),
        }
    step_s, wait = value(values, "perf/step_s"), value(values, "perf/rollout_wait_s")
    compute, optimizer = value(values, "perf/fwd_bwd_s"), value(values, "perf/optimizer_s")
    row: Row = {
        "step_s": step_s,
        "wait_s": wait,
        "update_s": None if compute is None else compute + (optimizer or 0.0),
        "weight_sync_s": value(values, "perf/weight_sync_s"),
        "rollout_s_mean": value(values, "rollout/duration_s"),
        "staleness_max": value(values, "sample/staleness_max"),
        "tokens_total": value(values, "batch/forwarded_tokens_per_step"),
    }
    # The first step has a wait but no duration: a window that holds it mixes the two.
    first = window.since == 0 and window.steps > 1
    if step_s and wait is not None and wait <= step_s and not first:
        row["trainer_idle"] = wait / step_s
    return row


def add_clock(
    rows: Mapping[int, Row], logs: Mapping[int, Values], windows: Mapping[int, Window]
) -> Clocked | None:
    """Step times from the training bar where TRL logged none: the mean between the bars around a window.

    The bar counts whole seconds from the start of this launch; differences that go back (a resume) or are
    too short to mean anything give none.
    """
    clock = {step: values[ELAPSED] for step, values in logs.items() if ELAPSED in values}
    if min(clock, default=0) == 1:
        clock[0] = 0.0
    drawn = sorted(clock)
    taken: Clocked | None = None
    for step, row in rows.items():
        before, after = bisect_right(drawn, windows[step].since), bisect_left(drawn, step)
        if "step_s" in row or before == 0 or after == len(drawn):
            continue
        start, end = drawn[before - 1], drawn[after]
        spent = clock[end] - clock[start]
        if spent >= SHORTEST_CLOCK:
            row["step_s"] = spent / (end - start)
            wider = (start, end) != (windows[step].since, step)
            taken = "shared" if wider or taken == "shared" else "own"
    return taken


def add_timers(
    rows: Mapping[int, Row], logs: Mapping[int, Values], windows: Mapping[int, Window]
) -> list[int]:
    """Times that only trackers have: the first process's timers, as means over the steps of a window, and
    the time from log to log where TRL logged no `step_time`. Returns the steps that got the latter.

    It holds checkpoints that were saved between the logs; a time that holds an evaluation is not there.
    """
    clocked: list[int] = []
    for step, row in rows.items():
        steps, said = windows[step].steps, logs[step]
        for column, key in (("generate_s", GENERATE), ("reward_s", REWARD), ("weight_sync_s", SYNC)):
            seconds = value(said, key)
            if seconds is not None:
                row[column] = seconds / steps
        since = value(said, SINCE)
        if "step_s" not in row and since is not None and windows[step].whole:
            row["step_s"] = since / steps
            clocked.append(step)
    return clocked


def add_tokens(
    rows: Mapping[int, Row],
    logs: Mapping[int, Values],
    windows: Mapping[int, Window],
    conditions: Conditions,
    *,
    counted: bool,
) -> list[int]:
    """Tokens of a row's generation from the running total `num_tokens` (of all generations of a step that
    takes several), and mean prompt lengths from what is left when the responses are taken out.

    A total that was printed with four digits is not differenced. Tool tokens are in the total but not in
    the lengths, so runs with tools have no prompt lengths. Returns the steps whose responses alone are more
    than the total grew by: then the number of responses is not that of this run.
    """
    contradictory: list[int] = []
    totals = {step: total for step in rows if (total := value(logs[step], TOKENS)) is not None}
    exact = _exact(totals)
    first = next(iter(totals), 0)
    # A log that starts in the middle, or that does not say where, has no difference for its first entry.
    before = None if counted or (totals and windows[first].since) else 0.0
    for step, total in totals.items():
        row, window = rows[step], windows[step]
        spent = total - before if step in exact and before is not None and window.whole else None
        before = total if step in exact else None
        if spent is None or spent <= 0 or window.generations <= 0:
            continue
        row["tokens_total"] = spent / max(1.0, window.generations) * rounds(conditions.served)
        mean = row.get("response_tokens_mean")
        tools = any(key.startswith("tools/") for key in logs[step])
        if conditions.batch and mean is not None and not tools:
            prompt = spent / (conditions.batch * window.generations) - mean
            if prompt > 0:
                row["prompt_tokens_mean"] = prompt
            elif prompt < -1e-3 * mean:
                contradictory.append(step)
    return contradictory


def _exact(totals: Mapping[int, float]) -> set[int]:
    """Steps whose total was not printed with four digits: one beside another that has more than four. (One
    below 10,000 is exact itself, and says nothing of its neighbours.)"""
    steps = list(totals)
    short = [float(f"{totals[s]:.4g}") == totals[s] for s in steps]
    return {
        s
        for i, s in enumerate(steps)
        if not short[i] or not all(short[max(0, i - 1) : i + 2]) or (totals[s] < 1e4)
    }
