"""How much one figure changed from one run to another, and whether that is more than noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.registry import REGISTRY
from rollprof.compare import matched
from rollprof.compare.series import FigureSeries, RunSeries

Floats = NDArray[np.float64]
Aggregate = Literal["run", "median", "mean", "p95", "max"]
AGGREGATES: tuple[Aggregate, ...] = ("run", "median", "mean", "p95", "max")
Word = Literal["same", "noise", "perhaps", "real", "unknown"]


def _p95(values: Floats) -> Floats:
    """By nearest rank, as `stats.quantiles.nearest_rank`, over the last axis."""
    rank = max(math.ceil(0.95 * values.shape[-1] - 1e-9), 1) - 1
    return np.asarray(np.partition(values, rank, axis=-1)[..., rank])


STATISTICS: Mapping[str, matched.Statistic] = MappingProxyType(
    {
        "median": lambda v: np.asarray(np.median(v, axis=-1)),
        "mean": lambda v: np.asarray(np.mean(v, axis=-1)),
        "p95": _p95,
        "max": lambda v: np.asarray(np.max(v, axis=-1)),
    }
)
"""What makes one number of a run's steps."""

PERHAPS, REAL = 0.1, 0.01
"""Chance of so large a difference without a cause, up to which it is perhaps real, and taken as real."""
RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a figure from `old` to `new` (the runs' own values, or of the aggregate asked for).

    `difference` and `relative` are as compared: for times (`matched`) at equal response lengths. Their 90 %
    intervals are None where too few steps, or nothing, says how much is noise. `p` is the chance of such a
    difference between runs that do not differ. `steps` are those of the old and of the new run that count;
    `why` says why nothing can be compared, "" when it can; `how` what was compared.
    """

    figure: str
    unit: str
    old: float | None
    new: float | None
    difference: float | None = None
    relative: float | None = None
    interval: tuple[float, float] | None = None
    relative_interval: tuple[float, float] | None = None
    p: float | None = None
    matched: bool = False
    steps: tuple[int, int] = (0, 0)
    how: str = ""
    why: str = ""

    @property
    def word(self) -> Word:
        """Whether the change is noise: `same`, `noise`, `perhaps`, `real`, or `unknown`."""
        if self.interval == (0.0, 0.0):
            return "same"
        if self.p is None:
            return "unknown"
        return "real" if self.p <= REAL else "perhaps" if self.p <= PERHAPS else "noise"


def change(
    old: RunSeries, new: RunSeries, name: str, *, aggregate: Aggregate = "run", match: bool = True
) -> Change:
    """The change of figure `name`. `match=False` compares times as they are, whatever the lengths."""
    a, b = old.figures.get(name), new.figures.get(name)
    if a is None or b is None:
        which = "either run" if a is None and b is None else "the old run" if a is None else "the new run"
        return _nothing(name, a, b, f"not in the log of {which}")
    if a.unit != b.unit:
        return _nothing(name, a, b, f"in {a.unit} before, in {b.unit} now")
    if aggregate != "run" and not (a.values and b.values):
        return _nothing(name, a, b, f"has no value per step to take the {aggregate} of")
    told = _told(name, aggregate)
    before, after = _value(old, name, aggregate, told), _value(new, name, aggregate, told)
    steps = (_count(old, name), _count(new, name))
    timed = match and a.unit == "s" and bool(a.values and b.values)
    if a == b and (not timed or _same_lengths(old, new)):
        zero = (0.0, 0.0)
        relative = 0.0 if before != 0.0 else None
        return Change(
            name, a.unit, before, after, 0.0, relative, zero, zero, 1.0, timed, steps, "the same steps"
        )
    if timed:
        found = _matched(old, new, name, told, before, after, steps)
        if found is not None:
            return found
    if before is not None and after is not None and a.values and b.values:
        return _stepwise(old, new, name, told, (before, after), steps)
    return _from_intervals(name, a, b, steps)


def _nothing(name: str, a: FigureSeries | None, b: FigureSeries | None, why: str) -> Change:
    unit = a.unit if a is not None else b.unit if b is not None else REGISTRY[name].unit
    return Change(name, unit, a.value if a else None, b.value if b else None, why=why)


def _told(name: str, aggregate: Aggregate) -> str:
    """The statistic over steps that stands for the run: the one asked for, or nearest to the run's own.

    Sums and maxima over a run grow with its length, so the mean over steps is what can be compared.
    """
    if aggregate != "run":
        return aggregate
    return "median" if REGISTRY[name].aggregation.startswith("median") else "mean"


_GROWS = frozenset({"sum", "max", "max over all rollouts", "min over all rollouts"})


def _value(run: RunSeries, name: str, aggregate: Aggregate, told: str) -> float | None:
    values = run.column(name)
    values = values[np.isfinite(values)]
    grows = REGISTRY[name].aggregation in _GROWS
    if len(values) and (aggregate != "run" or grows):
        return float(STATISTICS[told](values))
    return run.figures[name].value


def _count(run: RunSeries, name: str) -> int:
    return int(np.isfinite(run.column(name)).sum())


_LENGTHS = ("response_tokens_mean", "response_tokens_max", "response_tokens_std", "rollouts")


def _same_lengths(old: RunSeries, new: RunSeries) -> bool:
    return all(old.figures.get(name) == new.figures.get(name) for name in _LENGTHS)


def _matched(
    old: RunSeries,
    new: RunSeries,
    name: str,
    told: str,
    before: float | None,
    after: float | None,
    steps: tuple[int, int],
) -> Change | None:
    unit = new.figures["response_tokens_mean"].unit if "response_tokens_mean" in new.figures else ""
    was = old.figures.get("response_tokens_mean")
    if was is None or was.unit != unit or before is None or after is None:
        return None
    covariates = matched.waits if name.startswith(("straggler_wait", "tail_time")) else matched.lengths
    ratio = matched.matched_ratio(
        (old.column(name), covariates(old)), (new.column(name), covariates(new)), STATISTICS[told]
    )
    if ratio is None:
        return None
    relative = _hull([_quantiles(d) for d in ratio.draws])
    if relative is not None:
        relative = (min(relative[0], ratio.value), max(relative[1], ratio.value))
    p = max((_chance(d) for d in ratio.draws), default=None)
    interval = None if relative is None else (_seconds(after, relative[0]), _seconds(after, relative[1]))
    how = f"{told} over steps, at the response lengths of the new run"
    difference = _seconds(after, ratio.value)
    return Change(name, "s", before, after, difference, ratio.value, interval, relative, p, True, steps, how)


def _seconds(after: float, relative: float) -> float:
    """The seconds of `after` that are there because the run is `relative` slower."""
    return after * relative / (1 + relative) if relative > -1 else -math.inf


def _stepwise(
    old: RunSeries, new: RunSeries, name: str, told: str, values: tuple[float, float], steps: tuple[int, int]
) -> Change:
    a, b = old.column(name), new.column(name)
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    before, after = values
    difference = after - before
    how = f"{told} over steps"
    unit = new.figures[name].unit
    if min(steps) < matched.MIN_STEPS:
        return Change(
            name, unit, before, after, difference, _relative(difference, before), None, None, None, False,
            steps, how,
        )  # fmt: skip
    draws = _resampled(b, told, 1) - _resampled(a, told, 0)
    draws += difference - float(STATISTICS[told](b) - STATISTICS[told](a))
    low, high = _quantiles(draws)
    low, high = min(low, difference), max(high, difference)
    widened = _widened(old.figures[name], new.figures[name], difference, low, high)
    p = _chance(draws)
    if widened != (low, high):
        p = max(p, _chance_of(difference, widened))
    return _finish(name, unit, values, difference, widened, p, steps, how)


def _resampled(values: Floats, told: str, stream: int) -> Floats:
    return STATISTICS[told](values[matched.draw_rows(len(values), RESAMPLES, stream)])


def _widened(
    a: FigureSeries, b: FigureSeries, difference: float, low: float, high: float
) -> tuple[float, float]:
    """The interval with what is not known about either run's own figure added, as independent errors.

    The bracket of a modelled figure is no error that averages out: its ends are added as they are.
    """
    down, up = [difference - low], [high - difference]
    for figure, sign in ((a, -1.0), (b, 1.0)):
        if figure.interval is None or figure.value is None:
            continue
        below, above = figure.value - figure.interval[0], figure.interval[1] - figure.value
        down.append(below if sign > 0 else above)
        up.append(above if sign > 0 else below)
    add = sum if "modelled" in (a.basis, b.basis) else _root
    return difference - add(down), difference + add(up)


def _root(parts: list[float]) -> float:
    return math.sqrt(sum(p * p for p in parts))


def _from_intervals(name: str, a: FigureSeries, b: FigureSeries, steps: tuple[int, int]) -> Change:
    """Two figures of which only their own intervals are known."""
    if a.value is None or b.value is None:
        first, second = _ends(a), _ends(b)
        interval = (second[0] - first[1], second[1] - first[0])
        p = 0.0 if interval[0] > 0 or interval[1] < 0 else 1.0
        return Change(
            name, a.unit, a.value, b.value, None, None, interval, None, p, False, steps, "the two ranges"
        )
    difference = b.value - a.value
    # without a value per step, an interval without width says nothing about what another run would give
    sampled = [f for f in (a, b) if f.interval is not None and f.interval[0] < f.interval[1]]
    if len(sampled) < 2:
        return Change(
            name, a.unit, a.value, b.value, difference, _relative(difference, a.value), None, None, None,
            False, steps, "over the run",
        )  # fmt: skip
    widened = _widened(a, b, difference, difference, difference)
    p = _chance_of(difference, widened)
    how = "over the run"
    return _finish(name, a.unit, (a.value, b.value), difference, widened, p, steps, how)


def _finish(
    name: str,
    unit: str,
    values: tuple[float, float],
    difference: float,
    interval: tuple[float, float],
    p: float,
    steps: tuple[int, int],
    how: str,
) -> Change:
    before, after = values
    relative = (_relative(interval[0], before), _relative(interval[1], before))
    ends = None if relative[0] is None or relative[1] is None else (relative[0], relative[1])
    return Change(
        name, unit, before, after, difference, _relative(difference, before), interval, ends, p, False,
        steps, how,
    )  # fmt: skip


def _relative(difference: float, before: float) -> float | None:
    return difference / abs(before) if before else None


def _ends(figure: FigureSeries) -> tuple[float, float]:
    if figure.interval is not None:
        return figure.interval
    assert figure.value is not None
    return figure.value, figure.value


def _quantiles(draws: Floats) -> tuple[float, float]:
    low, high = np.quantile(draws, [0.05, 0.95]).tolist()
    return low, high


def _hull(intervals: list[tuple[float, float]]) -> tuple[float, float] | None:
    if not intervals:
        return None
    return min(i[0] for i in intervals), max(i[1] for i in intervals)


def _chance(draws: Floats) -> float:
    """Two-sided bootstrap p-value of no difference; never 0, which no number of resamples shows."""
    below, above = int((draws <= 0).sum()), int((draws >= 0).sum())
    return min(1.0, 2 * (min(below, above) + 1) / (len(draws) + 1))


def _chance_of(difference: float, interval: tuple[float, float]) -> float:
    """The same from a 90 % interval, of an error that is normal on each side."""
    side = difference - interval[0] if difference > 0 else interval[1] - difference
    if side <= 0:
        return 0.0 if difference else 1.0
    return math.erfc(abs(difference) / (side / 1.6449) / math.sqrt(2))


def steps_needed(found: Change, limit: float, *, relative: bool) -> int | None:
    """Steps of each run with which the interval would fall on one side of `limit`; None where no number
    would do (the change is the limit), or where nothing says how large the noise is.

    The width of an interval shrinks with the root of the number of steps.
    """
    value = found.relative if relative else found.difference
    interval = found.relative_interval if relative else found.interval
    n = min(found.steps)
    if n < matched.MIN_STEPS:
        return matched.MIN_STEPS
    if value is None or interval is None or value == limit:
        return None
    width = value - interval[0] if value > limit else interval[1] - value
    needed = math.ceil(n * (width / abs(value - limit)) ** 2)
    return max(needed, n + 1) if needed < MOST_NEEDED else None


MOST_NEEDED = 100_000
"""No run has more steps than this."""
