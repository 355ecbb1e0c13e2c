"""Samples of engines joined to steps: by the clock where both have one, else by order and length; or not at
all.

A join that does not hold is refused: figures of the wrong step are worse than none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rollprof.curves.windows import Window

Floats = NDArray[np.float64]

QUARTER = 900.0
"""Time zones differ by multiples of this."""
FARTHEST = 14 * 3600.0
WITHIN = 0.5
"""Share of a window that must lie in the generation of its step."""
HOLDS = 0.8
"""Share of the windows' time within generation phases from which a join holds."""
CLEARLY = 1.25
"""How much better another time zone must be than none at all."""
SAME_LENGTH = 0.25
"""Median difference of a window from its step's generation call, as a share, up to which they are the
same."""
MOST_SKEW = 120.0
"""Clocks of one cluster that are further apart than this are not set at all."""
NOTHING_RAN = "the engines' samples hold no generation"
SURE = 3
"""Steps that must agree on how far the clocks are apart before one of them is moved."""
SKEWS, JUDGED = 8, 24
LOOKED_AT, FEW = 400, 40
"""Windows from which zones and skews are proposed, and by which proposals are ranked; the likeliest are then
judged by all."""
LONGER = 1.15
"""A window longer than its step's generation call by more than this is not part of it."""


@dataclass(frozen=True, slots=True)
class Span:
    """When a step generated, as its own clock has it; NaN where that is unknown.

    `exact` is false where only the whole step's time is known; `own` where its rollouts' own times say it.
    """

    step: int
    start: float
    end: float
    generate_s: float
    exact: bool
    own: bool = False


@dataclass(frozen=True, slots=True)
class Join:
    """`steps[k]` is the step of window k, None for one outside of any step.

    `how`: alone, clock, order, or "" where it was refused and `why` says so. `zone_s` and `corrected_s` were
    added to the engines' clock: a time zone that it does not name, and a clock that is wrong. `skew_s` is how
    much later than the steps' clock it sees generation end, the correction included.
    """

    steps: tuple[int | None, ...]
    how: str
    why: str = ""
    zone_s: float = 0.0
    skew_s: float | None = None
    corrected_s: float = 0.0
    notes: tuple[str, ...] = field(default=())

    @property
    def moved_s(self) -> float:
        """What was added to the engines' clock altogether."""
        return self.zone_s + self.corrected_s


def alone(windows: Sequence[Window]) -> Join:
    """The windows themselves are the steps, numbered from 1."""
    if not windows:
        return Join((), "", NOTHING_RAN)
    return Join(tuple(range(1, len(windows) + 1)), "alone")


def spans_of(rows: Sequence[Mapping[str, object]], rollouts: Mapping[int, tuple[float, float]]) -> list[Span]:
    """The generation phases of training steps: from the rollouts' own times, else from when steps were logged
    and how long they and their generation took."""
    found = []
    for row in rows:
        if row.get("split", "train") == "eval":
            continue
        step = int(_number(row["step"]))
        logged, whole, took = (_number(row.get(n)) for n in ("logged_at", "step_s", "generate_s"))
        if step in rollouts:
            found.append(Span(step, *rollouts[step], took, exact=True, own=True))
        elif logged > 0 and whole > 0:
            start = logged - whole
            found.append(Span(step, start, start + took if took > 0 else logged, took, exact=took > 0))
        else:
            found.append(Span(step, math.nan, math.nan, took, exact=False))
    return found


def join(windows: Sequence[Window], spans: Sequence[Span], *, local: bool, tick: float) -> Join:
    """Windows joined to steps. `local`: the engines' clock names no zone."""
    nothing = tuple(None for _ in windows)
    if not windows:
        return Join(nothing, "", NOTHING_RAN)
    timed = [s for s in spans if s.end > s.start]
    if timed:
        return _by_clock(windows, timed, local=local, tick=tick)
    if any(s.generate_s > 0 for s in spans):
        return _by_order(windows, spans, tick)
    return Join(
        nothing, "", "the steps have neither a clock nor generation times to join samples of engines by"
    )


