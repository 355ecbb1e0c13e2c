"""The verdict as OpenMetrics text, which GitLab compares between branches and Prometheus reads.

Labels name the rule and never change from run to run, so that a series is the same series tomorrow.
"""

from __future__ import annotations

import math

from rollprof.gate.verdict import Outcome, Verdict

Labels = tuple[tuple[str, str], ...]


def render(verdict: Verdict) -> str:
    """Gauges: the figures, their limits, increases over the baseline, and whether each rule is broken."""
    families: dict[str, tuple[str, dict[Labels, float]]] = {
        "rollprof_figure": ("Value of a figure of the run.", {}),
        "rollprof_increase": ("Increase of a figure over the baseline, in its unit or as a share.", {}),
        "rollprof_limit": ("Limit of a rule.", {}),
        "rollprof_broken": ("1 for a rule that is broken, else 0; absent where it cannot be computed.", {}),
    }
    for outcome in verdict.outcomes:
        rule = _labels(outcome, rule=True)
        _note(families["rollprof_limit"][1], rule, outcome.limit)
        if outcome.kind == "max_increase":
            _note(families["rollprof_figure"][1], _labels(outcome, rule=False), outcome.new)
            _note(families["rollprof_increase"][1], rule, outcome.value)
        else:
            _note(families["rollprof_figure"][1], _labels(outcome, rule=False), outcome.value)
        if outcome.status not in ("unknown", "skipped"):
            _note(families["rollprof_broken"][1], rule, float(outcome.status == "broken"))
    lines = []
    for name, (doc, samples) in families.items():
        if samples:
            lines += [f"# TYPE {name} gauge", f"# HELP {name} {doc}"]
            lines += [f"{name}{_text(labels)} {value!r}" for labels, value in samples.items()]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _note(
    samples: dict[Labels, float],
    labels: Labels,
    value: float | None,
) -> None:
    """The first of two rules with the same labels stands: a series has one sample."""
    if value is not None and math.isfinite(value):
        samples.setdefault(labels, float(value))


def _labels(outcome: Outcome, *, rule: bool) -> Labels:
    labels = [("figure", outcome.figure), ("aggregate", outcome.rule.aggregate or "run")]
    if rule:
        labels += [("kind", outcome.kind)]
        if outcome.kind == "max_increase":
            labels += [("of", "share" if outcome.rule.limit.relative else "unit")]
    return tuple(labels)


def _text(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
