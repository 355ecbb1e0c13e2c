"""A comparison in words and cells, the same in the terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rollprof.analyzers.results import Figure
from rollprof.compare.change import Change
from rollprof.compare.comparison import Comparison, Row
from rollprof.compare.decomposition import Decomposition, Part
from rollprof.render.numbers import figure_percent, number, percent, quantity, seconds
from rollprof.render.text import clean

MAIN = (
    "step_idle",
    "generation_idle",
    "effective_idle",
    "slot_idle",
    "engine_idle",
    "trainer_idle",
    "step_s",
    "generate_s",
    "update_s",
    "weight_sync_s",
    "straggler_wait_mean_s",
    "tail_time_share",
    "tokens_per_gpu_s",
    "response_tokens_mean",
    "response_tokens_p50",
    "response_tokens_p99",
    "max_over_median",
    "truncated_share",
    "reward_mean",
)
"""What is shown unless everything is asked for; a figure that changed for real is shown as well."""

WORDS = {
    "same": "the same",
    "noise": "noise",
    "perhaps": "perhaps real",
    "real": "real",
    "unknown": "too few steps to tell",
}


def rows(comparison: Comparison, *, full: bool) -> list[Row]:
    """The rows to show, in the registry's order."""
    return [r for r in comparison.rows if full or r.name in MAIN]


def value(figure: Figure | None, unit: str) -> str:
    """A figure in a cell; a bracket as its range."""
    if figure is None:
        return "–"
    if unit == "fraction":
        return figure_percent(figure)
    if figure.value is not None:
        # the name of the figure says that it counts tokens
        return quantity(figure.value, "" if unit == "tokens" else unit)
    if figure.interval is None:
        return "–"
    return f"{quantity(figure.interval[0], unit)} to {quantity(figure.interval[1], unit)}"


def difference(change: Change) -> str:
    """`+16.8 % (+16.1..+17.4)`, fractions in percentage points; times at matched length."""
    if change.why:
        # the dash in the run's own column says it already
        return "" if change.old is None or change.new is None else clean(change.why)
    if change.difference is None:
        return "only ranges are known"
    if change.unit == "fraction":
        return f"{_signed(change.difference * 100, ' pp')}{_ends(change.interval, 100)}"
    if change.relative is not None:
        return f"{_signed(change.relative * 100, ' %')}{_ends(change.relative_interval, 100)}"
    return f"{_signed(change.difference, '')}{_ends(change.interval, 1)}"


def _ends(interval: tuple[float, float] | None, scale: float) -> str:
    if interval is None or interval[0] == interval[1]:
        return ""
    return f" ({_signed(interval[0] * scale, '')}..{_signed(interval[1] * scale, '')})"


def _signed(value: float, unit: str) -> str:
    if value == 0:
        return f"0{unit}"
    digits = ".2g" if abs(value) < 0.05 else ".1f" if abs(value) < 99.5 else ",.0f"
    return f"{value:+{digits}}{unit}"


def short(change: Change) -> str:
    """The same in a word: `real*` where times were compared at matched length."""
    if change.why or change.difference is None:
        return "–"
    star = "*" if change.matched and change.word != "same" else ""
    return {"perhaps": "perhaps", "unknown": "?"}.get(change.word, change.word) + star


def word(change: Change) -> str:
    """Whether it is noise, and what was compared."""
    if change.why or change.difference is None:
        return ""
    matched = ", at matched length" if change.matched and change.word != "same" else ""
    return WORDS[change.word] + matched


def setting(value: Any) -> str:
    """A value of a setting; what a run does not say is a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, int | float) else clean(str(value), 60)


def generation(found: Decomposition | str) -> str:
    """The change in generation time and its main cause, in a sentence."""
    if isinstance(found, str):
        return f"What a change in generation time is made of cannot be told: {found}."
    change = found.change_s
    ends = f"{seconds(found.old_s)} to {seconds(found.new_s)}"
    start = f"Generation: {ends} a step on average ({_signed_s(change)})"
    if not found.main:
        reason = "no more than noise" if found.interval is not None else "no part stands out"
        return f"{start}, {reason}."
    return f"{start}, mainly {found.main}."


def remark(found: Decomposition | str) -> str:
    """What belongs beside the parts; "" for nothing."""
    if isinstance(found, str):
        return ""
    parts = []
    if not found.elsewhere_known:
        parts.append(
            "the logs do not tell the rollouts' own time from the rest of the call: waiting elsewhere is "
            "part of the time per token"
        )
    if found.pace_interval is None:
        parts.append("too few steps for intervals")
    else:
        low, high = (_signed(end * 100, "") for end in found.pace_interval)
        parts.append(f"at equal lengths {_signed(found.pace * 100, ' %')} ({low} to {high})")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "."


def part(one: Part) -> tuple[str, str, str]:
    """Name, seconds with sign, interval."""
    ends = ""
    if one.interval is not None:
        ends = f"{_signed_s(one.interval[0])} to {_signed_s(one.interval[1])}"
    return one.name, _signed_s(one.seconds), ends


def _signed_s(value: float) -> str:
    """Parts near nothing are rounding of the arithmetic, not milliseconds."""
    if abs(value) < 5e-4:
        return "0 s"
    return f"{'+' if value > 0 else '-'}{seconds(abs(value))}"


def quantile_rows(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Mean-free picture of the lengths: quantiles of each run."""
    overlay = comparison.lengths
    if overlay is None:
        return []
    wanted = (("p10", 10), ("p50", 50), ("p90", 90), ("p99", 99), ("max", 100))
    return [(name, [number(q[at]) if q else "–" for q in overlay.quantiles]) for name, at in wanted]


def share(value: float) -> str:
    """A share of the rollouts."""
    return percent(value)


def labels(comparison: Comparison) -> Sequence[str]:
    """What the runs are called."""
    return [clean(side.label, 40) for side in comparison.sides]
