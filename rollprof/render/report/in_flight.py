"""Rollouts in flight over a step: where the emptiness is."""

from __future__ import annotations

from rollprof.analyzers.results import Analysis, InFlight
from rollprof.render.numbers import number, percent, quantity
from rollprof.render.report.layout import axis, edge, layout, line, mark
from rollprof.render.report.model import Block, Cell, Paragraph, Plot, Section, Spec, Table
from rollprof.render.report.words import of_step

_ROWS = 24


def in_flight(analysis: Analysis) -> Section | None:
    """The curve of a typical and of the worst step; None where no step's completions are known."""
    curves = list(analysis.in_flight)
    if not curves:
        return None
    if len(curves) > 1 and curves[0].step == curves[1].step:
        curves = curves[:1]
    blocks: list[Block] = [_plot(analysis, c, half=len(curves) > 1) for c in curves]
    if any(c.basis == "modelled" for c in curves):
        words = "No clock saw single rollouts in these steps: completion is taken to go with response length."
        blocks.append(Paragraph(words, quiet=True))
    question = (
        "A step ends when its last rollout does. The line is how many rollouts are still running; the shaded "
        "area above it is room on the GPUs that stood empty."
    )
    return Section("in-flight", "Rollouts in flight", question, tuple(blocks))


def _plot(analysis: Analysis, c: InFlight, *, half: bool) -> Plot:
    kind = {"typical": "A typical step: step", "worst": "The worst step: step"}[c.kind] if half else "Step"
    step = next((s for s in analysis.steps if s.step == c.step), None)
    empty = of_step(step, "slot_idle") if step is not None else None
    share = f" {percent(empty, 0)} of its decode slots were empty (slot_idle)." if empty is not None else ""
    text = (
        f"Step {c.step:,}: 90 % of its rollouts were done after {quantity(c.t90_s, c.unit)}, "
        f"the last one after {quantity(c.end_s, c.unit)}.{share}"
    )
    every = max(1, len(c.time_s) // _ROWS)
    rows = tuple(
        (Cell(quantity(t, c.unit), "number"), Cell(number(r), "number"))
        for t, r in list(zip(c.time_s, c.running, strict=True))[::every]
    )
    table = Table((_x(c), "running rollouts"), rows, f"Rollouts in flight, step {c.step:,}", "", folded=True)
    name = f"in-flight-{c.kind}"
    return Plot(name, f"{kind} {c.step:,}", {"": spec(c)}, text, table, half=half)


def _x(c: InFlight) -> str:
    return "seconds into generation" if c.unit == "s" else f"{c.unit} generated"


def spec(c: InFlight) -> Spec:
    """The step function under its capacity, the gap between them shaded."""
    x, running = [*c.time_s, c.end_s], [*c.running, 0.0]
    filled = [min(r, c.capacity) for r in running]
    top = max(c.capacity, max(running))
    labels_left = c.t90_s > c.end_s / 2
    data = [
        edge(x, filled, line={"width": 0, "shape": "hv"}),
        edge(
            [x[0], c.end_s],
            [c.capacity, c.capacity],
            fill="tonexty",
            fillcolor="@accent-soft",
            name="empty slots",
        ),
        line(
            "running",
            x,
            running,
            "@work",
            line={"shape": "hv"},
            fill="tozeroy",
            fillcolor="@work-soft",
            hovertemplate="%{y:,.0f} running<extra></extra>",
        ),
        mark(c.t90_s, " 90 % done here ", top, 1.0, "top left" if labels_left else "top right", "@accent"),
        mark(c.end_s, "last one here ", top, 0.55, "top left", "@accent"),
    ]
    return {
        "data": data,
        "layout": layout(
            300,
            xaxis=axis(_x(c), range=[x[0], c.end_s], showgrid=False),
            yaxis=axis("running rollouts", range=[0, top * 1.12]),
        ),
    }
