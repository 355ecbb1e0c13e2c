"""Rules over the figures. Each threshold is a named constant with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from rollprof.analyzers.findings import prompts
from rollprof.analyzers.findings.alarms import alarms
from rollprof.analyzers.findings.context import Context, number, of_steps, percent
from rollprof.analyzers.results import Finding, Severity

TAIL_HIGH, TAIL_MEDIUM = 0.5, 0.3
"""Seer (2511.14617) calls 0.26 to 0.58 of generation for the last tenth its problem; equal lengths give 0."""
CAP_HIGH, CAP_MEDIUM = 0.10, 0.05
"""Above a tenth at the cap, remedies for the tail gain 0 to 25 % on public lengths; below, they gain more."""
CAP_BOUND_RATIO = 2.0
"""max/median below this: the cap, not a tail, makes the step's length."""
RUNAWAY = 5.0
"""max/p99 within a step: 2 in a typical step of a thousand log-normal lengths with sd 1, above 5 in one of
25 such steps, 50 where answers loop."""
RUNAWAY_MIN = 100
"""Rollouts of a step below which its 99th percentile is its maximum."""
RUNAWAY_STEPS = 0.1
"""One step with a long answer is chance; a tenth of the steps is a habit."""
WAITS_HIGH, WAITS_MEDIUM = 0.4, 0.2
"""A trainer that waits a fifth of its time is worth another split of the GPUs."""
ENGINES_HIGH, ENGINES_MEDIUM = 0.25, 0.10
"""Random dealing of heavy-tailed lengths leaves up to a tenth (public lengths: .04 to .09)."""
QUEUE = 0.2
"""A fifth of the rollouts' time in the queue: more slots (or KV cache) would shorten the step."""
DRIFT = 0.2
"""Length that changed by a fifth over the run changes the time of a step by about as much."""
DRIFT_TRUNCATED = 0.05
DRIFT_STEPS = 10
"""Steps below which a drift is not reported."""
DOMINATES = 0.6
"""Published runs spend 0.63 to 0.91 of the step generating; below, look at the other phases as well."""
FEW_STEPS = 5
"""Intervals, drift and a fit to step times all need more."""


def findings(c: Context) -> list[Finding]:
    """All that stands out, alarms first, then by severity; with an alarm, nothing advises."""
    alarmed = list(alarms(c))
    loud = [f for f in alarmed if f.severity == "alarm"]
    told = [f for f in alarmed if f.severity != "alarm"] + [
        f for rule in (*RULES, *prompts.RULES) for f in rule(c)
    ]
    told.sort(key=lambda f: ORDER.index(f.severity))
    if loud:
        told = [replace(f, next="") for f in told]
        loud[0] = replace(loud[0], next="Settle this first: until then advice is withheld.")
    return [*loud, *told]


ORDER: tuple[Severity, ...] = ("alarm", "high", "medium", "low", "info")


def _grade(value: float, high: float, medium: float) -> Severity | None:
    return "high" if value >= high else "medium" if value >= medium else None


def _tail(c: Context) -> Iterator[Finding]:
    share = c.value("tail_time_share")
    severity = None if share is None else _grade(share, TAIL_HIGH, TAIL_MEDIUM)
    if share is None or severity is None or _cap_bound(c):
        return
    modelled = c.basis("tail_time_share") == "modelled"
    how = ", if time goes with length" if modelled else ""
    least = "at least " if c.figures["tail_time_share"].bound == "lower" else ""
    why, count = Counter(s.why for s in c.stragglers).most_common(1)[0] if c.stragglers else ("unknown", 0)
    cause = (
        ""
        if why == "unknown"
        else f" The last rollout was {_WORDS[why]} {of_steps(count, len(c.stragglers))}."
    )
    yield Finding(
        "tail_dominates",
        "medium" if modelled else severity,
        f"The last tenth of the rollouts takes {least}{percent(share)} of generation time{how}.{cause}",
        {"tail_time_share": share, "why": why, "steps": count},
        _NEXT.get(why, _NEXT["long"]),
    )


