"""Steps told by the `Episode` bar alone: until 0.8.0 there is no step line, and the bar's postfix holds the
status of each step with three significant digits.

`Episode [2/3]:  50%|█████     | 6/12 [10:04<…, policy_loss=-0.01, reward=0.5, response_length=512]`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rollprof.adapters.openrlhf.bars import Bar
from rollprof.adapters.openrlhf.between import Between

_OLD_TRAINER = "ActorModelRayActor"
"""Until 0.7.0 the bar belongs to this actor, and a tick is a step even where no postfix is shown."""


@dataclass(slots=True)
class EpisodeStep:
    """A step that a bar counted: the `done`-th of its episode; `elapsed` is the bar's whole seconds."""

    number: int
    episode: int
    done: int
    elapsed: int
    position: int
    offset: int
    pairs: Mapping[str, float] = field(default_factory=dict)
    said: Between = field(default_factory=Between)


class EpisodeReader:
    """Takes the states of the bar in order.

    A step's status is shown twice, before and after the bar counts it, so that the step's number is the
    larger of the two counts.
    """

    def __init__(self) -> None:
        self.steps: list[EpisodeStep] = []

    def add(self, bar: Bar, actor: str, position: int, offset: int) -> EpisodeStep | None:
        """Take one state of the bar; the step where it is the first state of one."""
        if bar.total is None or not (bar.extra or actor == _OLD_TRAINER):
            return None
        done = max(bar.done, 1 if bar.extra else 0)
        if done == 0:
            return None
        episode = bar.part or 1
        last = self.steps[-1] if self.steps else None
        if last is not None and last.episode == episode and done >= last.done:
            if dict(bar.extra) == last.pairs and (bar.extra or done == last.done):
                last.number += done - last.done
                last.done, last.elapsed, last.position = done, bar.elapsed, position
                return None
            if bar.extra and done == last.done:
                done += 1
        number = (episode - 1) * bar.total + done
        fresh = EpisodeStep(number, episode, done, bar.elapsed, position, offset, dict(bar.extra))
        self.steps.append(fresh)
        return fresh
