"""Dynamic sampling (DAPO): groups whose rewards are all equal are dropped, and others generated instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rollprof.whatif.outcome import Outcome, Tally, Use, use_of
from rollprof.whatif.policies.base import Parameter, Parameters, Policy
from rollprof.whatif.policies.carried import Carried
from rollprof.whatif.policies.racing import extra
from rollprof.whatif.setting import Round, Setting, Stream
from rollprof.whatif.workload import Workload

MOST_ROUNDS = 50
"""Generation rounds of one step at most: a run with hardly a mixed group would never end."""


def play(setting: Setting, parameters: Parameters) -> Outcome:
    """Until N groups with different rewards are complete. `mode=rounds`: whole synchronous rounds of
    `oversample*N` groups, surplus groups discarded. `mode=stream`: as soon as one is dropped, `refill*N` more
    are submitted; what is unfinished when the N-th is complete is aborted."""
    tally = Tally()
    mixed = setting.workload.mixed()
    if mixed is None:
        raise ValueError("dynamic sampling needs rewards")
    stream = Stream(setting.workload, 0)
    one = _stream if DAPO.word(parameters, "mode") == "stream" else _rounds
    for r in setting.rounds(carry=False):
        one(setting, parameters, tally, r, stream, mixed)
    return replace(
        tally.outcome(lost=setting.lost_tokens), notes=(_kept_and_dropped(setting.workload, mixed),)
    )


def _kept_and_dropped(w: Workload, mixed: NDArray[np.bool_]) -> str:
    """What dropping groups does to the lengths, in the log itself."""
    kept = np.repeat(mixed, w.group_sizes)
    parts = []
    for name, lengths in (("kept", w.lengths[kept]), ("dropped", w.lengths[~kept])):
        if len(lengths):
            p99 = float(np.quantile(lengths, 0.99, method="inverted_cdf"))
            parts.append(f"{name} mean {lengths.mean():,.0f}, P99 {p99:,.0f}")
    return (
        f"tokens of responses: {'; '.join(parts)}; {100 * float(mixed.mean()):.0f} % of the groups are kept"
    )


def _rounds(
    setting: Setting,
    parameters: Parameters,
    tally: Tally,
    r: Round,
    stream: Stream,
    mixed: NDArray[np.bool_],
) -> None:
    w = setting.workload
    wanted = len(w.step_groups(r.step))
    time, generated, use = 0.0, 0, Use()
    found: list[int] = []
    for _ in range(MOST_ROUNDS):
        groups = stream.take(extra(DAPO.number(parameters, "oversample"), wanted))
        rows = w.rows(groups)
        drain = setting.drain(rows)
        took = float(setting.complete(drain, rows).max())
        seen = drain.at(took)
        time, generated, use = time + took, generated + seen.decoded, use + use_of(drain, seen, took)
        found += groups[mixed[groups]].tolist()
        if len(found) >= wanted:
            break
    tally.starved += max(0, len(found) - wanted)
    _train(setting, tally, r, time, generated, found[:wanted], use)


def _stream(
    setting: Setting,
    parameters: Parameters,
    tally: Tally,
    r: Round,
    stream: Stream,
    mixed: NDArray[np.bool_],
) -> None:
    w = setting.workload
    wanted = len(w.step_groups(r.step))
    chunk = max(1, math.ceil(DAPO.number(parameters, "refill") * wanted - 1e-9))
    flight = Carried(w)
    flight.launch(stream.take(extra(DAPO.number(parameters, "oversample"), wanted)), setting.engines.count)
    clock, generated, use, submitted = 0.0, 0, Use(), 0
    found: list[int] = []
    while True:
        submitted += 1
        active = np.flatnonzero(flight.left > 0)
        rows, done = flight.row[active], flight.done[active]
        drain = setting.drain_on(rows, done, flight.engine[active], fixed_cost=submitted == 1)
        times = flight.group_times(active, setting.complete(drain, rows))
        time, won, lost = _until(times, mixed[flight.group], wanted - len(found))
        if submitted >= MOST_ROUNDS / DAPO.number(parameters, "refill"):
            won = np.flatnonzero(mixed[flight.group])[: wanted - len(found)]
            time, lost = float(times.max()), np.zeros(0, np.intp)
        seen = drain.at(time)
        flight.advance(active, seen.tokens)
        clock, generated, use = clock + time, generated + seen.decoded, use + use_of(drain, seen, time)
        found += flight.group[won].tolist()
        if len(found) >= wanted or not len(lost):
            break
        flight.take(np.concatenate([won, lost]))
        flight.launch(stream.take(chunk), setting.engines.count)
    tally.starved += int(mixed[np.delete(flight.group, won)].sum())
    _train(setting, tally, r, clock, generated, found, use)


def _until(
    times: NDArray[np.float64], mixed: NDArray[np.bool_], wanted: int
) -> tuple[float, NDArray[np.intp], NDArray[np.intp]]:
    """When the `wanted`-th mixed group is complete, or too few groups are left for it: the time, and the
    positions of the mixed and of the other groups complete by then."""
    order = np.argsort(times, kind="stable")
    good = np.cumsum(mixed[order])
    ahead = len(order) - np.arange(1, len(order) + 1)
    enough, short = good >= wanted, good + ahead < wanted
    at = int(np.argmax(enough | short))
    by_then = order[: at + 1]
    return float(times[order[at]]), by_then[mixed[by_then]], by_then[~mixed[by_then]]


def _train(
    setting: Setting, tally: Tally, r: Round, time: float, generated: int, found: list[int], use: Use
) -> None:
    w = setting.workload
    lengths = w.lengths[w.rows(np.asarray(found, dtype=np.int64))]
    trained = int(lengths.sum())
    tally.add(
        r.index,
        time,
        time + setting.trainer.seconds(trained) + setting.trainer.sync,
        generated=generated,
        kept=lengths,
        by_age=np.array([float(trained)]),
        dropped=generated - trained,
        prompts=len(found),
        use=use,
    )


def needs(setting: Setting, _parameters: Parameters) -> list[str]:
    """Rewards of groups, of which some are equal and some are not."""
    mixed = setting.workload.mixed()
    if not setting.workload.grouped:
        return ["which rollouts belong to one prompt"]
    if mixed is None:
        return ["rewards of rollouts"]
    if not mixed.any():
        return ["a prompt whose rewards differ: this log has none"]
    if mixed.all():
        return ["the groups that were dropped: this log has only groups whose rewards differ"]
    return []


def scan(_setting: Setting) -> Sequence[Parameters]:
    """Both modes."""
    return [{"mode": "rounds"}, {"mode": "stream"}]


DAPO = Policy(
    name="dapo",
    doc="dynamic sampling: drop groups whose rewards are all equal, generate others instead",
    parameters=(
        Parameter("mode", "rounds", "how the batch is filled up", ("rounds", "stream")),
        Parameter("oversample", 1.0, "groups of a round over groups trained", at_least=1),
        Parameter("refill", 0.25, "groups per refill over groups trained (stream)", at_least=0.01),
    ),
    needs=needs,
    scan=scan,
    play=play,
    off_policy=0.0,
    informative=True,
)