def _by_clock(windows: Sequence[Window], spans: Sequence[Span], *, local: bool, tick: float) -> Join:
    zones = _zones(windows, spans) if local else [0.0]
    zone, skew, share = 0.0, 0.0, _inside(windows, spans, 0.0)
    if local and share < HOLDS:
        best = max(zones, key=lambda z: (_inside(windows, spans, z), -abs(z)))
        if _inside(windows, spans, best) > CLEARLY * share:
            zone, share = best, _inside(windows, spans, best)
    if share < HOLDS:
        zone, skew, share = _skewed(windows, spans, zones, tick) or (zone, skew, share)
    steps = tuple(_steps_at(windows, spans, zone + skew))
    nothing = tuple(None for _ in windows)
    if share < HOLDS:
        hint = " (--tz names the zone of its clock)" if local else ""
        why = f"only {share:.0%} of the engines' busy time lies within generation by the clock{hint}"
        return Join(nothing, "", why)
    why = _too_long(windows, steps, spans, tick)
    if why:
        return Join(nothing, "", why)
    late = _late(windows, steps, spans, zone + skew)
    if not skew and _own(spans, tick, late):
        skew = -float(round(float(np.median(late))))
    return Join(
        steps,
        "clock",
        "",
        zone,
        float(np.median(_late(windows, steps, spans, zone))) if len(late) else None,
        skew,
        tuple(_said(zone, skew, len(late))),
    )


def _said(zone: float, skew: float, steps: int) -> list[str]:
    notes = [f"clock of the engines moved by {zone / 3600:+g} h: it names no zone"] if zone else []
    if skew:
        when = "later" if skew < 0 else "earlier"
        notes.append(
            f"clock of the engines moved by {skew:+g} s: generation ends that much {when} by it than by the "
            f"steps' clock (median of {steps} steps)"
        )
    return notes


def _own(spans: Sequence[Span], tick: float, late: Floats) -> bool:
    """Whether steps and engines see the same moments by clocks that are apart: the steps' times are those of
    the rollouts themselves, and all say the same."""
    if len(late) < SURE or not all(s.own for s in spans):
        return False
    middle = float(np.median(late))
    return abs(middle) > 2 * tick and float(np.median(np.abs(late - middle))) <= tick


