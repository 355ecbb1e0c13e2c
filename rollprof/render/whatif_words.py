"""A what-if in words, the same in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Sequence

from rollprof.render.numbers import percent, plural
from rollprof.whatif.enable import FORK, NONE, options_of, others_with_one
from rollprof.whatif.policies.catalog import POLICIES
from rollprof.whatif.results import Advice, Calibration, PolicyResult, WhatIf

SOURCES = {
    "fit-rollouts": "fitted to the times of rollouts",
    "fit-steps": "fitted to the durations of steps",
    "engine-samples": "fitted to samples of the engines",
    "prior": "from the model and the GPU",
    "unit": "assumed: b/a = .015",
}
NO_REMEDY = "No remedy gains more than 3 % of useful tokens per second here."


def calibrated(c: Calibration) -> str:
    """Where the decode cost is from, and how far it is off."""
    return f"decode cost {SOURCES[c.source]}{_errors(c)}"


def _errors(c: Calibration) -> str:
    words = []
    if c.held_out_error is not None:
        beside = f" (the median by {percent(c.constant_error)})" if c.constant_error is not None else ""
        words.append(f"off by {percent(c.held_out_error)} on what it had not seen{beside}")
    if "time_error" in c.drift:
        words.append(
            f"across steps by {percent(c.drift['time_error'])} in time, {c.drift['idle_error']:.2f} in idle"
        )
    if "factor" in c.drift:
        words.append(f"second half {c.drift['factor']:.2f}x as slow")
    return "".join(f"; {w}" for w in words)


def steps_replayed(found: WhatIf) -> str:
    """`200 of 10,000 steps` of a sample, `12 steps` where all were replayed."""
    if found.of_steps is None or found.of_steps <= found.steps:
        return plural(found.steps, "step")
    return f"{found.steps:,} of {plural(found.of_steps, 'step')}"


def best_of_each(results: Sequence[PolicyResult]) -> list[PolicyResult]:
    """Of each policy the parameters with the most useful tokens, those within the limits first."""
    best: dict[str, PolicyResult] = {}
    for p in results:
        old = best.get(p.name)
        if old is None or (p.within_limits, p.useful_gain or 0.0) > (
            old.within_limits,
            old.useful_gain or 0.0,
        ):
            best[p.name] = p
    return list(best.values())


def label(p: PolicyResult, *, short: bool = False) -> str:
    """`april over=2`. The `short` form leaves out parameters at their defaults, but for the first."""
    given = dict(p.parameters)
    if short and p.name in POLICIES:
        defaults = {d.name: d.default for d in POLICIES[p.name].parameters}
        changed = {k: v for k, v in given.items() if v != defaults.get(k)}
        given = changed or dict(list(given.items())[:1])
    set_to = " ".join(f"{k}={v if isinstance(v, str) else f'{v:g}'}" for k, v in given.items())
    return f"{p.name} {set_to}".strip()


def switch(advice: Advice, framework: str) -> list[str]:
    """How to switch it on in the user's framework; where that has no option, who has."""
    shown = options_of(advice.enable, framework)
    if framework in shown and not shown[framework].startswith(NONE):
        return [f"{framework}: {shown[framework]}"]
    others = others_with_one(advice.enable, framework)
    elsewhere = f"an option in {', '.join(others)} (-v says which)" if others else ""
    own = f"{framework}: {shown[framework]}" if framework in shown else ""
    line = "; ".join(words for words in (own, elsewhere) if words)
    fork = f"{FORK}: {shown[FORK]}" if FORK in shown and not others else ""
    return [words for words in (line, fork) if words]


def unanswered(results: Sequence[PolicyResult]) -> list[str]:
    """One sentence for all policies that lack the same facts."""
    answered = {p.name for p in results if p.speedup is not None}
    fewest: dict[str, Sequence[str]] = {}
    for p in results:
        if p.needs and p.name not in answered and len(p.needs) < len(fewest.get(p.name, (*p.needs, ""))):
            fewest[p.name] = p.needs
    reasons: dict[str, list[str]] = {}
    for name, needs in fewest.items():
        reasons.setdefault("; ".join(needs), []).append(name)
    return [f"{', '.join(names)} needs: {why}" for why, names in reasons.items()]
