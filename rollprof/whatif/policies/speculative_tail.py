"""Speculative decoding while the batch is small: the tail runs faster, and samples the same."""

from __future__ import annotations

from dataclasses import replace

from rollprof.model.interrupt import Speculation
from rollprof.whatif.policies.base import Parameter, Parameters, Policy, nothing, once
from rollprof.whatif.setting import Setting


def change(setting: Setting, parameters: Parameters) -> Setting:
    """Steps with at most `on` running rollouts are faster, by `s1` at one and `s32` at `on`."""
    number = SPECULATIVE.number
    speculation = Speculation(
        number(parameters, "s1"), number(parameters, "s32"), int(number(parameters, "on"))
    )
    return replace(setting, engines=replace(setting.engines, speculation=speculation))


SPECULATIVE = Policy(
    name="speculative-tail",
    doc="speculative decoding while few rollouts run",
    parameters=(
        Parameter("s1", 3.62, "speed-up with one rollout running", at_least=1),
        Parameter("s32", 1.70, "speed-up with `on` rollouts running", at_least=1),
        Parameter("on", 32, "rollouts per engine below which it is used", at_least=1),
    ),
    needs=nothing,
    scan=once,
    change=change,
    off_policy=0.0,
    order=3,
)
