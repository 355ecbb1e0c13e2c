"""A short ranked list: what would pay on this run, why in its own numbers, and how to switch it on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rollprof.whatif.enable import enable
from rollprof.whatif.results import Advice, BaselineResult, PolicyResult, Tail

MOST = 4
WORTH = 1.03
"""A gain below it is not worth a change of the trainer."""
FITTING = 0.25
"""Share of the largest log gain that a fitting remedy must reach to be named before it."""
NEAR = 0.8
"""Share of a policy's largest log gain that milder parameters must reach to be advised instead."""
PROMPT_LEVEL = ("length-aware", "rollpacker")
RESPONSE_LEVEL = ("partial", "april", "speculative-tail")
OVERLAP = ("one-step-off", "async")
FIRST: dict[str, tuple[str, ...]] = {
    "capped": ("speculative-tail", *OVERLAP),
    "runaway": ("truncate",),
    "prompts": PROMPT_LEVEL,
    "responses": RESPONSE_LEVEL,
    "mixed": (),
}
"""Families that fit the tail come before others, whatever little more those would gain."""


def pareto(results: Sequence[PolicyResult]) -> list[PolicyResult]:
    """Marked where no other gains as much with as little off-policy share, bias and loss."""
    known = [r for r in results if r.speedup is not None]

    def price(r: PolicyResult) -> tuple[float, float, float]:
        return (-(gain(r) or 0.0), r.off_policy_share or 0.0, bias(r))

    def beaten(r: PolicyResult) -> bool:
        mine = price(r)
        return any(
            all(o <= m + 1e-9 for o, m in zip(price(other), mine, strict=True))
            and any(o < m - 1e-9 for o, m in zip(price(other), mine, strict=True))
            for other in known
        )

    return [replace(r, pareto=r.speedup is not None and not beaten(r)) for r in results]


def gain(r: PolicyResult) -> float | None:
    """Useful tokens per second over the baseline's."""
    return r.useful_gain


def bias(r: PolicyResult) -> float:
    """How far the mean length of what is trained is from that of all, as a fraction."""
    return abs((r.length_bias or 1.0) - 1.0)


def limited(
    results: Sequence[PolicyResult], max_off_policy: float | None, max_bias: float | None
) -> list[PolicyResult]:
    """Marked where the user's limits are exceeded."""
    return [
        replace(
            r,
            within_limits=not (
                (max_off_policy is not None and (r.off_policy_share or 0.0) > max_off_policy)
                or (max_bias is not None and bias(r) > max_bias)
            ),
        )
        for r in results
    ]


def advise(tail: Tail, baseline: BaselineResult, results: Sequence[PolicyResult]) -> list[Advice]:
    """The remark on the tail first, then at most four remedies: those that fit the tail, then by gain.

    A remedy counts with the low end of its interval, and with useful tokens per second: what throws long
    answers away has to earn it.
    """
    found = [_remark(tail, baseline, _gains(results, FIRST[tail.kind]))]
    usable = [r for r in results if r.name != "baseline" and r.within_limits and _worth(r)]
    best = {
        name: _mildest([r for r in usable if r.name == name])
        for name in dict.fromkeys(r.name for r in usable)
    }
    first = FIRST[tail.kind]
    if tail.kind == "runaway":
        first = (*first, *RESPONSE_LEVEL)
    most = max((math.log(gain(r) or 1.0) for r in best.values()), default=0.0)
    ranked = sorted(
        best.values(),
        key=lambda r: (_rank(r, first, FITTING * most), -(gain(r) or 0)),
    )
    return found + [_remedy(r, baseline) for r in ranked[:MOST]]


def _mildest(variants: Sequence[PolicyResult]) -> PolicyResult:
    """Of one policy the parameters that cost least, among those near its best gain."""
    most = max(math.log(gain(r) or 1.0) for r in variants)
    near = [r for r in variants if math.log(gain(r) or 1.0) >= NEAR * most]
    return min(near, key=lambda r: (r.off_policy_share or 0.0) + (r.dropped_share or 0.0) + 2 * bias(r))


def _rank(r: PolicyResult, first: tuple[str, ...], enough: float) -> int:
    """0 what the tail asks for, 1 what fits it and gains enough, 2 the rest."""
    if r.name == "truncate" and r.name in first:
        return 0
    return 1 if r.name in first and math.log(gain(r) or 1.0) >= enough else 2


def _worth(r: PolicyResult) -> bool:
    low = r.intervals.get("useful_gain", (gain(r) or 0.0,))[0]
    if r.range is not None:
        low = min(low, r.range[0])
    return (gain(r) or 0.0) >= WORTH and low > 1.0


