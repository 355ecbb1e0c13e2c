"""A what-if in words, the same in the terminal and in the report."""

from __future__ import annotations

from collections.abc import Sequence

from rollprof.render.numbers import percent
from rollprof.whatif.results import Calibration, PolicyResult

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


def label(p: PolicyResult) -> str:
    """`april over=2`."""
    set_to = " ".join(f"{k}={v if isinstance(v, str) else f'{v:g}'}" for k, v in p.parameters.items())
    return f"{p.name} {set_to}".strip()


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
