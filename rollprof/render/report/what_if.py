"""What published remedies would gain on this run, at what price, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rollprof.render.numbers import percent, plural, seconds
from rollprof.render.report.layout import axis, layout
from rollprof.render.report.model import Block, Cell, Item, Items, Paragraph, Plot, Section, Table
from rollprof.render.report.words import without_empty
from rollprof.render.whatif_words import (
    NO_REMEDY,
    best_of_each,
    calibrated,
    label,
    steps_replayed,
    unanswered,
)
from rollprof.whatif.enable import options_of
from rollprof.whatif.results import Advice, Interval, PolicyResult, WhatIf

_QUESTION = "The same rollouts replayed under published remedies: what each would gain, and at what price."
_HEAD = (
    "policy",
    "speed-up",
    "95 % interval",
    "if the cost is off",
    "useful tokens/s",
    "off-policy",
    "dropped",
    "trained/all length",
    "trade-off",
)
_FRONT = "best"
_BEYOND = "over the limit"


def what_if(found: WhatIf | str | None) -> Section | None:
    """The section; with a sentence in place of the replays, that they were refused, and why."""
    if found is None:
        return None
    if isinstance(found, str):
        return Section("whatif", "What if", _QUESTION, (Paragraph(f"Not replayed: {found}."),))
    answered = [p for p in found.policies if p.speedup is not None]
    blocks: list[Block] = [Paragraph(_baseline(found))]
    if found.calibration.rough:
        blocks.append(Paragraph(f"Rough: {found.calibration.rough}."))
    plot = _plot(found, [p for p in answered if p.name != "baseline"])
    if plot is not None:
        blocks.append(plot)
    best = best_of_each(answered)
    more = ". ".join((_legend(found), *unanswered(found.policies))) + "."
    blocks.append(_table(best, "Each policy with its best parameters", more))
    if len(answered) > len(best):
        blocks.append(_table(answered, "All parameters that were replayed", folded=True))
    blocks += _advice(found)
    blocks += [Paragraph(f"{note[:1].upper()}{note[1:]}.", quiet=True) for note in found.notes]
    return Section("whatif", "What if", _QUESTION, tuple(blocks))


def _baseline(found: WhatIf) -> str:
    b = found.baseline
    took = ""
    if b.step_s is not None:
        took = f" takes {seconds(b.step_s)} {'a step' if found.whole_step else 'of generation a step'} and"
    size = f"{steps_replayed(found)}, {plural(found.rollouts, 'rollout')}, "
    size += plural(found.engines, "engine") + (f" of {plural(found.slots, 'slot')}" if found.slots else "")
    cost = calibrated(found.calibration)
    return (
        f"Replayed: {size}. The simulated synchronous run{took} leaves idle: engines "
        f"{percent(b.engine_idle)}, effective {percent(b.effective_idle)}, slots {percent(b.slot_idle)}. "
        f"{cost[:1].upper()}{cost[1:]}."
    )


def _legend(found: WhatIf) -> str:
    what = "the whole step" if found.whole_step else "generation"
    return (
        f"Speed-up of {what}; useful tokens are those that are trained; trade-off {_FRONT}: nothing "
        "gains more useful tokens at as little off-policy share and length bias"
    )


def _table(shown: Sequence[PolicyResult], caption: str, more: str = "", *, folded: bool = False) -> Table:
    return without_empty(Table(_HEAD, tuple(_row(p) for p in shown), caption, more, folded))


def _row(p: PolicyResult) -> tuple[Cell, ...]:
    base = p.name == "baseline"
    mark = _FRONT if p.pareto else "" if p.within_limits else _BEYOND
    words = (
        _times(p.speedup),
        "" if base else _ends(p.interval),
        "" if base else _ends(p.range),
        _times(p.useful_gain),
        _share(p.off_policy_share),
        _share(p.dropped_share),
        "" if p.length_bias is None else f"{p.length_bias:.2f}",
    )
    return (Cell(label(p)), *(Cell(word, "number") for word in words), Cell(mark, "text"))


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}x"


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _plot(found: WhatIf, shown: Sequence[PolicyResult]) -> Plot | None:
    """Speed-up against off-policy share; what is drawn is in the tables, so the plot needs none."""
    known = [p for p in shown if p.off_policy_share is not None]
    if not known:
        return None
    best = {id(p) for p in best_of_each(known)}
    groups = (
        ("other parameters", [p for p in known if not p.pareto and id(p) not in best], "@n4", False),
        ("best parameters", [p for p in known if not p.pareto and id(p) in best], "@n2", True),
        ("best trade-off", [p for p in known if p.pareto], "@work", True),
    )
    sides = _sides([p for _, points, _, named in groups if named for p in points])
    spec = {
        "data": [
            _points(name, points, color, sides if named else {})
            for name, points, color, named in groups
            if points
        ],
        "layout": layout(
            400,
            showlegend=True,
            hovermode="closest",
            margin={"l": 58, "r": 90, "t": 30, "b": 44},
            xaxis=axis("trained tokens that are off-policy", range=[-0.04, 1.04], tickformat=".0%"),
            yaxis=axis(
                "speed-up of the whole step" if found.whole_step else "speed-up of generation", ticksuffix="x"
            ),
        ),
    }
    return Plot("whatif", "Speed-up against off-policy share", {"": spec}, _reading(known))


NEAR = (0.2, 0.045)
"""Shares of the plot's width and height within which the names of two points would overlap."""


