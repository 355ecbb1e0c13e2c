"""How long rollouts waited for the last one of their step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.combine import Weighted, absent, exact, mean_of, weighted_mean
from rollprof.analyzers.completions import Completions, by_length, timed
from rollprof.analyzers.generations import Generation
from rollprof.analyzers.results import Basis, Figure, StepFigure, weaker
from rollprof.analyzers.run_data import RunData
from rollprof.analyzers.straggler_cause import cause, last_of
from rollprof.model.clock import clock_idle, t90

Floats = NDArray[np.float64]

STATS = ("mean", "p50", "max")


@dataclass(frozen=True, slots=True)
class Wait:
    """Waiting in one generation phase.

    `figures` by name, on the best basis `basis`; `modelled` the same from lengths, for comparison. `n`
    rollouts weigh the step, `end` is T in `unit`. `last` is the position of the last rollout in the run's
    rollouts, None where only aggregates are known, and `why` it was last. `empty` is the share of slots
    empty by completions that come from lengths.
    """

    generation: Generation
    figures: Mapping[str, StepFigure]
    n: float
    end: float
    unit: str
    basis: Basis
    last: int | None = None
    why: str = "unknown"
    empty: float | None = None
    modelled: Mapping[str, float] = field(default_factory=dict)


def waits(run: RunData, phases: Sequence[Generation]) -> list[Wait]:
    """The waiting in every generation phase that has a barrier and any evidence."""
    found = (_wait(run, g) for g in phases if not g.reason)
    return [w for w in found if w is not None]


def completions_of(run: RunData, g: Generation) -> Completions | None:
    """Completions of a phase on the best basis: a clock, or lengths and the phase's duration."""
    return timed(run, g) or by_length(run, g, _duration(run, g))


def _wait(run: RunData, g: Generation) -> Wait | None:
    clock = timed(run, g)
    lengths = by_length(run, g, _duration(run, g) if clock is None else clock.end)
    best = clock or lengths
    logged = {} if clock is not None else _from_aggregates(run, g)
    if best is None:
        if not logged:
            return None
        n, end, groups = (float(run.column(c)[g.index]) for c in ("rollouts", "rollout_s_max", "group_s_max"))
        end = groups if np.isnan(end) else end
        return Wait(g, {**logged, **_pace(run, g)}, n if n > 0 else 1.0, end, "s", "logged")
    figures = {**_figures(best), **logged}
    modelled: dict[str, float] = {}
    if lengths is not None and (clock is not None or logged):
        beside = _figures(lengths)
        modelled = {
            n: f.value for n, f in beside.items() if f.value is not None and figures[n].basis != f.basis
        }
    k = last_of(run, best)
    return Wait(
        g,
        {**figures, **_pace(run, g, best, k)},
        float(best.of),
        best.end,
        best.unit,
        best.basis,
        int(best.at[k]),
        cause(run, best, k),
        None if clock is not None else _empty(run, best),
        modelled,
    )


def _empty(run: RunData, c: Completions) -> float:
    return clock_idle(c.start, c.finish, run.facts.capacity(c.of)).slot_idle


def _pace(run: RunData, g: Generation, c: Completions | None = None, k: int = 0) -> dict[str, StepFigure]:
    """decode_s_per_token: of the last rollout; from aggregates, of the slowest over the longest."""
    basis: Basis = "modelled"
    if c is not None and c.basis != "modelled":
        took, tokens, basis = float(c.finish[k] - c.start[k]), float(run.rollouts.length[c.at[k]]), c.basis
    else:
        took, tokens = (float(run.column(n)[g.index]) for n in ("rollout_s_max", "response_tokens_max"))
    if not (took > 0 and tokens > 0) or (basis != "modelled" and run.rollouts.unit != "tokens"):
        return {}
    return {"decode_s_per_token": StepFigure(took / tokens, basis, (took / tokens, took / tokens))}


def _duration(run: RunData, g: Generation) -> float | None:
    """T of a phase without the rollouts' own times: the slowest rollout, else the generation call."""
    slowest = float(run.column("rollout_s_max")[list(g.members)].max())
    for value in (slowest, g.generate_s):
        if value > 0:
            return value
    return None


def _figures(c: Completions) -> dict[str, StepFigure]:
    wait = c.end - c.finish
    tail = c.end - t90(c.finish)
    suffix = "s" if c.unit == "s" else "tokens"
    values = {
        f"straggler_wait_mean_{suffix}": float(wait.mean()),
        f"straggler_wait_p50_{suffix}": float(np.median(wait)),
        f"straggler_wait_max_{suffix}": float(wait.max()),
        "tail_time_share": tail / c.end,
    }
    if suffix == "s":
        values["tail_time_s"] = tail
    return {name: StepFigure(v, c.basis, (v, v)) for name, v in values.items()}


