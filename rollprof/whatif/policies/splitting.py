"""Sharing GPUs out between generation and training, for policies that do both at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rollprof.whatif.outcome import Outcome
from rollprof.whatif.policies.base import Parameters
from rollprof.whatif.setting import Setting

SCANNED_STEPS = 12
MOST_SPLITS = 7


def needs(setting: Setting, _parameters: Parameters) -> list[str]:
    """Training time, and GPUs that can be shared out."""
    found = []
    if not setting.trainer.known:
        found.append("how long training takes in a step")
    if not setting.trainer.apart and setting.engines.count < 2:
        found.append("two engines or more to share out between generation and training")
    return found


def split(setting: Setting, engines: int) -> Setting:
    """`engines` generate, the others' GPUs train; as it is where both sides have GPUs of their own."""
    trainer, count = setting.trainer, setting.engines.count
    if trainer.apart:
        return setting
    slower = count / (count - engines)
    return replace(
        setting,
        engines=replace(setting.engines, count=engines),
        trainer=replace(
            trainer, per_token=trainer.per_token * slower, apart=True, share=(count - engines) / count
        ),
    )


def best_split(setting: Setting, asked: int, play: Callable[[Setting], Outcome]) -> tuple[Setting, int]:
    """The split asked for, or the fastest of a scan on some of the steps; and how many engines generate."""
    count = setting.engines.count
    if setting.trainer.apart:
        return setting, count
    if asked:
        return split(setting, min(asked, count - 1)), min(asked, count - 1)
    choices = np.unique(np.linspace(1, count - 1, min(count - 1, MOST_SPLITS)).round().astype(int)).tolist()
    few = replace(
        setting, workload=setting.workload.head(SCANNED_STEPS), warm_up=4, fewest_rounds=1, tick=None
    )
    if setting.placement is not None:
        few = replace(setting, warm_up=4, fewest_rounds=1, tick=None)
    paces = [_pace(play(split(few, x))) for x in choices] if len(choices) > 1 else [0.0]
    chosen = choices[int(np.argmin(paces))]
    return split(setting, chosen), chosen


def split_note(setting: Setting, generating: int) -> tuple[str, ...]:
    """How the GPUs are shared out, where the policy decides it."""
    if setting.trainer.apart:
        return ()
    return (f"{generating} of {setting.engines.count} engines generate, the other GPUs train",)


def _pace(outcome: Outcome) -> float:
    """Seconds per trained token."""
    tokens = outcome.total("trained")
    return outcome.total("step_s") / tokens if tokens else float("inf")
