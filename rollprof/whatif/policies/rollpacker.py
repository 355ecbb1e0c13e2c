"""Tail batching (RollPacker): short rounds take what finishes first, long rounds what was put off."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rollprof.model.schedule import Ints
from rollprof.whatif.outcome import Outcome, Tally, use_of
from rollprof.whatif.policies.april import needs
from rollprof.whatif.policies.base import Parameter, Parameters, Policy
from rollprof.whatif.policies.racing import EXTRA, extra, over_provisioned, race, redrawn
from rollprof.whatif.setting import Setting, Stream
from rollprof.whatif.workload import ranges


def play(setting: Setting, parameters: Parameters) -> Outcome:
    """Short rounds launch `eta_p*P0` prompts and `eta_r*R0` responses of each, and take the first P0 prompts
    with their first R0 responses; the others start anew in a long round, once P0 of them have gathered.

    With `eta_r` above 1 the log's own responses are the over-provisioned launch, and the baseline has the
    first R0 of them.
    """
    eta_p = ROLLPACKER.number(parameters, "eta_p")
    w, tally = setting.workload, Tally()
    kept_sizes = setting.reference.group_sizes if setting.reference is not None else w.group_sizes
    stream = Stream(w, -setting.warm_up % w.n_steps)
    waiting = np.zeros(0, np.int64)
    for r in setting.rounds(carry=True):
        wanted = len(w.step_groups(r.step))
        if len(waiting) >= wanted:
            _long(setting, tally, r.index, waiting[:wanted], kept_sizes)
            waiting = waiting[wanted:]
            continue
        groups = stream.take(extra(eta_p, wanted))
        won = race(setting, groups, wanted, kept_sizes[groups])
        lengths = w.lengths[won.kept]
        trained = int(lengths.sum())
        tally.add(
            r.index,
            won.time,
            won.time + setting.trainer.seconds(trained) + setting.trainer.sync,
            generated=won.tokens,
            kept=lengths,
            by_age=np.array([float(trained)]),
            dropped=won.tokens - trained,
            prompts=len(won.won),
            use=won.use,
        )
        waiting = np.concatenate([waiting, np.delete(groups, won.won)])
    return tally.outcome(carries=True, lost=setting.lost_tokens)


def _long(setting: Setting, tally: Tally, index: int, groups: Ints, kept_sizes: Ints) -> None:
    w = setting.workload
    rows = ranges(w.first[groups], w.first[groups] + kept_sizes[groups])
    drain = setting.drain(rows)
    time = float(setting.complete(drain, rows).max())
    lengths = w.lengths[rows]
    trained = int(lengths.sum())
    tally.long_rounds += index >= 0
    tally.add(
        index,
        time,
        time + setting.trainer.seconds(trained) + setting.trainer.sync,
        generated=trained,
        kept=lengths,
        by_age=np.array([float(trained)]),
        prompts=len(groups),
        use=use_of(drain, drain.at(time), time),
    )


def sub_sample(setting: Setting, parameters: Parameters) -> Setting:
    """The setting whose log is the over-provisioned launch."""
    eta_r = ROLLPACKER.number(parameters, "eta_r")
    if eta_r <= 1:
        return setting
    return over_provisioned(setting, ROLLPACKER, parameters, eta_r)


def scan(setting: Setting) -> Sequence[Parameters]:
    """A quarter more prompts, responses where the log has enough of them, and both."""
    found: list[Parameters] = [{"eta_p": 1.25, "eta_r": 1.0}, {"eta_p": 1.5, "eta_r": 1.0}]
    if np.median(setting.workload.group_sizes) >= 4:
        found += [{"eta_p": 1.0, "eta_r": 1.25}, {"eta_p": 1.25, "eta_r": 1.25}]
    return found


ROLLPACKER = Policy(
    name="rollpacker",
    doc="tail batching: short rounds take the first to finish, put-off prompts share long rounds",
    parameters=(
        Parameter("eta_p", 1.25, "prompts launched over prompts needed", at_least=1),
        Parameter("eta_r", 1.0, "responses launched over responses needed", at_least=1),
        EXTRA,
    ),
    needs=needs,
    scan=scan,
    play=play,
    prepare=sub_sample,
    caution=redrawn,
    carries=True,
    off_policy=0.0,
    placement_like=True,
)
