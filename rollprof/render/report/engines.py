"""Engines and GPUs as they were sampled: requests running over time, the idle shaded, utilisation beneath."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rollprof.analyzers.results import Analysis, EngineCurve, EngineResult, GpuBand, SampleCurves
from rollprof.render.numbers import figure_percent, plural
from rollprof.render.report.layout import axis, edge, layout, line
from rollprof.render.report.model import Block, Cell, Paragraph, Plot, Section, Spec, Table
from rollprof.render.report.over_steps import numbers
from rollprof.render.report.words import figure_table, series, step_numbers, without_empty
from rollprof.render.summary.engines import COLUMNS, beside_words, cell, join_words, ranked

MOST_DRAWN = 6
"""Engines that are drawn; of more, those with the most idle slots."""
MOST_ROWS = 200
FLEET = ("engine_imbalance", "queue_share", "kv_usage_max", "preemptions", "gpu_util_idle")
PER_STEP = (
    ("slot_idle", "fraction"),
    ("engine_idle", "fraction"),
    ("throughput_idle", "fraction"),
    ("queue_share", "fraction"),
    ("kv_usage_max", "fraction"),
    ("preemptions", "count"),
    ("gpu_util_idle", "fraction"),
)
_ONE, _ROW, _GPU, _EDGES, _GAP = 230, 116, 100, 74, 26
"""Heights in pixels: of one engine alone, of one of several, of the GPUs, of the margins, between rows."""
_UNITS = ((3 * 86400.0, 86400.0, "days"), (3 * 3600.0, 3600.0, "hours"), (300.0, 60.0, "minutes"))


def engines(analysis: Analysis) -> Section | None:
    """None where neither engines nor GPUs were sampled."""
    samples = analysis.samples
    if samples is None or not (samples.engines or samples.gpu_band):
        return None
    drawn = _drawn(analysis, samples)
    blocks: list[Block] = [_plot(analysis, samples, drawn)]
    if samples.engines:
        words = (join_words(samples), beside_words(analysis))
        blocks.append(Paragraph(". ".join(w[:1].upper() + w[1:] for w in words if w) + "."))
    if samples.join.refused:
        blocks.append(_refused(samples))
    if analysis.engines:
        blocks.append(_table(analysis, drawn))
    fleet = figure_table(analysis, FLEET, "Over all engines and GPUs together")
    if fleet is not None:
        blocks.append(fleet)
    question = (
        "What the engines and the GPUs saw themselves: the line is how many requests run, the shaded area "
        "above it slots that stood empty while a generation lasted."
    )
    return Section("engines", "Engines and GPUs over time", question, tuple(blocks))


def _drawn(analysis: Analysis, samples: SampleCurves) -> list[tuple[str, EngineCurve]]:
    """(label, curve) of the engines in the plot, in order of name. Labels hold no text from the log."""
    idlest = [e.engine for e in ranked(analysis)] or [c.engine for c in samples.engines]
    chosen = set(idlest[:MOST_DRAWN])
    curves = sorted((c for c in samples.engines if c.engine in chosen), key=lambda c: c.engine)
    numbered = all(c.engine.isascii() and c.engine.isdigit() for c in curves)
    return [(f"engine {int(c.engine) if numbered else k + 1}", c) for k, c in enumerate(curves)]


def _plot(analysis: Analysis, samples: SampleCurves, drawn: Sequence[tuple[str, EngineCurve]]) -> Plot:
    columns = {n: (series(analysis, n), unit) for n, unit in PER_STEP}
    columns = {n: c for n, c in columns.items() if any(v is not None for v in c[0])}
    table = numbers(step_numbers(analysis), columns, "As sampled, by step") if columns else None
    parts = [_words(analysis, samples, len(drawn))]
    if samples.gpu_band is not None:
        idle = analysis.figures.get("gpu_util_idle")
        share = f": {figure_percent(idle)} of the samples show an idle GPU" if idle and idle.value else ""
        where = "Beneath" if drawn else "Drawn"
        parts.append(f"{where} is the utilisation of {plural(len(samples.gpus), 'GPU')}{share}.")
    title = "Requests running" if drawn else "GPU utilisation"
    return Plot("engines", title, {"": spec(samples, drawn)}, " ".join(p for p in parts if p), table)


def _words(analysis: Analysis, samples: SampleCurves, drawn: int) -> str:
    if not samples.engines:
        return ""
    slot = analysis.figures.get("slot_idle")
    known = slot is not None and slot.value is not None and samples.how
    empty = f", {figure_percent(slot)} of them (slot_idle)" if known and slot is not None else ""
    which = (
        f" The {drawn} engines with the most idle slots are drawn." if drawn < len(samples.engines) else ""
    )
    queued = any(any(curve.waiting) for curve in samples.engines)
    dotted = " The dotted line adds the requests that wait for a slot." if queued else ""
    return (
        f"{plural(len(samples.windows), 'generation')} of {plural(len(samples.engines), 'engine')}; shaded "
        f"are decode slots that were empty meanwhile{empty}.{dotted}{which}"
    )


def _refused(samples: SampleCurves) -> Paragraph:
    """Steps that have no figure from samples, by reason."""
    by_reason: dict[str, list[int]] = {}
    for step, why in samples.join.refused.items():
        by_reason.setdefault(why, []).append(step)
    parts = [
        f"{'step' if len(steps) == 1 else 'steps'} {', '.join(f'{s:,}' for s in steps[:8])}"
        f"{' and more' if len(steps) > 8 else ''}: {why}"
        for why, steps in by_reason.items()
    ]
    return Paragraph(f"Without a figure from samples: {'; '.join(parts)}.", quiet=True)


def _table(analysis: Analysis, drawn: Sequence[tuple[str, EngineCurve]]) -> Table:
    labels = {c.engine: label for label, c in drawn}
    rows = [_row(e, labels.get(e.engine, "")) for e in ranked(analysis)[:MOST_ROWS]]
    if len(analysis.engines) > 1:
        rows.append(_row(EngineResult("all engines", analysis.figures), ""))
    left = len(analysis.engines) - MOST_ROWS
    return without_empty(
        Table(
            ("engine", "in the plot", *(n for n, _ in COLUMNS)),
            tuple(rows),
            "Each engine, idlest first",
            f"{left:,} more engines are less idle." if left > 0 else "",
        )
    )


def _row(engine: EngineResult, label: str) -> tuple[Cell, ...]:
    cells = [Cell(cell(engine.figures.get(name)), "number") for name, _ in COLUMNS]
    return (Cell(engine.engine), Cell(label, "quiet"), *cells)


def spec(samples: SampleCurves, drawn: Sequence[tuple[str, EngineCurve]]) -> Spec:
    """One row an engine and one for the GPUs, on one axis of time since the first sample."""
    firsts = [c.time[0] for _, c in drawn] + ([samples.gpu_band.time[0]] if samples.gpu_band else [])
    lasts = [c.time[-1] for _, c in drawn] + ([samples.gpu_band.time[-1]] if samples.gpu_band else [])
    begin, whole = min(firsts), max(lasts) - min(firsts)
    size, unit = next(((s, u) for least, s, u in _UNITS if whole >= least), (1.0, "seconds"))

    def since(times: Sequence[float]) -> list[float]:
        return [round((t - begin) / size, 4) for t in times]

    heights = [_ONE if len(drawn) == 1 else _ROW] * len(drawn) + [_GPU] * (samples.gpu_band is not None)
    domains = _domains(heights)
    data: list[dict[str, Any]] = []
    look: dict[str, Any] = {}
    for k, (label, curve) in enumerate(drawn):
        data += _engine(curve, f"y{k + 1}", since, samples.shaded)
        look[f"yaxis{k + 1}"] = axis(label, domain=domains[k], range=[0, _top(curve)], nticks=4)
    if samples.gpu_band is not None:
        k = len(drawn)
        data += _gpus(samples.gpu_band, f"y{k + 1}", since)
        look[f"yaxis{k + 1}"] = axis("GPU busy, %", domain=domains[k], range=[0, 104], nticks=3)
    look["yaxis"] = look.pop("yaxis1")
    bottom = f"y{len(heights)}" if len(heights) > 1 else "y"
    look["xaxis"] = axis(
        f"{unit} since the first sample", anchor=bottom, showgrid=False, range=[0, whole / size]
    )
    return {"data": data, "layout": layout(sum(heights) + _GAP * (len(heights) - 1) + _EDGES, **look)}


def _domains(heights: Sequence[int]) -> list[list[float]]:
    """Shares of the height from the top down, with a gap between rows."""
    whole = sum(heights) + _GAP * (len(heights) - 1)
    found, top = [], float(whole)
    for height in heights:
        found.append([max(0.0, (top - height) / whole), top / whole])
        top -= height + _GAP
    return found


def _top(curve: EngineCurve) -> float:
    most = max((r + (w or 0.0) for r, w in zip(curve.running, curve.waiting, strict=True) if r is not None))
    return 1.1 * max(curve.slots, most, 1.0)


def _engine(
    curve: EngineCurve, y: str, since: Any, shaded: Sequence[tuple[float, float]]
) -> list[dict[str, Any]]:
    """The generations filled up to the slots, what runs in front of them, and what waits above."""
    axes = {} if y == "y1" else {"yaxis": y}
    found: list[dict[str, Any]] = []
    if shaded and curve.slots > 0:
        x: list[float | None] = []
        top: list[float | None] = []
        for start, end in shaded:
            x += [*since((start, start, end, end)), None]
            top += [0, curve.slots, curve.slots, 0, None]
        found.append(edge(x, top, fill="toself", fillcolor="@accent-soft", name="empty slots", **axes))
    x = since(curve.time)
    found.append(
        line(
            "running",
            x,
            curve.running,
            "@work",
            width=1.5,
            fill="tozeroy",
            fillcolor="@work-soft",
            hovertemplate="%{y:,.0f} running<extra></extra>",
            **axes,
        )
    )
    if any(curve.waiting):
        both = [
            None if r is None else r + (w or 0.0) for r, w in zip(curve.running, curve.waiting, strict=True)
        ]
        hover = "%{y:,.0f} running and waiting<extra></extra>"
        dots = {"dash": "dot"}
        found.append(line("waiting", x, both, "@n7", width=1.2, line=dots, hovertemplate=hover, **axes))
    return found


def _gpus(band: GpuBand, y: str, since: Any) -> list[dict[str, Any]]:
    axes = {} if y == "y1" else {"yaxis": y}
    x = since(band.time)

    def share(values: Sequence[float | None]) -> list[float | None]:
        return [None if v is None else round(100 * v, 2) for v in values]

    known = [i for i, v in enumerate(band.low) if v is not None]
    low, high = share(band.low), share(band.high)
    return [
        edge([x[i] for i in known], [low[i] for i in known], **axes),
        edge([x[i] for i in known], [high[i] for i in known], fill="tonexty", fillcolor="@n8", **axes),
        line(
            "GPUs",
            x,
            share(band.mean),
            "@n2",
            width=1.5,
            hovertemplate="%{y:.0f} % mean<extra></extra>",
            **axes,
        ),
    ]


__all__ = ["engines", "spec"]
