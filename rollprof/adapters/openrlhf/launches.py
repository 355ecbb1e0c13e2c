"""One start of the program: what it was told, the steps it logged, and what it said in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from rollprof.adapters.openrlhf.between import Between
from rollprof.adapters.openrlhf.curves import Call, CallReader
from rollprof.adapters.openrlhf.episodes import EpisodeReader
from rollprof.adapters.openrlhf.stepline import Pairs

Process = tuple[str, int]
"""Actor and pid."""


@dataclass(slots=True)
class Step:
    """A step line. `position` counts the lines of the log, `offset` its bytes; `wall_s` are the whole seconds
    since the step before, where a clock tells."""

    number: int
    position: int
    offset: int
    time: float | None
    pairs: Pairs
    said: Between
    wall_s: float | None = None


@dataclass(slots=True)
class Evaluation:
    """Results of an evaluation at a step; `seconds` are whole."""

    step: int
    offset: int
    time: float | None
    pairs: Pairs
    seconds: float | None = None


@dataclass(slots=True)
class Launch:
    """All of it. `windows` are positions between which a process evaluates, an open one without an end."""

    config: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    windows: list[tuple[Process, int, int | None]] = field(default_factory=list)
    bars: CallReader = field(default_factory=CallReader)
    episodes: EpisodeReader = field(default_factory=EpisodeReader)
    between: dict[Process, Between] = field(default_factory=dict)
    trainer: Process | None = None

    @property
    def begun(self) -> bool:
        """It logged a step or drew a bar."""
        return bool(self.steps or self.bars.calls or self.episodes.steps)

    def mark(self, name: str) -> None:
        self.hints[f"mark.{name}"] = "1"

    def said(self, process: Process) -> Between:
        """What `process` has said since its last step."""
        return self.between.setdefault(process, Between())

    def take_said(self, process: Process) -> Between:
        """The same, and forget it: its step is here."""
        return self.between.pop(process, Between())

    def open_window(self, process: Process, position: int) -> None:
        self.windows.append((process, position, None))

    def close_window(self, process: Process, position: int) -> None:
        for at in range(len(self.windows) - 1, -1, -1):
            who, start, end = self.windows[at]
            if who == process and end is None:
                self.windows[at] = (who, start, position)
                return

    def training_calls(self, what: str) -> list[Call]:
        """Bars called `what` that belong to training: not those drawn while an evaluation ran.

        A bar lies where its middle state lies: the two streams of a process reach the driver's log with
        different delays, so that ends of bars and log lines stand in any order.
        """
        return [c for c in self.bars.calls if c.what == what and not self._evaluates(c)]

    def _evaluates(self, call: Call) -> bool:
        return any(
            start < call.middle and (end is None or call.middle < end) for _, start, end in self.windows
        )


def number_walls(steps: Sequence[Step]) -> None:
    """Fill `wall_s`: the difference of the stamps of consecutive steps of one launch."""
    for before, step in pairwise(steps):
        if before.time is None or step.time is None or step.number != before.number + 1:
            continue
        if step.time >= before.time:
            step.wall_s = step.time - before.time