def _gains(results: Sequence[PolicyResult], names: Sequence[str]) -> str:
    """What these policies gain on this run, each with its best parameters; "" where none was replayed."""
    best: dict[str, float] = {}
    for r in results:
        if r.name in names and r.speedup is not None:
            best[r.name] = max(best.get(r.name, 0.0), gain(r) or 0.0)
    words = [f"{name} {best[name]:.2f}x" for name in names if name in best]
    return f" On this run: {', '.join(words)}." if words else ""


def _remark(tail: Tail, baseline: BaselineResult, gains: str) -> Advice:
    why: dict[str, Any] = {
        "max_over_median": round(tail.max_over_median, 2),
        "p99_over_p50": round(tail.p99_over_p50, 2),
        "truncated_share": round(tail.truncated_share, 4),
        "icc": None if tail.icc is None else round(tail.icc, 3),
        "effective_idle": round(baseline.effective_idle, 4),
        "most": round(baseline.most, 3),
    }
    bound = (
        f"No tail remedy gains more than {baseline.most:.2f}x of generation at equal work in flight: "
        f"1/(1 - effective_idle), and effective_idle is {_percent(baseline.effective_idle)}. Only more in "
        "flight, fewer tokens or faster decoding can."
    )
    icc = "" if tail.icc is None else f"ICC of log length {tail.icc:.2f}"
    texts = {
        "capped": f"{_capped(tail)} Tail remedies gain little here; a faster engine, larger batches or "
        "training beside generation do more.",
        "runaway": (
            f"Single responses run away: the longest is {tail.max_over_p99:.0f} times the 99th percentile "
            f"and {tail.max_over_median:.0f} times the median. Cut them: a lower cap or repetition detection."
        ),
        "prompts": (
            f"Whole prompts are long ({icc}, P99/P50 {tail.p99_over_p50:.1f}): placement by expected "
            "length and batching long prompts together fit this tail."
        ),
        "responses": (
            f"Single responses are long, whatever the prompt ({icc}, longest "
            f"{tail.max_over_median:.0f} times the median): only remedies for single responses work, "
            "carrying them over or decoding them faster."
        ),
        "mixed": (
            f"The longest response is {tail.max_over_median:.1f} times the median, P99/P50 "
            f"{tail.p99_over_p50:.1f}{', ' + icc if icc else ''}: no one family of remedies stands out by "
            "shape."
        ),
    }
    fitting = gains if tail.kind in ("prompts", "responses") else ""
    return Advice("baseline", f"{texts[tail.kind]}{fitting} {bound}", why)


def _capped(tail: Tail) -> str:
    ratio = f"the longest is {tail.max_over_median:.1f} times the median"
    if tail.truncated_share < 0.005:
        return f"Lengths are much alike: {ratio}."
    return f"Lengths are bound by the cap: {ratio} and {_percent(tail.truncated_share)} are cut at it."


def _remedy(r: PolicyResult, baseline: BaselineResult) -> Advice:
    low, high = r.intervals.get("useful_gain", (gain(r), gain(r)))
    set_to = ", ".join(f"{k}={_short(v)}" for k, v in r.parameters.items())
    price = []
    if r.off_policy_share:
        price.append(f"{_percent(r.off_policy_share)} of the tokens off-policy, by {r.staleness_max} at most")
    if r.dropped_share:
        price.append(f"{_percent(r.dropped_share)} of the tokens thrown away")
    if bias(r) > 0.02:
        price.append(f"trained responses {r.length_bias:.2f} times as long as all")
    if r.starved_prompts:
        price.append(f"{r.starved_prompts:,} prompts never trained")
    text = (
        f"{r.name}{f' ({set_to})' if set_to else ''}: {gain(r):.2f}x useful tokens per second"
        f"{f' ({low:.2f} to {high:.2f})' if low != high else ''}; effective idle "
        f"{_percent(baseline.effective_idle)} to {_percent(r.effective_idle or 0.0)}. "
        f"Price: {', '.join(price) or 'none in tokens'}."
    )
    why = {
        "speedup": r.speedup,
        "interval": r.interval,
        "useful_gain": r.useful_gain,
        "generation_speedup": r.generation_speedup,
        "effective_idle": r.effective_idle,
        "off_policy_share": r.off_policy_share,
        "dropped_share": r.dropped_share,
        "length_bias": r.length_bias,
        "parameters": dict(r.parameters),
    }
    return Advice(r.name, text, why, enable(r.name))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
