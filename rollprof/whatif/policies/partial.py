"""Partial rollouts with a token budget per step (Kimi k1.5): what exceeds it goes on in the next step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rollprof.whatif.outcome import Outcome, Tally, use_of
from rollprof.whatif.policies.base import Parameter, Parameters, Policy, nothing
from rollprof.whatif.policies.carried import Carried
from rollprof.whatif.setting import Setting, Stream


def play(setting: Setting, parameters: Parameters) -> Outcome:
    """Every rollout decodes at most `budget` tokens a step; as many are in flight as the logged step had.

    A group is trained when its last rollout is complete; new groups fill the room that complete rollouts
    leave.
    """
    w, tally = setting.workload, Tally()
    budget = budget_of(setting, parameters)
    flight, stream = Carried(w), Stream(w, -setting.warm_up % w.n_steps)
    for r in setting.rounds(carry=True):
        flight.new_version()
        room = len(w.step_rows(r.step)) - int((flight.left > 0).sum())
        flight.launch(stream.fill(room))
        active = np.flatnonzero(flight.left > 0)
        rows, done = flight.row[active], flight.done[active]
        tokens = np.minimum(flight.left[active], budget)
        drain = setting.drain(rows, done=done, left=tokens)
        finish = np.where(tokens == flight.left[active], setting.complete(drain, rows), drain.finish)
        time = float(finish.max(initial=0.0))
        flight.advance(active, tokens)
        ready = flight.complete()
        kept, by_age = flight.take(ready)
        trained = float(kept.sum())
        train_s = setting.trainer.seconds(trained) + (setting.trainer.sync if len(ready) else 0.0)
        tally.add(
            r.index,
            time,
            time + train_s,
            generated=int(tokens.sum()),
            kept=kept,
            by_age=by_age,
            prompts=len(ready),
            use=use_of(drain, drain.at(time), time),
        )
    return tally.outcome(carries=True, buffered=flight.buffered, lost=setting.lost_tokens)


def budget_of(setting: Setting, parameters: Parameters) -> int:
    """The budget in tokens; by default half of the longest response."""
    given = int(PARTIAL.number(parameters, "budget"))
    return given or max(1, -(-int(setting.workload.lengths.max()) // 2))


def scan(setting: Setting) -> Sequence[Parameters]:
    """A half and a quarter of the longest response."""
    top = int(setting.workload.lengths.max())
    return [{"budget": max(1, -(-top // k))} for k in (2, 4)]


PARTIAL = Policy(
    name="partial",
    doc="partial rollouts: a token budget per step, unfinished ones go on in the next",
    parameters=(Parameter("budget", 0, "tokens per rollout and step (0: half the longest)", at_least=0),),
    needs=nothing,
    scan=scan,
    play=play,
    carries=True,
)