def _from_aggregates(run: RunData, g: Generation) -> dict[str, StepFigure]:
    """Mean wait = max - mean of the logged per-rollout times, the longest wait = max - min."""
    if g.pooled:
        return {}
    low, mean, high = (float(run.column(f"rollout_s_{c}")[g.index]) for c in ("min", "mean", "max"))
    found: dict[str, StepFigure] = {}
    for name, part in (("mean", mean), ("max", low)):
        if high >= part >= 0:
            value = high - part
            found[f"straggler_wait_{name}_s"] = StepFigure(value, "logged", (value, value))
    return found or _from_groups(run, g)


def _from_groups(run: RunData, g: Generation) -> dict[str, StepFigure]:
    """Lower bounds from the times of whole prompt groups: a response is done no later than its group."""
    mean, p90, top = (float(run.column(f"group_s_{s}")[g.index]) for s in ("mean", "p90", "max"))
    found = {}
    for name, part in (("straggler_wait_mean_s", mean), ("tail_time_s", p90)):
        if 0 < part <= top and not run.facts.requests_may_queue:
            found[name] = StepFigure(top - part, "logged", (top - part, top), "lower")
    if "tail_time_s" in found:
        found["tail_time_share"] = StepFigure(1 - p90 / top, "logged", (1 - p90 / top, 1.0), "lower")
    return found


def wait_figures(found: Sequence[Wait], reason: str) -> dict[str, Figure]:
    """Figures of the run; `reason` says why they are absent where they are.

    Seconds where any step has a time, otherwise tokens; the two are never mixed.
    """
    seconds = [w for w in found if w.unit == "s"]
    used = seconds or list(found)
    suffix = "s" if seconds or not used else "tokens"
    names = [f"straggler_wait_{stat}_{suffix}" for stat in STATS]
    unit = None if suffix == "s" or not used else used[0].unit
    figures = {
        names[0]: _mean(names[0], used, unit),
        names[1]: _mean(names[1], used, unit),
        names[2]: _largest(names[2], used, unit),
        "tail_time_s": _sum("tail_time_s", used),
        "tail_time_share": _share("tail_time_share", used),
        "decode_s_per_token": _median("decode_s_per_token", found),
    }
    return {n: f if f.value is not None else absent(n, reason) for n, f in figures.items()}


def _mean(name: str, used: Sequence[Wait], unit: str | None) -> Figure:
    items = [Weighted(w.figures[name], w.n) for w in used if name in w.figures]
    return weighted_mean(name, items, others=_modelled(name, used, lambda w: w.n), unit=unit)


def _share(name: str, used: Sequence[Wait]) -> Figure:
    items = [Weighted(w.figures[name], w.end) for w in used if name in w.figures]
    return weighted_mean(name, items, others=_modelled(name, used, lambda w: w.end))


def _largest(name: str, used: Sequence[Wait], unit: str | None) -> Figure:
    steps = [w.figures[name] for w in used if name in w.figures]
    values = [s.value for s in steps if s.value is not None]
    return exact(name, max(values, default=None), weaker(*(s.basis for s in steps)), len(values), unit=unit)


def _sum(name: str, used: Sequence[Wait]) -> Figure:
    steps = [w.figures[name] for w in used if name in w.figures]
    values = [s.value for s in steps if s.value is not None]
    basis: Basis | None = weaker(*(s.basis for s in steps))
    total = exact(name, sum(values) if values else None, basis, len(values))
    if total.value is None or not any(s.bound == "lower" for s in steps):
        return total
    tops = sum(s.interval[1] if s.interval else s.value or 0.0 for s in steps)
    return replace(total, bound="lower", interval=(total.value, tops))


def _median(name: str, used: Sequence[Wait]) -> Figure:
    steps = [w.figures[name] for w in used if name in w.figures]
    values = [s.value for s in steps if s.value is not None]
    basis: Basis | None = weaker(*(s.basis for s in steps))
    return exact(name, float(np.median(values)) if values else None, basis, len(values))


def _modelled(name: str, used: Sequence[Wait], weight: object) -> dict[str, float]:
    assert callable(weight)
    value = mean_of([(w.modelled[name], weight(w)) for w in used if name in w.modelled])
    return {} if value is None else {"modelled": value}
