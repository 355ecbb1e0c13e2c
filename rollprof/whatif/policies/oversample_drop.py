"""Launch more, keep the first to finish, throw the rest away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rollprof.whatif.outcome import Outcome, Tally
from rollprof.whatif.policies.base import Parameter, Parameters, Policy
from rollprof.whatif.policies.racing import EXTRA, extra, over_provisioned, race, redrawn
from rollprof.whatif.setting import Setting, Stream


def play(setting: Setting, parameters: Parameters) -> Outcome:
    """`unit=prompt`: `factor*N` prompts, the first N to be complete are trained. `unit=response`: each prompt
    has `factor*n` responses, the first n are trained. What is dropped is never trained: the longest."""
    by_prompt = DROP.word(parameters, "unit") == "prompt"
    factor = DROP.number(parameters, "factor") if by_prompt else 1.0
    w, tally = setting.workload, Tally()
    kept_sizes = w.group_sizes
    if not by_prompt and setting.reference is not None:
        kept_sizes = setting.reference.group_sizes
    stream = Stream(w, 0)
    for r in setting.rounds(carry=False):
        wanted = len(w.step_groups(r.step))
        groups = stream.take(extra(factor, wanted))
        won = race(setting, groups, wanted, kept_sizes[groups])
        lengths = w.lengths[won.kept]
        trained = int(lengths.sum())
        tally.starved += len(groups) - len(won.won)
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
    return tally.outcome(lost=setting.lost_tokens)


def sub_sample(setting: Setting, parameters: Parameters) -> Setting:
    """For `unit=response`, the setting whose log is the over-provisioned launch."""
    factor = DROP.number(parameters, "factor")
    if DROP.word(parameters, "unit") != "response" or factor <= 1:
        return setting
    return over_provisioned(setting, DROP, parameters, factor)


def needs(setting: Setting, _parameters: Parameters) -> list[str]:
    """Groups: prompts or responses of one prompt are counted."""
    return [] if setting.workload.grouped else ["which rollouts belong to one prompt"]


def scan(setting: Setting) -> Sequence[Parameters]:
    """A quarter more of either."""
    found: list[Parameters] = [{"factor": 1.25, "unit": "prompt"}]
    if np.median(setting.workload.group_sizes) >= 4:
        found.append({"factor": 1.25, "unit": "response"})
    return found


DROP = Policy(
    name="oversample-drop",
    doc="launch more, keep the first to finish, drop the rest",
    parameters=(
        Parameter("factor", 1.25, "launched over needed", at_least=1),
        Parameter("unit", "prompt", "what is over-sampled", ("prompt", "response")),
        EXTRA,
    ),
    needs=needs,
    scan=scan,
    play=play,
    prepare=sub_sample,
    caution=redrawn,
    off_policy=0.0,
)
