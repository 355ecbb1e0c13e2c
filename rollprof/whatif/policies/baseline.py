"""Synchronous training: a step ends with its longest rollout."""

from __future__ import annotations

import numpy as np

from rollprof.whatif.outcome import Outcome, Tally, use_of
from rollprof.whatif.policies.base import Parameters, Policy, nothing, once
from rollprof.whatif.setting import Setting


def play(setting: Setting, _parameters: Parameters) -> Outcome:
    """Every step drained to its end: `T = max(f_i + delay_i)`, then training."""
    w, tally = setting.workload, Tally()
    for r in setting.rounds(carry=False):
        rows = w.step_rows(r.step)
        drain = setting.drain(rows)
        time = float(setting.complete(drain, rows).max(initial=0.0))
        seen = drain.at(time)
        kept = w.lengths[rows]
        total = int(kept.sum())
        tally.add(
            r.index,
            time,
            time + setting.trainer.seconds(total) + setting.trainer.sync,
            generated=total,
            kept=kept,
            by_age=np.array([float(total)]),
            prompts=len(w.step_groups(r.step)),
            use=use_of(drain, seen, time),
        )
    return tally.outcome(lost=setting.lost_tokens)


BASELINE = Policy(
    name="baseline",
    doc="synchronous: the step ends with its longest rollout",
    parameters=(),
    needs=nothing,
    scan=once,
    play=play,
    off_policy=0.0,
)
