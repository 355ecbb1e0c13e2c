"""Replays and comparisons to render, with numbers that are easy to follow."""

from __future__ import annotations

from dataclasses import replace

from rollprof.analyzers.results import Analysis
from rollprof.compare.comparison import Comparison, compare
from rollprof.compare.decomposition import Decomposition, Part
from rollprof.whatif.results import Advice, BaselineResult, Calibration, PolicyResult, Tail, WhatIf


def policy(name: str, speedup: float | None, **more: object) -> PolicyResult:
    """A policy whose useful tokens grow as its speed, unless said otherwise."""
    known = {
        "off_policy_share": 0.0,
        "dropped_share": 0.0,
        "length_bias": 1.0,
        "useful_gain": speedup,
        "interval": None if speedup is None else (speedup - 0.1, speedup + 0.2),
    }
    return PolicyResult(name, speedup=speedup, **{**known, **more})  # type: ignore[arg-type]


def replays(note: str = "lengths are taken not to react") -> WhatIf:
    """Five policies: one of them twice, one without an answer, one that throws much away."""
    return WhatIf(
        calibration=Calibration(1.0, 0.01, 1e-5, 0.0, "fit-steps", 12, held_out_error=0.015),
        baseline=BaselineResult(20.0, 15.0, 0.75, 0.161, 0.7, 1000.0, 3.33),
        policies=(
            policy("baseline", 1.0, interval=(1.0, 1.0)),
            policy("april", 1.3, parameters={"over": 1.5}, off_policy_share=0.4, pareto=True),
            policy("april", 1.5, parameters={"over": 2.0}, off_policy_share=0.7, pareto=True),
            policy("oversample-drop", 2.0, useful_gain=1.1, dropped_share=0.438, length_bias=0.64),
            policy("speculative-tail", 1.4, pareto=True, range=(1.2, 1.6)),
            policy("dapo", None, needs=("rewards of rollouts",), off_policy_share=None),
        ),
        advice=(
            Advice("baseline", "Single responses are long."),
            Advice("april", "april (over=2): 1.50x.", enable={"verl": "set this", "trl": "no option"}),
        ),
        tail=Tail(8.0, 6.0, 1.3, 0.0, None, "responses"),
        framework="verl",
        steps=12,
        rollouts=3072,
        engines=4,
        slots=1024,
        unit="tokens",
        whole_step=True,
        notes=(note,),
    )


def slower(analysis: Analysis, factor: float) -> Analysis:
    """The same run with every time of its steps longer."""
    steps = [
        replace(s, columns={n: v * factor if n.endswith("_s") else v for n, v in s.columns.items()})
        for s in analysis.steps
    ]
    figures = {
        n: replace(f, value=f.value * factor) if f.unit == "s" and f.value is not None else f
        for n, f in analysis.figures.items()
    }
    return replace(analysis, steps=steps, figures=figures)


def spread(analysis: Analysis, step: float) -> Analysis:
    """Lengths from 100 on, `step` tokens to each percent."""
    ecdf = tuple(100.0 + step * i for i in range(101))
    return replace(analysis, lengths=replace(analysis.lengths, ecdf=ecdf))


def compared(analysis: Analysis, other: str = "main") -> Comparison:
    """The run against one that was faster and shorter, with a change of generation time in two parts."""
    found = compare(
        [(other, spread(slower(analysis, 0.8), 10)), ("this run", spread(analysis, 20))],
    )
    parts = (
        Part("tail", "heavier tail", 5.0, (4.0, 6.5)),
        Part("pace", "faster per token", -2.0, (-3.0, -1.0)),
    )
    made = Decomposition(10.0, 13.0, parts, "heavier tail", -0.1, (-0.15, -0.05), True, (20, 20), (2.0, 4.0))
    return replace(found, generation=(made,))