_WORDS = {
    "queued": "queued",
    "long": "one of the longest",
    "slow per token": "slow per token",
    "tools": "waiting for tools",
    "truncated": "cut at the cap",
}
_NEXT = {
    "long": "Carry long rollouts over to the next step (partial rollouts), or batch long prompts together.",
    "truncated": "See what the longest responses say: if they loop, stop them early, or lower the cap.",
    "queued": "Give the engines more slots (max_num_seqs) or KV cache, or start the long prompts first.",
    "slow per token": "Look at the engine that served it: an overloaded or slower replica, or preemptions.",
    "tools": "Time out or overlap the slow tool calls.",
}


def _cap_bound(c: Context) -> bool:
    ratio, share = c.value("max_over_median"), c.value("truncated_share")
    return (ratio is not None and ratio < CAP_BOUND_RATIO) or (share is not None and share > CAP_HIGH)


def _cap(c: Context) -> Iterator[Finding]:
    share = c.value("truncated_share")
    severity = None if share is None else _grade(share, CAP_HIGH, CAP_MEDIUM)
    if share is None or severity is None:
        return
    cap = c.run.facts.response_cap
    ratio = c.value("max_over_median")
    at = f" of {number(cap)} tokens" if cap else ""
    bound = (
        f" The longest response is only {ratio:.1f} times the median: the cap makes the step's length, and "
        "remedies for the tail gain little."
        if ratio is not None and ratio < CAP_BOUND_RATIO
        else ""
    )
    yield Finding(
        "cap_binds",
        severity,
        f"{percent(share)} of the responses are cut at the cap{at}.{bound}",
        {"truncated_share": share, "response_cap": cap, "max_over_median": ratio},
        "Cut answers count as wrong and still cost the most: raise the cap, or teach shorter answers (a soft "
        "length penalty).",
    )


def _runaways(c: Context) -> Iterator[Finding]:
    ratios = [(r, i) for i in c.run.slices if (r := _over_p99(c, i)) is not None]
    wild = [(r, i) for r, i in ratios if r >= RUNAWAY]
    if not wild or len(wild) < RUNAWAY_STEPS * len(ratios):
        return
    ratio, worst = max(wild)
    figures, unit = c.lengths[worst], c.run.rollouts.unit
    top, p99 = figures["response_tokens_max"].value or 0.0, figures["response_tokens_p99"].value or 0.0
    yield Finding(
        "runaways",
        "medium",
        f"Single responses run away {of_steps(len(wild), len(ratios))}: in step {c.run.steps[worst]} the "
        f"longest has {number(top)} {unit}, {ratio:.1f} times the 99th percentile ({number(p99)}).",
        {"step": int(c.run.steps[worst]), "max": top, "p99": p99, "steps": len(wild), "unit": unit},
        "Look for repetition loops in the longest responses and stop them, or lower the cap towards the 99th "
        "percentile.",
    )


def _over_p99(c: Context, i: int) -> float | None:
    span, figures = c.run.slices[i], c.lengths[i]
    top, p99 = figures.get("response_tokens_max"), figures.get("response_tokens_p99")
    if span.stop - span.start < RUNAWAY_MIN or top is None or p99 is None or not top.value or not p99.value:
        return None
    return top.value / p99.value


def _trainer(c: Context) -> Iterator[Finding]:
    idle = c.value("trainer_idle")
    severity = None if idle is None else _grade(idle, WAITS_HIGH, WAITS_MEDIUM)
    if idle is None or severity is None:
        return
    rollout = c.value("rollout_idle")
    other = f", while the rollout side idles {percent(rollout)} of its own" if rollout is not None else ""
    yield Finding(
        "trainer_waits",
        severity,
        f"The trainer waits for rollouts {percent(idle)} of its time{other}.",
        {"trainer_idle": idle, "rollout_idle": rollout},
        "Move GPUs from training to rollouts, or allow more staleness; with a long tail more rollout GPUs do "
        "not help, and the tail comes first.",
    )


