"""Rules about prompts and lengths over time. Each threshold is a named constant with its reason."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollprof.analyzers.findings.context import Context, number, percent
from rollprof.analyzers.results import Finding

EVEN = 1.5
"""p99/median below which lengths are even: there are no stragglers to explain."""
RELATED = 0.2
"""Rank correlation below which difficulty tells nothing useful about length, even where it is not chance."""
ICC_HIGH, ICC_LOW = 0.3, 0.1
"""Share of length variance between prompts: above, a prompt's history tells its length (DeepCoder: .92);
below, it does not (DAPO-32B: .05)."""
USELESS_HIGH, USELESS_MEDIUM = 0.5, 0.3
"""Public runs spend .2 to .8 of their tokens on prompts without variance; half is most of the bill."""
GREW = 1.2
"""Generation time a fifth longer than at the start is seen on the bill."""
SAME_PACE = 0.1
"""Seconds per token of the longest response within a tenth: the engine did not change."""
TREND_STEPS = 9
"""Three thirds of three steps."""


def difficulty(c: Context) -> Iterator[Finding]:
    """Are the stragglers the hard prompts?"""
    plain = c.figures.get("difficulty_length_spearman")
    whole = c.figures.get("difficulty_length_spearman_untruncated") or plain
    if plain is None or plain.value is None or whole is None or whole.value is None:
        return
    spread = c.value("p99_over_p50")
    if spread is not None and spread < EVEN:
        return  # no tail, nobody to blame for it
    low, high = whole.interval or (whole.value, whole.value)
    icc = c.value("icc_log_length")
    evidence = {
        "spearman": plain.value,
        "spearman_untruncated": whole.value,
        "interval": [low, high],
        "prompts": whole.n,
        "icc_log_length": icc,
    }
    if low <= 0 <= high or abs(whole.value) < RELATED:
        cut = low <= 0 <= high and abs(plain.value) >= RELATED
        cause = (
            f" The {plain.value:+.2f} over all responses comes from those cut at the cap, "
            "which count as wrong."
            if cut
            else ""
        )
        text = (
            f"Long responses have no useful relation to difficulty (rank correlation {whole.value:+.2f}, "
            f"95 % interval {low:+.2f} to {high:+.2f}, {whole.n:,} prompts).{cause}"
        )
        yield Finding("stragglers_unrelated_to_difficulty", "info", text, evidence, _remedy(icc))
        return
    kind = "hard" if whole.value > 0 else "easy"
    text = (
        f"The long responses belong to the {kind} prompts (rank correlation {whole.value:+.2f}, "
        f"95 % interval {low:+.2f} to {high:+.2f}, {whole.n:,} prompts)."
    )
    yield Finding(f"stragglers_are_{kind}", "low", text, evidence, _remedy(icc))


def _remedy(icc: float | None) -> str:
    if icc is None:
        return ""
    if icc >= ICC_HIGH:
        return (
            f"{percent(icc)} of the length variance lies between prompts: remedies by prompt (length-aware "
            "placement, batching long prompts together) can work."
        )
    if icc < ICC_LOW:
        return (
            f"Only {percent(icc)} of the length variance lies between prompts: remedies by response (partial "
            "rollouts, speculative decoding of the tail) fit better than those by prompt."
        )
    return ""


def zero_variance(c: Context) -> Iterator[Finding]:
    """Tokens spent on groups whose rewards do not vary."""
    share = c.value("useless_token_share")
    if share is None or share < USELESS_MEDIUM:
        return
    right, wrong = c.value("all_correct_share"), c.value("all_wrong_share")
    split = (
        f" ({percent(right)} of the groups all right, {percent(wrong)} all wrong)"
        if right is not None and wrong is not None
        else ""
    )
    rounds = c.value("dynamic_sampling_rounds")
    refill = f", which would take {rounds:.1f} rounds of generation here" if rounds is not None else ""
    yield Finding(
        "zero_variance_tokens",
        "high" if share >= USELESS_HIGH else "medium",
        f"{percent(share)} of the tokens go to prompts whose rewards are all equal{split}: they carry no "
        "gradient in group-relative training.",
        {"useless_token_share": share, "all_correct_share": right, "all_wrong_share": wrong},
        f"Leave out prompts that are solved or hopeless, or sample dynamically (DAPO){refill}.",
    )


def time_and_length(c: Context) -> Iterator[Finding]:
    """Did generation take longer because the longest response grew, or because tokens became slower?"""
    seconds = c.run.column("generate_s")
    longest = np.array([_longest(c, i) for i in range(len(c.run))])
    known = np.isfinite(seconds) & np.isfinite(longest) & (seconds > 0) & (longest > 0)
    if known.sum() < TREND_STEPS:
        return
    third = int(known.sum()) // 3
    took, length = seconds[known], longest[known]
    time_ratio = float(np.median(took[-third:]) / np.median(took[:third]))
    length_ratio = float(np.median(length[-third:]) / np.median(length[:third]))
    pace = float(np.median(took[-third:] / length[-third:]) / np.median(took[:third] / length[:third]))
    if time_ratio < GREW:
        return
    evidence = {"time_ratio": time_ratio, "longest_ratio": length_ratio, "pace_ratio": pace, "steps": third}
    grew = f"Generation takes {percent(time_ratio - 1)} longer at the end of the run than at its start"
    if abs(pace - 1) <= SAME_PACE:
        yield Finding(
            "time_grew_with_length",
            "low",
            f"{grew}, because the longest response grew by {percent(length_ratio - 1)}; seconds per token "
            "stayed the same.",
            evidence,
            "Compare steps at matched length before blaming the engine.",
        )
    elif pace > 1 + SAME_PACE:
        yield Finding(
            "time_grew_per_token",
            "medium",
            f"{grew}, and not only by length: seconds per token of the longest response grew by "
            f"{percent(pace - 1)} (its length by {_signed(length_ratio - 1)}).",
            evidence,
            "Look for a change on the engines: longer contexts, preemptions, fewer replicas, a shared host.",
        )


def _signed(change: float) -> str:
    return percent(change) if change >= 0 else f"-{percent(-change)}"


def _longest(c: Context, i: int) -> float:
    figure = c.lengths[i].get("response_tokens_max") if i < len(c.lengths) else None
    if figure is not None and figure.value is not None:
        return figure.value
    return float(c.run.column("response_tokens_max")[i])


def repeat_offenders(c: Context) -> Iterator[Finding]:
    """A few prompts that own most of the tail."""
    figure = c.figures.get("repeat_offender_share")
    epoch = c.figures.get("epoch_spearman")
    if figure is None or figure.value is None or figure.value < 0.5:
        return
    seen = (
        f" A prompt's length on one visit tells the next (rank correlation {number(epoch.value)})."
        if epoch is not None and epoch.value is not None and epoch.value >= 0.5
        else ""
    )
    yield Finding(
        "repeat_offenders",
        "low",
        f"{percent(figure.value)} of the slowest 5 % of rollouts belong to {figure.note}.{seen}",
        {"repeat_offender_share": figure.value},
        "Look at these prompts: drop them, shorten them, or start them first.",
    )


RULES = (difficulty, zero_variance, time_and_length, repeat_offenders)
