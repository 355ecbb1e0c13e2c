"""One step off-policy: the next batch is generated while this one is trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rollprof.whatif.outcome import Outcome, Tally, use_of
from rollprof.whatif.policies.base import Parameter, Parameters, Policy, once
from rollprof.whatif.policies.splitting import best_split, needs, split_note
from rollprof.whatif.setting import Setting


def play(setting: Setting, parameters: Parameters) -> Outcome:
    """`T = max(T_generate(this batch), T_train(last batch)) + T_sync`, one batch in flight."""
    asked = int(ONE_STEP_OFF.number(parameters, "engines"))
    divided, generating = best_split(setting, asked, _overlapped)
    return replace(_overlapped(divided), notes=split_note(setting, generating), trainer=divided.trainer)


def _overlapped(setting: Setting) -> Outcome:
    w, tally, trainer = setting.workload, Tally(), setting.trainer
    last = float(w.lengths[w.step_rows(w.n_steps - 1)].sum())
    for r in setting.rounds(carry=False):
        rows = w.step_rows(r.step)
        drain = setting.drain(rows)
        time = float(setting.complete(drain, rows).max())
        wall = max(time, trainer.seconds(last)) + trainer.sync
        kept = w.lengths[rows]
        last = float(kept.sum())
        tally.add(
            r.index,
            time,
            wall,
            generated=int(last),
            kept=kept,
            by_age=np.array([0.0, last]),
            prompts=len(w.step_groups(r.step)),
            use=use_of(drain, drain.at(time), wall),
        )
    return tally.outcome(barrier=False, lost=setting.lost_tokens)


ONE_STEP_OFF = Policy(
    name="one-step-off",
    doc="generate for the next step while training on this one",
    parameters=(Parameter("engines", 0, "engines that generate (0: the best split)", at_least=0),),
    needs=needs,
    scan=once,
    play=play,
    off_policy=1.0,
)
