"""Alarms: numbers that contradict each other, logs that are not whole. They come first and mute advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rollprof.analyzers.findings.context import Context, number, of_steps, percent
from rollprof.analyzers.results import Finding

LENGTHS_DISAGREE = 0.05
"""Counted and logged mean lengths differ by special tokens, not by more than this."""
COUNTS_DISAGREE = 0.02
"""Rollouts dumped and rollouts trained on: identities of rounded numbers are good to this."""
MANY_STEPS = 0.1
"""One odd step is the end of a killed run; a tenth of the steps is a mismatch."""
LINES_LOST = 0.01
"""A killed run loses its last line; a hundredth of the lines is more than that."""
OUTSIDE = 0.05
"""How far a measured slot_idle may lie outside its bracket: the identity behind it is good to .045 on many
engines."""


def alarms(c: Context) -> Iterator[Finding]:
    """In the order of their weight."""
    for entry in c.run.meta.get("alarms") or ():
        if isinstance(entry, Mapping) and entry.get("text"):
            evidence = entry.get("evidence")
            yield Finding(
                str(entry.get("code") or "alarm"),
                "low" if entry.get("handled") else "alarm",
                _sentence(str(entry["text"])),
                dict(evidence) if isinstance(evidence, Mapping) else {},
            )
    yield from _lines_lost(c.run.meta.get("ledger") or {})
    yield from _generation_exceeds_step(c)
    yield from _phases_overlap(c)
    yield from _counts_disagree(c)
    yield from _lengths_disagree(c)
    yield from _outside_the_bracket(c)


def _sentence(text: str) -> str:
    plain = text.strip()
    return f"{plain[:1].upper()}{plain[1:]}" + ("" if plain.endswith((".", "!", "?")) else ".")


def _lines_lost(ledger: Mapping[str, Any]) -> Iterator[Finding]:
    skipped = int(ledger.get("skipped") or 0)
    lines = skipped + int(ledger.get("read") or 0) + int(ledger.get("repaired") or 0)
    if skipped and skipped >= LINES_LOST * lines:
        yield Finding(
            "log_truncated",
            "alarm",
            f"{number(skipped)} of {number(lines)} lines could not be read: part of the run may be missing.",
            {"skipped": skipped, "lines": lines},
        )


def _generation_exceeds_step(c: Context) -> Iterator[Finding]:
    steps = c.idle.contradicting
    if steps:
        yield Finding(
            "generation_exceeds_step",
            "alarm",
            f"Generation takes longer than the whole step {of_steps(len(steps), len(c.run))} "
            f"(first in step {steps[0]}): these times cannot belong together.",
            {"steps": list(steps[:20]), "count": len(steps)},
        )


def _phases_overlap(c: Context) -> Iterator[Finding]:
    if c.phases.overlap and not c.idle.contradicting:
        total = sum(f.value or 0.0 for f in c.phases.shares.values())
        yield Finding(
            "phases_exceed_step",
            "alarm",
            f"The logged phases add up to {percent(total)} of the step: some run in parallel or outside it.",
            {"sum_of_shares": total},
        )


def _counts_disagree(c: Context) -> Iterator[Finding]:
    logged = c.run.column("rollouts")
    pairs = [(i, s.stop - s.start, logged[i]) for i, s in c.run.slices.items() if logged[i] > 0]
    odd = [(i, have, said) for i, have, said in pairs if abs(have - said) > max(1, COUNTS_DISAGREE * said)]
    if odd and len(odd) > MANY_STEPS * len(pairs):
        i, have, said = odd[0]
        yield Finding(
            "rollout_counts_disagree",
            "alarm",
            f"The rollouts in the log and the number trained on differ {of_steps(len(odd), len(pairs))} "
            f"(step {c.run.steps[i]}: {number(have)} against {number(said)}): the log is not whole.",
            {"step": int(c.run.steps[i]), "rollouts": int(have), "logged": float(said), "steps": len(odd)},
        )


def _lengths_disagree(c: Context) -> Iterator[Finding]:
    if not c.run.rollouts.exact:
        return
    logged = c.run.column("response_tokens_mean")
    pairs = []
    for i, span in c.run.slices.items():
        L = c.run.rollouts.length[span]
        if logged[i] > 0 and not np.isnan(L).all():
            pairs.append((i, float(np.nanmean(L)), float(logged[i])))
    odd = [(i, own, said) for i, own, said in pairs if abs(own - said) > LENGTHS_DISAGREE * said]
    if odd and len(odd) > MANY_STEPS * len(pairs):
        i, own, said = odd[0]
        yield Finding(
            "lengths_disagree",
            "alarm",
            f"Mean response length counted and logged differ {of_steps(len(odd), len(pairs))} "
            f"(step {c.run.steps[i]}: {number(own)} against {number(said)} tokens).",
            {"step": int(c.run.steps[i]), "counted": own, "logged": said, "steps": len(odd)},
        )


def _outside_the_bracket(c: Context) -> Iterator[Finding]:
    """Steps in which the clock, with what its samples leave open, contradicts the bracket from lengths."""
    odd = []
    for p in c.idle.phases:
        slot, bracket = p.figures.get("slot_idle"), p.slot_others.get("modelled")
        if slot is None or slot.value is None or slot.bound is not None or not isinstance(bracket, tuple):
            continue
        low, high = slot.interval or (slot.value, slot.value)
        apart = high < bracket[0] - OUTSIDE or low > bracket[1] + OUTSIDE
        if slot.basis in ("measured", "logged") and apart:
            odd.append((p.evidence.generation.index, slot.value, bracket))
    if odd:
        i, value, bracket = odd[0]
        many = len(odd) > MANY_STEPS * len(c.idle.phases)
        yield Finding(
            "slot_idle_outside_bracket",
            "low" if many else "info",
            "The clock's slot_idle lies outside what the lengths allow "
            f"{of_steps(len(odd), len(c.idle.phases))} (step {c.run.steps[i]}: {value:.2f}, lengths "
            f"{bracket[0]:.2f} to {bracket[1]:.2f}): something other than decoding takes time (tools, "
            "rewards, a slow host), or the engines are those of another run.",
            {"step": int(c.run.steps[i]), "slot_idle": value, "bracket": list(bracket), "steps": len(odd)},
        )
