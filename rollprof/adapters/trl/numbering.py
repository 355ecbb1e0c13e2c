"""Which step each metric dict belongs to: the dict itself does not say.

In the order in which they are believed: a `global_step/max_steps` entry (ms-swift); the panel of completions
printed after the dict; the progress bar, which is drawn again, at the step of the dict, right after it and
mostly right before it; the epoch, which grows in proportion to the step. What remains is filled in evenly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from rollprof.adapters.trl.events import Logged
from rollprof.adapters.trl.progress import Bar, Panel
from rollprof.adapters.trl.stretches import Kind, Stretch, kind_of

PROGRESS_KEY = "global_step/max_steps"
_FRACTION = re.compile(r"^\s*(\d{1,9})\s*/\s*\d{1,9}\s*$")

ROUNDED_EPOCH = 0.00501
"""transformers 4 prints two decimals of the epoch."""
FOUR_DIGITS = 5.1e-4


@dataclass(slots=True)
class Entry:
    """A metric dict on its way to a step.

    `before` and `after` are the steps of the nearest bars, `beside` that of a bar which stands before it
    on the same physical line, `panel` the step of the panel that follows it; `exact` once it is known.
    """

    logged: Logged
    kind: Kind
    before: int | None = None
    after: int | None = None
    beside: int | None = None
    panel: int | None = None
    exact: int | None = None
    step: int = 0

    @property
    def epoch(self) -> float | None:
        value = self.logged.values.get("epoch")
        return value if isinstance(value, float) and value > 0 else None


@dataclass(frozen=True, slots=True)
class Numbered:
    """Entries with their steps. `counted`: nothing in the log tells steps, so the dicts were counted."""

    entries: list[Entry]
    counted: bool


def number_entries(stretch: Stretch) -> Numbered:
    """The entries of a stretch, each with its step."""
    entries = _entries(stretch)
    train = [e for e in entries if e.kind == "train"]
    _from_own(entries)
    _from_panels(entries)
    _from_bars(train)
    _drop_disorder(train)
    counted = not any(e.exact is not None for e in train)
    slope = _epoch_slope(train)
    if slope is not None:
        _from_epochs(train, slope)
        _drop_disorder(train)
    _fill(train)
    _place_others(entries, slope)
    return Numbered(entries, counted)


def _entries(stretch: Stretch) -> list[Entry]:
    out: list[Entry] = []
    last: Bar | None = None
    waiting: list[Entry] = []
    for event in stretch.events:
        if isinstance(event, Bar):
            for entry in waiting:
                entry.after = event.done
            waiting.clear()
            last = event
        elif isinstance(event, Panel):
            if out and out[-1].panel is None:
                out[-1].panel = event.step
        else:
            entry = Entry(event, kind_of(event.values))
            if last is not None:
                entry.before = last.done
                entry.beside = last.done if last.offset == event.offset else None
            out.append(entry)
            waiting.append(entry)
    return out


def _from_own(entries: Sequence[Entry]) -> None:
    for entry in entries:
        own = entry.logged.values.get(PROGRESS_KEY)
        match = _FRACTION.match(own) if isinstance(own, str) else None
        entry.exact = int(match.group(1)) if match is not None else None


def _from_panels(entries: Sequence[Entry]) -> None:
    """Panels count where they rise with the dicts and fit the bars: AsyncGRPO numbers them by groups."""
    told = [e for e in entries if e.panel is not None and e.kind != "end"]
    steps = [e.panel or 0 for e in told]
    fits = all(
        (e.before or 0) <= step <= (step if e.after is None else e.after)
        for e, step in zip(told, steps, strict=True)
    )
    if fits and all(a <= b for a, b in pairwise(steps)):
        for entry, step in zip(told, steps, strict=True):
            entry.exact = step if entry.exact is None else entry.exact


def _from_bars(train: Sequence[Entry]) -> None:
    """Bars around the dicts.

    A whole log draws the bar anew after each dict. In a shortened one the bar before may be all that is
    left, and of several dicts before one bar only the last is its.
    """
    redrawn = any(e.before == e.after and e.before is not None for e in train)
    beside = not redrawn and any(e.beside for e in train)
    for entry, following in zip_longest(train, train[1:]):
        if entry.exact is not None:
            continue
        if beside:
            entry.exact = entry.beside or None
        elif entry.after and not (following is not None and following.before == entry.before):
            entry.exact = entry.after


def _drop_disorder(train: Sequence[Entry]) -> None:
    """Steps that do not rise are no steps."""
    last = 0
    for entry in train:
        if entry.exact is not None and entry.exact <= last:
            entry.exact = None
        last = entry.exact or last


def _epoch_slope(train: Sequence[Entry]) -> float | None:
    """Epochs per step, from the exact entry that is furthest on."""
    known = [(e.exact, e.epoch) for e in train if e.exact and e.epoch is not None]
    if not known:
        return None
    step, epoch = max(known)
    return epoch / step


def _from_epochs(train: Sequence[Entry], slope: float) -> None:
    """The step that the epoch names, where its digits leave only one."""
    for entry in train:
        epoch = entry.epoch
        if entry.exact is not None or epoch is None:
            continue
        room = FOUR_DIGITS * epoch if entry.logged.quoted else ROUNDED_EPOCH
        low, high = int(-(-(epoch - room) // slope)), int((epoch + room) // slope)
        if low == high:
            entry.exact = low


def _fill(train: Sequence[Entry]) -> None:
    """Steps for the entries between exact ones: one stride apart, never out of order."""
    stride = _stride(train)
    before, gap = 0, list[Entry]()
    for entry in [*train, None]:
        if entry is not None and entry.exact is None:
            gap.append(entry)
            continue
        end = entry.exact if entry is not None else None
        _fill_gap(gap, before, end, stride)
        gap = []
        if entry is not None and end is not None:
            entry.step = before = end


def _stride(train: Sequence[Entry]) -> int:
    """Steps from one training dict to the next: the commonest distance of exact neighbours, else 1."""
    steps = Counter(
        b.exact - a.exact for a, b in pairwise(train) if a.exact is not None and b.exact is not None
    )
    return steps.most_common(1)[0][0] if steps else 1


def _fill_gap(gap: Sequence[Entry], before: int, end: int | None, stride: int) -> None:
    """Number `gap`, which lies after step `before` and before `end` (None: nothing exact follows)."""
    count = len(gap)
    if end is None:
        first = max(before + stride, gap[0].before or 0) if gap else 0
    else:
        first = end - stride * count
        if first <= before:  # they do not fit one stride apart
            stride = max(1, (end - before) // (count + 1))
            first = before + stride
    for i, entry in enumerate(gap):
        entry.step = first + stride * i


def _place_others(entries: Sequence[Entry], slope: float | None) -> None:
    """An evaluation has the step of the training dict of the same epoch, else of its own epoch, else of the
    dict before it; the summary that of the last one."""
    train = [e for e in entries if e.kind == "train"]
    last = 0
    for entry in entries:
        if entry.kind == "train":
            last = entry.step
        elif entry.exact is not None:
            entry.step = entry.exact
        elif entry.kind == "end":
            entry.step = max(last, entry.before or 0)
        else:
            same = [t.step for t in train if t.epoch == entry.epoch is not None]
            guess = same[0] if same else round(entry.epoch / slope) if slope and entry.epoch else last
            entry.step = guess or last
