"""Straggler wait and idle, step by step, and who was last in the worst of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.analyzers.results import Analysis, Straggler
from rollprof.render.numbers import between, figure_percent, number
from rollprof.render.report.layout import MOST_BARS, axis, edge, layout, step_axis
from rollprof.render.report.model import Block, Cell, Plot, Quote, Section, Spec, Table
from rollprof.render.report.over_steps import curve, drawn, in_blocks, numbers
from rollprof.render.report.words import cell, figure_table, of_step, series, step_numbers, without_empty
from rollprof.stats.blocks import blocks

Texts = Mapping[int, tuple[str | None, str | None]]
"""Step -> prompt and response of its last rollout."""

_Worst = tuple[float | None, Straggler | None, int]
"""Wait of a step, its last rollout, its number."""

WAITS = (("straggler_wait_mean_s", "s"), ("straggler_wait_mean_tokens", "tokens"))
IDLE = (
    ("slot_idle", "decode slots empty", "@n3"),
    ("effective_idle", "what stragglers cost", "@accent-mid"),
    ("engine_idle", "engines dark", "@work"),
    ("trainer_idle", "trainer waiting", "@n3"),
    ("rollout_idle", "rollout side paused", "@work"),
    ("step_idle", "of the whole step", "@accent"),
    ("generation_idle", "of generation", "@accent-mid"),
)
"""Per-step idle figures, their names in the legend, colours."""
FIGURES = (
    "straggler_wait_mean_s",
    "straggler_wait_p50_s",
    "straggler_wait_max_s",
    "straggler_wait_mean_tokens",
    "straggler_wait_max_tokens",
    "tail_time_s",
    "tail_time_share",
    "decode_s_per_token",
    "engine_imbalance",
    "queue_share",
)
WORST = 10


def waiting(analysis: Analysis, texts: Texts) -> Section | None:
    """Both over the steps, the worst steps, the figures; None where nothing of it is known."""
    found: list[Block] = []
    plot = _plot(analysis)
    if plot is not None:
        found.append(plot)
    worst = _worst(analysis)
    if worst:
        found.append(_worst_table(analysis, worst))
        found += _quotes(worst, texts)
    table = figure_table(analysis, FIGURES, "Waiting over the run")
    if table is not None:
        found.append(table)
    if not found:
        return None
    question = (
        "How long a rollout that is done waits for the last one of its step, and which share of the GPUs "
        "that leaves idle."
    )
    return Section("waiting", "Straggler wait and idle, step by step", question, tuple(found))


def _wait(analysis: Analysis) -> tuple[str, str, list[float | None]] | None:
    for name, unit in WAITS:
        values = series(analysis, name)
        if any(v is not None for v in values):
            whole = analysis.figures.get(name)
            return name, whole.unit if whole is not None else unit, values
    return None


def _idle(analysis: Analysis) -> list[tuple[str, str, str, list[float | None]]]:
    found: list[tuple[str, str, str, list[float | None]]] = []
    for name, label, color in IDLE:
        values = series(analysis, name)
        same = any(values == other for _, _, _, other in found)
        if any(v is not None for v in values) and not same:
            found.append((name, label, color, values))
    return found


def _plot(analysis: Analysis) -> Plot | None:
    steps, wait, idle = step_numbers(analysis), _wait(analysis), _idle(analysis)
    brackets = [] if idle else _brackets(analysis)
    if len(steps) < 2 or not (wait or idle or brackets):
        return None
    both = bool(wait) and bool(idle or brackets)
    data: list[dict[str, Any]] = []
    columns: dict[str, tuple[list[float | None], str]] = {}
    if wait is not None:
        data += _bars(steps, wait[2], wait[1])
        columns[f"mean wait ({wait[1]})"] = (wait[2], wait[1])
    axes = {"yaxis": "y2"} if both else {}
    for name, label, color, values in idle:
        data += curve(label, steps, values, color, hovertemplate="%{y:.0%}", **axes)
        columns[name] = (values, "fraction")
    if brackets:
        low, high = (drawn(steps, [b[end] for b in brackets]) for end in (0, 1))
        x = [b.first for b in low]
        data += [
            edge(x, [b.middle for b in low], **axes),
            edge(x, [b.middle for b in high], fill="tonexty", fillcolor="@accent-soft", **axes)
            | {"name": "idle, within these bounds", "showlegend": True},
        ]
        columns["idle, at least"] = ([b[0] for b in brackets], "fraction")
        columns["idle, at most"] = ([b[1] for b in brackets], "fraction")
    table = numbers(steps, columns, "Straggler wait and idle by step")
    spec = _spec(data, steps, wait, bool(idle or brackets))
    return Plot("waiting", "Wait and idle by step", {"": spec}, _text(analysis, wait, steps), table)


def _brackets(analysis: Analysis) -> list[tuple[float | None, float | None]]:
    """Ends of slot_idle by step where only lengths are known; empty where no step has them."""
    intervals = [
        s.figures["slot_idle"].interval if "slot_idle" in s.figures else None for s in analysis.steps
    ]
    return [i or (None, None) for i in intervals] if any(intervals) else []


def _bars(steps: list[int], values: list[float | None], unit: str) -> list[dict[str, Any]]:
    template = "%{y:,.3~r} " + unit
    if len(steps) > MOST_BARS:
        return curve("mean wait", steps, values, "@accent", band="@line", hovertemplate=template)
    found = blocks(steps, values, MOST_BARS)
    return [
        {
            "type": "bar",
            "name": "mean wait",
            "x": [b.first for b in found],
            "y": [b.middle for b in found],
            "marker": {"color": "@accent-mid"},
            "hovertemplate": template,
            "showlegend": False,
        }
    ]


def _spec(
    data: list[dict[str, Any]],
    steps: list[int],
    wait: tuple[str, str, list[float | None]] | None,
    idle: bool,
) -> Spec:
    both = wait is not None and idle
    share = {"tickformat": ".0%", "range": [0, 1.02]}
    axes: dict[str, Any] = {}
    if both and wait is not None:
        axes["yaxis"] = axis(f"mean wait ({wait[1]})", domain=[0.58, 1], rangemode="tozero")
        axes["yaxis2"] = axis("idle share", domain=[0, 0.46], **share)
    elif idle:
        axes["yaxis"] = axis("idle share", **share)
    elif wait is not None:
        axes["yaxis"] = axis(f"mean wait ({wait[1]})", rangemode="tozero")
    bottom = {"anchor": "y2"} if both else {}
    return {
        "data": data,
        "layout": layout(430 if both else 300, showlegend=True, xaxis=step_axis(steps, **bottom), **axes),
    }


def _text(analysis: Analysis, wait: tuple[str, str, list[float | None]] | None, steps: list[int]) -> str:
    parts = []
    if wait is not None:
        known = [v for v in wait[2] if v is not None]
        parts.append(
            f"The mean wait of a step lies between {between(min(known), max(known), wait[1])}".replace(
                " to ", " and "
            )
            + "."
        )
    share = analysis.figures.get("tail_time_share")
    if share is not None and share.value is not None:
        parts.append(
            f"Waiting for the last 10 % of the rollouts takes {figure_percent(share)} of the "
            f"generation time ({share.basis})."
        )
    return " ".join([*parts, in_blocks(steps)]).strip()


def _worst(analysis: Analysis) -> list[_Worst]:
    """(wait, last rollout, step) of the steps that waited longest."""
    wait = _wait(analysis)
    last = {s.step: s for s in analysis.stragglers}
    if wait is None:
        return [(s.wait_s, s, s.step) for s in list(analysis.stragglers)[:WORST]]
    known = [
        (v, last.get(step), step)
        for step, v in zip(step_numbers(analysis), wait[2], strict=True)
        if v is not None
    ]
    return list(sorted(known, key=lambda item: (-item[0], item[2]))[:WORST])


def _worst_table(analysis: Analysis, worst: Sequence[_Worst]) -> Table:
    wait, unit = _wait(analysis), analysis.lengths.unit
    steps = {s.step: s for s in analysis.steps}
    rows = []
    for value, last, step in worst:
        idle = of_step(steps[step], "slot_idle") if step in steps else None
        rows.append(
            (
                Cell(f"{step:,}", "number"),
                cell(value, wait[1] if wait else "s"),
                cell(idle, "fraction"),
                cell(last.length if last else None, unit),
                Cell(number(last.reward) if last and last.reward is not None else "–", "number"),
                Cell(last.finish_reason or "–" if last else "–"),
                Cell(str(last.prompt_id) if last and last.prompt_id is not None else "–", "code"),
                Cell(last.why if last else "–"),
            )
        )
    head = (
        "step",
        "mean wait",
        "slot_idle",
        f"last rollout ({unit})",
        "reward",
        "ended by",
        "prompt hash",
        "why it was last",
    )
    return without_empty(
        Table(head, tuple(rows), "The steps that waited longest, and the rollout they waited for")
    )


def _quotes(worst: Sequence[_Worst], texts: Texts) -> list[Block]:
    found: list[Block] = []
    for _, _, step in worst:
        prompt, response = texts.get(step, (None, None))
        if prompt:
            found.append(Quote(f"Step {step:,}: prompt of the last rollout", prompt))
        if response:
            found.append(Quote(f"Step {step:,}: response of the last rollout", response))
    return found
