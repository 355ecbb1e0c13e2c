"""An outcome in words, the same in every report: what was found, what the limit is, how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from rollprof.gate.verdict import Outcome, Verdict
from rollprof.render.numbers import apart, is_wide, number, plural, quantity
from rollprof.render.text import clean

_SIGNS = {
    ("max", "broken"): ">",
    ("max", "holds"): "≤",
    ("max", "undecided"): "against",
    ("min", "broken"): "<",
    ("min", "holds"): "≥",
    ("min", "undecided"): "against",
}
_KINDS = {"max": "max", "min": "min", "max_increase": "max increase"}


def label(outcome: Outcome) -> str:
    """`step_idle max 0.30`: the rule, as it was written; what names it in lists."""
    rule = outcome.rule
    how = "" if rule.aggregate in (None, "run") else f" {rule.aggregate}"
    return f"{outcome.figure}{how} {_KINDS[rule.kind]} {rule.limit.text}"


def _unit(outcome: Outcome) -> str:
    if outcome.relative:
        return "fraction"
    return "" if outcome.unit in ("ratio", "correlation") else outcome.unit


def _shown(value: float, outcome: Outcome) -> str:
    """A value with as many digits as it takes to see on which side of the limit it lies."""
    text = apart(value, outcome.limit, _unit(outcome))[0]
    return f"+{text}" if outcome.kind == "max_increase" and value > 0 else text


def found(outcome: Outcome) -> str:
    """The value that was compared, or the range where only that is known."""
    if outcome.value is not None:
        sign = {"upper": "at most ", "lower": "at least "}.get(outcome.bound or "", "")
        return sign + _shown(outcome.value, outcome)
    if outcome.interval is not None:
        return f"{_shown(outcome.interval[0], outcome)} to {_shown(outcome.interval[1], outcome)}"
    return "nothing"


def limit(outcome: Outcome) -> str:
    """The limit, with digits to match the value."""
    against = outcome.value
    if against is None and outcome.interval is not None:
        against = min(outcome.interval, key=lambda end: abs(end - outcome.limit))
    unit = _unit(outcome)
    text = quantity(outcome.limit, unit) if against is None else apart(against, outcome.limit, unit)[1]
    sign = "+" if outcome.kind == "max_increase" and outcome.limit > 0 else ""
    return f"{_KINDS[outcome.kind]} {sign}{text}"


def comparison(outcome: Outcome) -> str:
    """`run 38.9 % > max 30.0 %`; for a rule that cannot be computed, that."""
    if outcome.status in ("unknown", "skipped"):
        return f"cannot be computed: {clean(outcome.why)}"
    aggregate = outcome.rule.aggregate or "run"
    kind = "min" if outcome.kind == "min" else "max"
    sign = _SIGNS.get((kind, _compared(outcome)), "against")
    return f"{aggregate} {found(outcome)} {sign} {limit(outcome)}"


def _compared(outcome: Outcome) -> str:
    """How the value itself compares: a rule broken by --strict need not have its value beyond the limit."""
    if outcome.value is None:
        return outcome.status if not outcome.strictly else "undecided"
    if outcome.value == outcome.limit:
        return "holds"
    beyond = outcome.value < outcome.limit if outcome.kind == "min" else outcome.value > outcome.limit
    return "broken" if beyond else "holds"


def details(outcome: Outcome) -> list[str]:
    """Steps, worst step, basis, interval, and what else belongs beside the numbers."""
    if outcome.status in ("unknown", "skipped"):
        if outcome.enable:
            return [f"would bring it: {clean(outcome.enable)}"]
        lacking = "not in this log" in outcome.why
        return [f"what it needs: rollprof explain {outcome.figure}"] if lacking else []
    parts = [plural(outcome.steps, "step") if outcome.steps else "", _worst(outcome)]
    parts += [outcome.basis or "", _interval(outcome), *_change(outcome), undecided(outcome)]
    parts += [clean(outcome.note)] if outcome.note else []
    return [part for part in parts if part]


def _worst(outcome: Outcome) -> str:
    if outcome.worst is None or outcome.kind == "max_increase" or outcome.steps < 2:
        return ""
    step, value = outcome.worst
    return f"worst step {step}: {apart(value, outcome.limit, _unit(outcome))[0]}"


def _interval(outcome: Outcome) -> str:
    if outcome.interval is None or outcome.value is None or not is_wide(outcome.interval):
        return ""
    low, high = (_shown(end, outcome) for end in outcome.interval)
    name = "range" if outcome.basis == "modelled" or outcome.bound else "90 % interval"
    return f"{name} {low} to {high}"


def _change(outcome: Outcome) -> list[str]:
    if outcome.kind != "max_increase":
        return []
    parts = []
    if outcome.old is not None and outcome.new is not None:
        values = [quantity(v, outcome.unit) for v in (outcome.old, outcome.new)]
        parts.append(f"{values[0]} in the baseline, {values[1]} now")
    parts.append("compared at matched response length" if outcome.matched else "")
    return parts


def undecided(outcome: Outcome) -> str:
    """Why a rule is undecided and what would decide it; "" for another."""
    if outcome.status != "undecided" and not outcome.strictly:
        return ""
    if outcome.kind != "max_increase":
        return "the limit lies inside what is known of it"
    if outcome.interval is None:
        need = outcome.steps_needed
        return f"{need} steps in each run are needed to tell it from noise" if need else "noise is unknown"
    if outcome.steps_needed is None:
        return "not told from noise at this limit"
    return f"not told from noise: about {number(outcome.steps_needed)} steps in each run would decide"


def place(outcome: Outcome, root: str = "") -> str:
    """Where the rule was written, a file as seen from `root`."""
    written = outcome.rule.place
    if written.file is None:
        return clean(written.words)
    return f"{relative(written.file, root)}:{written.line}"


def relative(file: str, root: str) -> str:
    """A path as seen from a folder above it; itself where it lies elsewhere. Always with `/`."""
    path = PurePath(file)
    if root and path.is_relative_to(root):
        path = path.relative_to(root)
    return clean(path.as_posix())


def sentence(outcome: Outcome) -> str:
    """One line: comparison and details."""
    more = details(outcome)
    return comparison(outcome) + (f" ({'; '.join(more)})" if more else "")


def status(outcome: Outcome) -> str:
    """`broken`, `warning` for a broken rule that only warns, `undecided`, `holds`, ..."""
    if outcome.status == "broken" and outcome.rule.level == "warn":
        return "warning"
    return {"unknown": "no value"}.get(outcome.status, outcome.status)


def tally(verdict: Verdict) -> str:
    """`3 rules: 1 broken, 1 undecided, 1 holds`."""
    counts: dict[str, int] = {}
    for outcome in verdict.worst_first:
        counts[status(outcome)] = counts.get(status(outcome), 0) + 1
    return f"{plural(len(verdict.outcomes), 'rule')}: {_listed(counts)}"


def _listed(counts: dict[str, int]) -> str:
    names = {"warning": "broken (warns only)", "no value": "cannot be computed", "holds": "holds"}
    parts: Sequence[str] = [f"{n} {_plural(names.get(word, word), n)}" for word, n in counts.items()]
    return ", ".join(parts)


def _plural(word: str, n: int) -> str:
    return "hold" if word == "holds" and n != 1 else word