def _skewed(
    windows: Sequence[Window], spans: Sequence[Span], zones: Sequence[float], tick: float
) -> tuple[float, float, float] | None:
    """(zone, seconds to add beside it, share inside) where the clocks are apart by the same time in every
    step; None where no such time makes the join hold, or more than one does."""
    proposed = sorted(
        ((z, s) for z in zones for s in _shifts(windows, spans, z, tick)),
        key=lambda p: -_inside(windows[:: max(1, len(windows) // FEW)], spans, p[0] + p[1]),
    )
    found: list[tuple[float, float, float]] = []
    for zone, shift in proposed[:JUDGED]:
        share = _inside(windows, spans, zone + shift)
        steps = _steps_at(windows, spans, zone + shift)
        late = _late(windows, steps, spans, zone + shift)
        steady = len(late) >= SURE and float(np.median(np.abs(late))) <= 2 * tick
        if share >= HOLDS and steady and _same_lengths(windows, steps, spans, tick):
            found.append((zone, shift, share))
    if not found:
        return None
    best = max(found, key=lambda f: (f[2], -abs(f[0]), -abs(f[1])))
    away = [f for f in found if abs(f[0] + f[1] - best[0] - best[1]) > 2 * tick]
    return None if any(best[2] < CLEARLY * f[2] for f in away) else best


def _same_lengths(
    windows: Sequence[Window], steps: Sequence[int | None], spans: Sequence[Span], tick: float
) -> bool:
    """Whether the engines were busy in a step for about as long as its generation took."""
    took = {s.step: s.end - s.start for s in spans if s.exact}
    busy: dict[int, float] = {}
    for w, step in zip(windows, steps, strict=True):
        if step is not None and step in took:
            busy[step] = busy.get(step, 0.0) + w.seconds
    errors = [abs(busy[s] - took[s]) / (took[s] + tick) for s in busy]
    return bool(errors) and float(np.median(errors)) <= SAME_LENGTH


def _shifts(windows: Sequence[Window], spans: Sequence[Span], zone: float, tick: float) -> list[float]:
    """Whole seconds by which the ends of many windows and steps are apart."""
    ends = np.sort(np.array([s.end for s in spans if s.exact]))
    if len(ends) < SURE:
        return []
    every = max(1, len(windows) // LOOKED_AT)
    mine = np.array([w.end for w in windows[::every]]) + zone
    first, last = np.searchsorted(ends, mine - MOST_SKEW), np.searchsorted(ends, mine + MOST_SKEW, "right")
    away = [e - m for m, a, b in zip(mine, first, last, strict=True) for e in ends[a:b]]
    if not away:
        return []
    wide = max(1.0, tick)
    cells, counts = np.unique(np.round(np.array(away) / wide), return_counts=True)
    likely = cells[np.argsort(-counts, kind="stable")][:SKEWS]
    return [float(round(c * wide)) for c in likely.tolist() if round(c * wide)]


def _zones(windows: Sequence[Window], spans: Sequence[Span]) -> list[float]:
    """Whole quarters of an hour that bring some window near some step's end, the likeliest few."""
    ends = np.array([s.end for s in spans])
    mine = np.array([w.end for w in windows[:: max(1, len(windows) // LOOKED_AT)]])
    away = np.round((ends[:, None] - mine[None, :]) / QUARTER).ravel() * QUARTER
    away = away[np.abs(away) <= FARTHEST]
    values, counts = np.unique(away, return_counts=True)
    return [0.0, *values[np.argsort(-counts, kind="stable")][:32].tolist()]


def _inside(windows: Sequence[Window], spans: Sequence[Span], moved: float) -> float:
    """Share of the windows' time, as far as the steps' log reaches, that lies in generation phases."""
    starts, ends = np.array([s.start for s in spans]), np.array([s.end for s in spans])
    low, high = float(starts.min()), float(ends.max())
    inside = total = 0.0
    for w in windows:
        start, end = w.start + moved, w.end + moved
        if end <= low or start >= high:
            continue
        total += end - start
        shared = np.minimum(end, ends) - np.maximum(start, starts)
        inside += float(shared[shared > 0].sum())
    return min(1.0, inside / total) if total > 0 else 0.0


def _steps_at(windows: Sequence[Window], spans: Sequence[Span], moved: float) -> list[int | None]:
    """The step in whose generation most of each window lies, None where less than half does."""
    starts, ends = np.array([s.start for s in spans]), np.array([s.end for s in spans])
    found: list[int | None] = []
    for w in windows:
        start, end = w.start + moved, w.end + moved
        shared = np.minimum(end, ends) - np.maximum(start, starts)
        best = int(shared.argmax())
        found.append(spans[best].step if shared[best] >= WITHIN * (end - start) else None)
    return found


def _too_long(
    windows: Sequence[Window], steps: Sequence[int | None], spans: Sequence[Span], tick: float
) -> str:
    """Why windows cannot be part of their steps: most last longer than the generation call did."""
    took = {s.step: s.generate_s for s in spans if s.generate_s > 0}
    busy: dict[int, float] = {}
    for w, step in zip(windows, steps, strict=True):
        if step in took and step is not None:
            busy[step] = busy.get(step, 0.0) + w.seconds
    longer = [step for step, seconds in busy.items() if seconds > LONGER * took[step] + tick]
    if busy and len(longer) > 0.5 * len(busy):
        return (
            f"the engines were busy longer than the step's generation took in {len(longer)} of {len(busy)} "
            "steps: these are not the engines of this run"
        )
    return ""


def _late(
    windows: Sequence[Window], steps: Sequence[int | None], spans: Sequence[Span], moved: float
) -> Floats:
    """By step: how much later its last window ends than its generation does by the step's clock."""
    ends = {s.step: s.end for s in spans if s.exact}
    last: dict[int, float] = {}
    for w, step in zip(windows, steps, strict=True):
        if step is not None and step in ends:
            last[step] = max(last.get(step, -math.inf), w.end + moved)
    return np.array([last[s] - ends[s] for s in last])


def _by_order(windows: Sequence[Window], spans: Sequence[Span], tick: float) -> Join:
    """Windows and steps one by one, where their lengths agree in one way and no other."""
    took = np.array([s.generate_s for s in spans])
    seconds = np.array([w.seconds for w in windows])
    errors = []
    for shift in range(len(seconds) - len(took) + 1) if len(seconds) >= len(took) else []:
        own = seconds[shift : shift + len(took)]
        known = took > 0
        errors.append((float(np.median(np.abs(own - took)[known] / (took[known] + tick))), shift))
    nothing = tuple(None for _ in windows)
    if not errors or min(errors)[0] > SAME_LENGTH:
        return Join(
            nothing,
            "",
            f"{len(windows)} generation windows of the engines and {len(spans)} steps without a clock, whose "
            "lengths do not agree",
        )
    ranked = sorted(errors)
    if len(ranked) > 1 and ranked[1][0] < 2 * ranked[0][0] + 0.02:
        return Join(nothing, "", "more than one way to lay the steps over the engines' generation windows")
    shift = ranked[0][1]
    steps: list[int | None] = [None] * len(windows)
    for k, s in enumerate(spans):
        steps[shift + k] = s.step
    return Join(tuple(steps), "order", notes=("steps and generation windows of the engines joined in order",))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
