"""Straggler wait: how long finished rollouts wait for the last one, step by step."""

from __future__ import annotations

from dataclasses import dataclass

from rollprof.analyzers.results import Analysis, Basis, Figure, StepResult, Straggler
from rollprof.render import bars
from rollprof.render.numbers import ABSENT, between, figure_percent, number, quantity
from rollprof.render.summary.headline import is_known, why
from rollprof.render.summary.page import Page, joined

PER_STEP: tuple[tuple[str, str, str], ...] = (
    ("straggler_wait_mean_s", "s", "mean wait"),
    ("straggler_wait_mean_tokens", "tokens", "mean wait"),
    ("slot_idle", "fraction", "slot_idle"),
    ("generation_idle", "fraction", "generation_idle"),
)
"""What the sparkline shows: the first that the steps have."""


@dataclass(frozen=True, slots=True)
class Series:
    """A per-step figure to draw: values in the order of the steps, None where a step lacks it."""

    unit: str
    label: str
    values: tuple[float | None, ...]


def waiting(page: Page, analysis: Analysis, worst: int) -> None:
    """Mean and tail in words, a sparkline over the steps, and the `worst` steps with why."""
    mean, share = _figures(analysis)
    series = _series(analysis)
    if mean is None and share is None and series is None:
        missing = next((m for m in analysis.missing if m.figure.startswith("straggler_wait")), None)
        page.heading("Straggler wait  ", joined((ABSENT, why(missing) if missing else ""), ": "))
        return
    page.heading("Straggler wait", ("  finished rollouts waiting for the last one of their step", "dim"))
    _words(page, mean, share)
    if series is not None:
        _per_step(page, analysis, series, worst)


def wait_bases(analysis: Analysis) -> list[Basis | None]:
    """The words for a basis that this part uses."""
    mean, share = _figures(analysis)
    return [figure.basis for figure in (mean, share) if figure is not None]


def _figures(analysis: Analysis) -> tuple[Figure | None, Figure | None]:
    names = (("straggler_wait_mean_s", "straggler_wait_mean_tokens"), ("tail_time_share",))
    mean, share = (
        next((f for name in group if is_known(f := analysis.figures.get(name))), None) for group in names
    )
    return mean, share


def _words(page: Page, mean: Figure | None, share: Figure | None) -> None:
    parts = []
    same = mean is not None and share is not None and mean.basis == share.basis
    if mean is not None:
        parts.append(f"mean {_amount(mean)} per rollout" + ("" if same else f" ({mean.basis})"))
    if share is not None:
        parts.append(f"last 10 % take {figure_percent(share)} of the time ({share.basis})")
    if parts:
        page.add("; ".join(parts), indent=2)


def _amount(figure: Figure) -> str:
    if figure.value is None and figure.interval is not None:
        return between(*figure.interval, figure.unit)
    sign = {"upper": "at most ", "lower": "at least "}.get(figure.bound or "", "")
    return sign + quantity(figure.value or 0.0, figure.unit)


def _series(analysis: Analysis) -> Series | None:
    for name, unit, label in PER_STEP:
        values = tuple(_of(step, name) for step in analysis.steps)
        if any(v is not None for v in values):
            whole = analysis.figures.get(name)
            return Series(whole.unit if whole is not None else unit, label, values)
    return None


def _of(step: StepResult, name: str) -> float | None:
    figure = step.figures.get(name)
    return figure.value if figure is not None else None


def _per_step(page: Page, analysis: Analysis, series: Series, worst: int) -> None:
    known = [(step.step, v) for step, v in zip(analysis.steps, series.values, strict=True) if v is not None]
    amounts = [v for _, v in known]
    if len(known) > 1:
        _sparkline(page, series, amounts)
    last = {s.step: s for s in analysis.stragglers}
    ranked = sorted(known, key=lambda item: -item[1])[:worst]
    digits = max(len(f"{step:,}") for step, _ in ranked) if ranked else 0
    for position, (step, value) in enumerate(ranked):
        lead = "" if len(known) == 1 else "worst: " if position == 0 else " " * 7
        page.row(
            lead,
            f"step {step:>{digits},}  {quantity(value, series.unit)}",
            (_why(last.get(step), analysis.lengths.unit), "dim"),
            indent=2,
        )


def _sparkline(page: Page, series: Series, amounts: list[float]) -> None:
    label = f"{series.label} by step "
    ends = f"  {between(min(amounts), max(amounts), series.unit)}"
    room = page.width - 2 - len(label) - len(ends)
    line, run = bars.sparkline(series.values, room)
    each = ""
    if run > 1:
        each = f", worst of {run:,} each"
        line, run = bars.sparkline(series.values, room - len(each))
        each = f", worst of {run:,} each"
    page.row(label, (line, "cyan"), ends, (each, "dim"), indent=2)


def _why(straggler: Straggler | None, unit: str) -> str:
    if straggler is None:
        return ""
    parts = (
        f"{number(straggler.length)} {unit}" if straggler.length is not None else "",
        f"reward {number(straggler.reward)}" if straggler.reward is not None else "",
    )
    return f"  last rollout{_WHY.get(straggler.why, f' {straggler.why}')}: {joined(parts, ', ')}".rstrip(": ")


_WHY = {
    "queued": " queued",
    "long": " is long",
    "slow per token": " is slow per token",
    "tools": " waited for tools",
    "truncated": " hit the cap",
    "unknown": "",
}