def _engines(c: Context) -> Iterator[Finding]:
    idle = c.value("engine_idle")
    severity = None if idle is None else _grade(idle, ENGINES_HIGH, ENGINES_MEDIUM)
    if idle is None or severity is None:
        return
    ratio = c.value("engine_imbalance")
    longer = f": the slowest works {ratio:.2f} times as long as the average" if ratio is not None else ""
    yield Finding(
        "engine_imbalance",
        severity,
        f"Engines have nothing to run for {percent(idle)} of generation time{longer}.",
        {"engine_idle": idle, "engine_imbalance": ratio, "recoverable": c.value("recoverable")},
        "Spread long prompts over the engines (length-aware placement), or let engines take requests from "
        "one queue instead of a fixed share.",
    )


def _queue(c: Context) -> Iterator[Finding]:
    share = c.value("queue_share")
    if share is not None and share >= QUEUE:
        yield Finding(
            "requests_queue",
            "medium",
            f"Rollouts spend {percent(share)} of their time waiting for a decode slot.",
            {"queue_share": share, "max_num_seqs": c.run.facts.slots, "engines": c.run.facts.engines},
            "Raise max_num_seqs where the KV cache allows, or use more engines.",
        )


def _drift(c: Context) -> Iterator[Finding]:
    for name, of, least in (
        ("length_drift_p50", "response_tokens_p50", DRIFT),
        ("length_drift_p99", "response_tokens_p99", DRIFT),
        ("length_drift_truncated", "truncated_share", DRIFT_TRUNCATED),
    ):
        figure = c.figures.get(name)
        base = c.value(of) or (c.value("response_tokens_mean") if name == "length_drift_p50" else None)
        if figure is None or figure.value is None or figure.interval is None or figure.n < DRIFT_STEPS:
            continue
        low, high = figure.interval
        change = figure.value * float(c.run.steps[-1] - c.run.steps[0])
        share = name.endswith("truncated")
        if (
            low <= 0 <= high
            or (not share and not base)
            or abs(change) < least * (1.0 if share else base or 1.0)
        ):
            continue
        what = {
            "length_drift_p50": "The median response",
            "length_drift_p99": "The 99th percentile of lengths",
        }
        grew = "grew" if change > 0 else "shrank"
        text = (
            f"The share of cut responses {grew} by {percent(abs(change))} of all over the run."
            if share
            else f"{what[name]} {grew} by {number(abs(change))} {c.run.rollouts.unit} over the run "
            f"({number(abs(figure.value))} per step): generation time goes with it."
        )
        yield Finding(
            name,
            "low",
            text,
            {"per_step": figure.value, "interval": list(figure.interval), "change": change},
            "Compare times at matched length before blaming the engine.",
        )


def _dominates(c: Context) -> Iterator[Finding]:
    share = c.value("generation_share")
    if share is not None and share >= DOMINATES and "generate" not in c.phases.beside:
        yield Finding(
            "generation_dominates",
            "info",
            f"Generation takes {percent(share)} of the step: what it loses is lost to the whole run.",
            {"generation_share": share},
        )


def _not_identified(c: Context) -> Iterator[Finding]:
    fit = c.idle.fit
    effective = c.figures.get("effective_idle")
    if fit is None or fit.skill or (effective is not None and effective.value is not None):
        return
    if fit.n < FEW_STEPS:
        return  # said by the rule on few steps
    yield Finding(
        "decode_cost_not_identified",
        "info",
        f"{fit.why[0].upper()}{fit.why[1:]}.",
        {"held_out_error": fit.held_out_error, "constant_error": fit.constant_error, "steps": fit.n},
        c.enable("effective_idle"),
    )


def _few_steps(c: Context) -> Iterator[Finding]:
    if 0 < len(c.run) < FEW_STEPS:
        steps = "one step" if len(c.run) == 1 else f"{len(c.run)} steps"
        yield Finding(
            "few_steps",
            "info",
            f"Only {steps}: too few for a trend, and for a decode cost from step times.",
            {"steps": len(c.run)},
        )


RULES: tuple[Callable[[Context], Iterator[Finding]], ...] = (
    _tail,
    _cap,
    _runaways,
    _trainer,
    _engines,
    _queue,
    _drift,
    _dominates,
    _not_identified,
    _few_steps,
)
