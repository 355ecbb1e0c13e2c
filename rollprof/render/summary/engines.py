"""The inference engines: how their samples were joined to the steps, and each engine by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rollprof.analyzers.results import Analysis, Beside, EngineResult, Figure, SampleCurves
from rollprof.render.numbers import figure_percent, is_wide, number, percent, percent_range, plural, quantity
from rollprof.render.summary.page import Page, pad

COLUMNS: tuple[tuple[str, str], ...] = (
    ("slot_idle", "slots empty"),
    ("engine_idle", "nothing to run"),
    ("throughput_idle", "below its best"),
    ("queue_share", "queued"),
    ("kv_usage_max", "KV cache max"),
    ("preemptions", "preempted"),
)
"""Figures of an engine, each with its name in few words."""
_HOW = {
    "clock": "joined to the steps by the clock",
    "order": "joined to the steps in order: no clock in common",
    "alone": "the steps are inferred: each ends where all engines fall silent",
}


def engines(page: Page, analysis: Analysis, most: int) -> None:
    """Nothing where no engine was sampled; else a heading, the join, and the `most` idlest engines."""
    samples = analysis.samples
    if samples is None or not samples.engines:
        return
    page.heading("Engines  ", join_words(samples))
    if not samples.how:
        return
    words = beside_words(analysis)
    if words:
        page.add(words, indent=2)
    rows = ranked(analysis)
    if not rows or (len(rows) == 1 and not _tells(rows[0])):
        return
    if most <= 0:
        page.add(spread_words(rows), indent=2)
        return
    names = min(24, max(8, *(len(e.engine) for e in rows)))
    shown = [(n, label) for n, label in COLUMNS if any(n in e.figures for e in rows) or n in _fleet(analysis)]
    page.row(pad("", names), *((pad(f"  {label}", len(label) + 2), "dim") for _, label in shown), indent=2)
    for engine in rows[:most]:
        _row(page, engine.engine, engine.figures, shown, names)
    if len(rows) > 1:
        _row(page, "all", _fleet(analysis), shown, names)
    if len(rows) > most:
        page.row((f"and {plural(len(rows) - most, 'engine')} less idle", "dim"), indent=2)


def join_words(samples: SampleCurves) -> str:
    """`2 engines sampled every 1 s, 5 generations; joined to the steps by the clock; ...` or why not."""
    join = samples.join
    every = f" sampled every {number(round(join.tick, 2))} s" if join.tick else ""
    words = f"{plural(len(samples.engines), 'engine')}{every}"
    if not join.how:
        return f"{words}, not joined to the steps: {join.why}"
    words += f", {plural(len(samples.windows), 'generation')}; {_HOW.get(join.how, join.how)}"
    if join.zone_s:
        words += f"; their clock moved by {join.zone_s / 3600:+g} h, it names no zone"
    if join.corrected_s:
        words += f"; their clock, {_late(join.skew_s or 0.0)}, corrected by {join.corrected_s:+g} s"
    elif join.skew_s is not None:
        words += f"; generation ends {_late(join.skew_s)} by their clock"
    return words


def _late(skew: float) -> str:
    return (
        "at the same time"
        if not round(skew, 1)
        else f"{number(round(abs(skew), 1))} s {'later' if skew > 0 else 'earlier'}"
    )


def beside_words(analysis: Analysis) -> str:
    """slot_idle measured beside its other bases, and how far apart they are; empty without any."""
    slot = analysis.figures.get("slot_idle")
    if slot is None or slot.basis != "measured":
        return ""
    parts = [f"{b.basis} {_value(b)} ({_place(b, slot)})" for b in slot.beside()]
    return f"measured slot_idle {figure_percent(slot)}, beside it {', '.join(parts)}" if parts else ""


def _value(other: Beside) -> str:
    return percent_range(*other.value) if isinstance(other.value, tuple) else percent(other.value, 0)


def _place(other: Beside, figure: Figure) -> str:
    if not isinstance(other.value, tuple):
        return _points(other.apart)
    if not other.apart:
        return "holds it"
    low, high = figure.interval or (0.0, 0.0)
    agrees = low <= (figure.value or 0.0) + other.apart <= high
    return "agrees within its error" if agrees else f"nearest end {_points(other.apart)}"


def _points(apart: float) -> str:
    size = number(round(100 * abs(apart), 1))
    return f"{size} points {'higher' if apart > 0 else 'lower'}" if float(size) else "the same"


def spread_words(rows: Sequence[EngineResult]) -> str:
    """`slots empty 69–81 %, nothing to run 0–40 %, KV cache max 48 %`, where there is no table."""
    parts = []
    for name, label in COLUMNS:
        values = [f.value for e in rows if (f := e.figures.get(name)) is not None and f.value is not None]
        if values and max(values) > 0:
            low, high = min(values), max(values)
            parts.append(f"{label} {percent(low, 0) if low == high else percent_range(low, high)}")
    return f"per engine: {', '.join(parts)}" if parts else ""


def ranked(analysis: Analysis) -> list[EngineResult]:
    """Engines, the one with the most idle slots first."""

    def idle(engine: EngineResult) -> float:
        figure = engine.figures.get("slot_idle")
        return -1.0 if figure is None or figure.value is None else figure.value

    return sorted(analysis.engines, key=lambda e: (-idle(e), e.engine))


def _tells(engine: EngineResult) -> bool:
    """Whether one engine alone says more than the figures of the run: whether its queue or cache is known."""
    return any(name in engine.figures for name in ("queue_share", "kv_usage_max"))


def _fleet(analysis: Analysis) -> dict[str, Figure]:
    known = {n: analysis.figures.get(n) for n, _ in COLUMNS}
    return {n: f for n, f in known.items() if f is not None and f.value is not None}


def _row(
    page: Page,
    name: str,
    figures: Mapping[str, Figure],
    shown: Sequence[tuple[str, str]],
    names: int,
) -> None:
    cells = [pad(f"  {cell(figures.get(n))}", len(label) + 2, right=True) for n, label in shown]
    page.row(pad(name, names), *cells, indent=2)


def cell(figure: Figure | None) -> str:
    """The value of an engine's figure; a dash where it has none."""
    if figure is None or figure.value is None:
        return "–"
    if figure.unit != "fraction":
        return quantity(figure.value, figure.unit)
    return figure_percent(figure) if is_wide(figure.interval) else percent(figure.value, 0)
