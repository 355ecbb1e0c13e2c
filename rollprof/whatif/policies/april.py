"""Over-provisioned partial rollouts (APRIL): launch more, stop at enough, go on with the rest first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rollprof.whatif.outcome import Outcome, Tally, use_of
from rollprof.whatif.policies.base import Parameter, Parameters, Policy
from rollprof.whatif.policies.carried import Carried
from rollprof.whatif.setting import Setting, Stream


def play(setting: Setting, parameters: Parameters) -> Outcome:
    """`ceil(over*N)` groups in flight, those of the buffer first; the step ends when the N-th is complete.

    Tokens of the others are kept, and decoding goes on in the next step; a group of which some rollouts are
    complete waits for the others.
    """
    w, tally = setting.workload, Tally()
    over = APRIL.number(parameters, "over")
    flight, stream = Carried(w), Stream(w, -setting.warm_up % w.n_steps)
    for r in setting.rounds(carry=True):
        flight.new_version()
        wanted = len(w.step_groups(r.step))
        flight.launch(stream.take(max(0, math.ceil(over * wanted - 1e-9) - len(flight))))
        active = np.flatnonzero(flight.left > 0)
        rows, done = flight.row[active], flight.done[active]
        drain = setting.drain(rows, done=done)
        times = flight.group_times(active, setting.complete(drain, rows))
        time = float(np.partition(times, wanted - 1)[wanted - 1])
        seen = drain.at(time)
        flight.advance(active, seen.tokens)
        # one that is complete by then, of equally fast ones the oldest
        ready = np.sort(np.argsort(times, kind="stable")[:wanted])
        kept, by_age = flight.take(ready)
        tally.add(
            r.index,
            time,
            time + setting.trainer.seconds(float(kept.sum())) + setting.trainer.sync,
            generated=seen.decoded,
            kept=kept,
            by_age=by_age,
            prompts=len(ready),
            use=use_of(drain, seen, time),
        )
    return tally.outcome(carries=True, buffered=flight.buffered, lost=setting.lost_tokens)


def needs(setting: Setting, _parameters: Parameters) -> list[str]:
    """Groups: the step ends when whole groups are complete."""
    return [] if setting.workload.grouped else ["which rollouts belong to one prompt"]


def scan(_setting: Setting) -> Sequence[Parameters]:
    """A quarter, a half and twice as many."""
    return [{"over": over} for over in (1.25, 1.5, 2.0)]


APRIL = Policy(
    name="april",
    doc="over-provision prompts, stop at enough complete ones, go on with the rest first",
    parameters=(Parameter("over", 1.5, "prompts in flight over prompts trained, N'/N", at_least=1),),
    needs=needs,
    scan=scan,
    play=play,
    carries=True,
)
