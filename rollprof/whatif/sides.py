"""Who waits in a whole step: the GPUs that generate, those that train, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass

from rollprof.model.schedule import Floats
from rollprof.whatif.outcome import Outcome
from rollprof.whatif.setting import Trainer


@dataclass(frozen=True, slots=True)
class Sides:
    """The trainer of a replay, and whether it trains while the engines generate (`overlapped`)."""

    trainer: Trainer
    overlapped: bool

    def idle(
        self, effective: Floats, generate_s: Floats, step_s: Floats, trained: Floats, rounds: Floats
    ) -> dict[str, Floats]:
        """`step_idle`, and on separate GPUs `trainer_idle` and `rollout_idle`, of sums over rounds.

        `effective` is the idle fraction of the engines, while they generate or, overlapped, all the time. On
        common GPUs everything but generation counts as busy; on separate ones the sides are weighted by
        their GPUs, and without their number there is no `step_idle`. None of them without training times.
        """
        trainer = self.trainer
        if not trainer.known:
            return {}
        if not trainer.apart:
            return {"step_idle": effective * generate_s / step_s}
        waits = 1.0 - (trainer.per_token * trained + trainer.sync * rounds) / step_s
        rollout = effective if self.overlapped else 1.0 - (1.0 - effective) * generate_s / step_s
        found = {"trainer_idle": waits, "rollout_idle": rollout}
        if trainer.share is not None:
            found["step_idle"] = trainer.share * waits + (1.0 - trainer.share) * rollout
        return found


def sides_of(outcome: Outcome, trainer: Trainer) -> Sides:
    """Those of a replay; `trainer` where the policy did not share GPUs out itself."""
    return Sides(outcome.trainer or trainer, overlapped=not outcome.barrier)