def _sides(points: Sequence[PolicyResult]) -> dict[int, str]:
    """Where each point's name stands, by identity: beside it, and apart from that of a neighbour."""
    placed = sorted(points, key=lambda p: p.speedup or 0.0)
    heights = [p.speedup or 0.0 for p in points] or [0.0]
    close = NEAR[1] * max(max(heights) - min(heights), 0.1)
    sides: dict[int, str] = {}
    for at, p in enumerate(placed):
        x, y = p.off_policy_share or 0.0, p.speedup or 0.0
        near = [
            (q.speedup or 0.0, i)
            for i, q in enumerate(placed)
            if q is not p
            and abs((q.off_policy_share or 0.0) - x) < NEAR[0]
            and abs((q.speedup or 0.0) - y) < close
        ]
        level = "middle" if not near else "top" if max(near) < (y, at) else "bottom"
        sides[id(p)] = f"{level} {'left' if x > 0.9 else 'right'}"
    return sides


def _points(
    name: str, points: Sequence[PolicyResult], color: str, sides: Mapping[int, str]
) -> dict[str, Any]:
    ends = [p.interval or (p.speedup or 0.0, p.speedup or 0.0) for p in points]
    return {
        "type": "scatter",
        "mode": "markers+text" if sides else "markers",
        "name": name,
        "x": [p.off_policy_share for p in points],
        "y": [p.speedup for p in points],
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [max(high - (p.speedup or 0.0), 0.0) for p, (_, high) in zip(points, ends, strict=True)],
            "arrayminus": [
                max((p.speedup or 0.0) - low, 0.0) for p, (low, _) in zip(points, ends, strict=True)
            ],
            "color": color,
            "thickness": 1,
            "width": 3,
        },
        "marker": {"color": color, "size": 10 if sides else 6},
        "text": [f" {p.name}" if sides else "" for p in points],
        "textposition": [sides.get(id(p), "middle right") for p in points],
        "textfont": {"size": 11, "color": "@ink"},
        "customdata": [label(p) for p in points],
        "hovertemplate": "%{customdata}: %{y:.2f}x, %{x:.0%} off-policy<extra></extra>",
        "cliponaxis": False,
    }


def _reading(known: Sequence[PolicyResult]) -> str:
    """The fastest with its price, and the one that trains most: what throws work away is not the same."""
    fastest = max(known, key=lambda p: p.speedup or 0.0)
    useful = max(known, key=lambda p: p.useful_gain or 0.0)
    words = f"Fastest: {_with_price(fastest)}."
    if useful is not fastest:
        words += f" Most useful tokens per second: {_with_price(useful)}."
    return f"{words} Up and to the left is better, but dropped tokens and length bias are in the table only."


def _with_price(p: PolicyResult) -> str:
    words = f"{label(p)}, {_times(p.speedup)} at {_share(p.off_policy_share)} off-policy"
    if p.dropped_share:
        words += f" and {_share(p.dropped_share)} dropped"
    return words + ("" if p.useful_gain is None else f", useful tokens {_times(p.useful_gain)}")


def _advice(found: WhatIf) -> Iterator[Block]:
    remark, remedies = found.advice[:1], found.advice[1:]
    yield from (Paragraph(a.text) for a in remark)
    if remedies:
        yield Items(tuple(Item("worth a try", a.text, _enable(a, found.framework)) for a in remedies))
    else:
        yield Paragraph(NO_REMEDY)


def _enable(advice: Advice, framework: str) -> str:
    """The option of the run's own framework; those of others where it has none, or is none of them."""
    shown = options_of(advice.enable, framework)
    return "; ".join(f"{name}: {option}" for name, option in shown.items())
