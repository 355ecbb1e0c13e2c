"""A log cut into stretches: from one start of the trainer to its end, its crash, or the next start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rollprof.adapters.trl.events import Event, Logged
from rollprof.adapters.trl.logdict import Value
from rollprof.adapters.trl.progress import Bar

Kind = Literal["train", "eval", "end"]


@dataclass(slots=True)
class Stretch:
    """Events of one stretch in order; bars are those over training steps only. `finished`: the summary
    that ends training is in it."""

    events: list[Event] = field(default_factory=list)
    finished: bool = False

    @property
    def logged(self) -> list[Logged]:
        return [e for e in self.events if isinstance(e, Logged)]


def kind_of(values: dict[str, Value]) -> Kind:
    """A training dict, an evaluation, or the summary printed when training is over."""
    if "train_loss" in values or ("train_runtime" in values and "loss" not in values):
        return "end"
    if "loss" not in values and any(key.startswith("eval_") for key in values):
        return "eval"
    return "train"


def stretches(events: Sequence[Event]) -> list[Stretch]:
    """The stretches of a log that hold metrics, oldest first.

    A new one begins with the first training dict after the summary, after the training bar started over,
    or after the epoch fell back. A bar that falls back and is followed by the old one was an evaluation's.
    """
    totals = _training_totals(events)
    out = [Stretch()]
    reached: Bar | None = None
    suspects: list[Event] = []
    epoch = 0.0
    for event in events:
        if isinstance(event, Bar):
            if event.total not in totals:
                continue
            if reached is not None and (event.done < reached.done or event.elapsed < reached.elapsed):
                suspects.append(event)
                continue
            reached = event
            suspects.clear()
        elif isinstance(event, Logged) and kind_of(event.values) == "train":
            now = event.values.get("epoch")
            back = isinstance(now, float) and now < epoch
            epoch = now if isinstance(now, float) else epoch
            if suspects or back or out[-1].finished:
                out.append(Stretch(list(suspects)))
                reached = next((e for e in reversed(suspects) if isinstance(e, Bar)), None)
                suspects.clear()
        out[-1].events.append(event)
        if isinstance(event, Logged) and kind_of(event.values) == "end":
            out[-1].finished = True
    return [s for s in out if s.logged]


def _training_totals(events: Sequence[Event]) -> set[int]:
    """Totals of the bars over training steps.

    Evaluation draws bars without a name too. The training bar spans them all, so up to each summary the
    total that was shown for the longest time counts.
    """
    totals: set[int] = set()
    longest: dict[int, int] = {}
    for event in [*events, None]:
        if isinstance(event, Bar):
            longest[event.total] = max(longest.get(event.total, -1), event.elapsed)
        elif event is None or (isinstance(event, Logged) and kind_of(event.values) == "end"):
            if longest:
                totals.add(max(longest, key=lambda total: (longest[total], total)))
            longest = {}
    return totals
