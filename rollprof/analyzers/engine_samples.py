"""Idle slots and engines as samples of the engines show them, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.per_engine import alive, best_pace, done, kv_most, per_engine
from rollprof.analyzers.results import EngineCurve, EngineResult, SampleJoin, StepFigure
from rollprof.analyzers.sample_curves import engine_curve
from rollprof.analyzers.tables import Tables
from rollprof.curves.area import COARSEST, busy_area, sampling_error, too_coarse
from rollprof.curves.ticks import Curve, curve_of, fleet_of
from rollprof.curves.windows import Window, capacity_of, find_windows

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

COLUMNS = ("time", "running", "waiting", "prompt_tokens_s", "generation_tokens_s")
FEWEST = 3
"""Samples from which the time between them is known."""


@dataclass(frozen=True, slots=True)
class SampledStep:
    """One step as the engines' samples show it: `seconds` of generation in `windows` stretches on `capacity`
    slots, and its figures by name."""

    seconds: float
    capacity: float
    windows: int
    figures: Mapping[str, StepFigure]


@dataclass(frozen=True, slots=True)
class EngineSamples:
    """`steps` by step number; `spans` (start, end) of every window with its step; `curves` of each engine for
    pictures, `engines` their figures; `join` how they belong to steps, and why steps have no figures."""

    steps: Mapping[int, SampledStep] = field(default_factory=dict)
    spans: Sequence[tuple[float, float, int | None]] = ()
    curves: Sequence[EngineCurve] = ()
    engines: Sequence[EngineResult] = ()
    join: SampleJoin = field(default_factory=SampleJoin)

    @property
    def refused(self) -> Mapping[int, str]:
        """Why a step has no figures."""
        return self.join.refused

    @property
    def inferred(self) -> bool:
        """Whether the steps are the generations that only the samples show."""
        return self.join.how == "alone"


def engine_samples(tables: Tables) -> EngineSamples:
    """Figures of every step that samples of engines were joined to; nothing where there are none."""
    said = tables.meta.get("samples")
    if not isinstance(said, Mapping) or not said.get("engines"):
        return EngineSamples()
    raw = _by_engine(tables.engines, said["engines"])
    if not raw:
        return EngineSamples()
    silent = set(said.get("silent") or ())
    own = {name: curve_of(rows[:, :5], silent_when_idle=name in silent) for name, rows in raw.items()}
    fleet = fleet_of(list(own.values()))
    slots = said.get("slots")
    windows = find_windows(fleet, slots)
    steps = list(said.get("steps") or ())
    if len(steps) != len(windows):
        why = "the samples and what they were joined by disagree"
        return EngineSamples(join=SampleJoin(why=why))
    capacity = capacity_of(fleet, slots)
    best = best_pace([fleet.generation[w.first : w.last + 1] for w in windows])
    measured: dict[int, SampledStep] = {}
    refused: dict[int, str] = {}
    by_step: dict[int, list[Window]] = {}
    for w, s in zip(windows, steps, strict=True):
        if s is not None:
            by_step.setdefault(int(s), []).append(w)
    for step, mine in sorted(by_step.items()):
        why = next((w.cut for w in mine if w.cut), "")
        if not why and any(too_coarse(w.tick, w.seconds) for w in mine):
            why = coarse(max(w.tick for w in mine))
        if why:
            refused[step] = why
            continue
        figures = _fleet_figures(fleet, mine, capacity, best)
        if said.get("apart") and len(own) > 1:
            figures.update(_engine_figures(own, mine))
        elif said.get("apart") and figures["slot_idle"].value is not None:
            figures["engine_idle"] = StepFigure(0.0, "measured", (0.0, 0.0))
            figures["engine_imbalance"] = StepFigure(1.0, "measured", (1.0, 1.0))
        kv = max((v for rows in raw.values() if (v := kv_most(rows, mine)) is not None), default=None)
        if kv is not None:
            figures["kv_usage_max"] = StepFigure(kv, "measured", (kv, kv))
        measured[step] = SampledStep(sum(w.seconds for w in mine), capacity, len(mine), figures)
    _count_preemptions(tables.metrics, windows, steps, measured)
    each = said.get("slots_each")
    most = max(capacity_of(c, each) for c in own.values())
    told = [w for w, s in zip(windows, steps, strict=True) if s is not None and int(s) in measured]
    return EngineSamples(
        steps=measured,
        spans=[(w.start, w.end, s) for w, s in zip(windows, steps, strict=True)],
        curves=[engine_curve(name, c, most) for name, c in own.items()],
        engines=per_engine(own, raw, told, each) if said.get("apart") and told else (),
        join=_join(said, fleet.tick if len(fleet) >= FEWEST else None, refused),
    )


def _join(said: Mapping[str, object], tick: float | None, refused: Mapping[int, str]) -> SampleJoin:
    def number(name: str) -> float | None:
        value = said.get(name)
        return float(value) if isinstance(value, int | float) else None

    return SampleJoin(
        how=str(said.get("join") or ""),
        why=str(said.get("why") or ""),
        tick=tick,
        zone_s=number("zone_s") or 0.0,
        skew_s=number("skew_s"),
        corrected_s=number("corrected_s") or 0.0,
        slots_how=str(said.get("slots_how") or ""),
        refused=refused,
    )


def coarse(tick: float) -> str:
    """Why a generation has no figures: too few samples of it."""
    return (
        f"engines sampled every {tick:.3g} s, more than {COARSEST} of a generation "
        "(VLLM_LOG_STATS_INTERVAL or SGLang's --decode-log-interval sets it)"
    )


def _by_engine(frame: pl.LazyFrame, names: Sequence[str]) -> dict[str, Floats]:
    """Rows (K, 6) of each engine: the columns of a curve, and the KV cache."""
    import polars as pl

    wanted = [pl.col(c).cast(pl.Float64) for c in (*COLUMNS, "kv_usage")]
    table = frame.select(pl.col("engine").cast(pl.String), *wanted).filter(
        pl.col("engine").is_in(list(names))
    )
    found: dict[str, Floats] = {}
    for (name,), rows in (
        table.sort("time").collect().partition_by("engine", as_dict=True, maintain_order=True).items()
    ):
        found[str(name)] = rows.drop("engine").fill_null(float("nan")).to_numpy().astype(np.float64)
    return {name: found[name] for name in names if name in found}


def _fleet_figures(
    fleet: Curve, windows: Sequence[Window], capacity: float, best: float
) -> dict[str, StepFigure]:
    """slot_idle, queue_share and throughput_idle of a step's windows together."""
    busy = seconds = error = queued = asked = tokens = 0.0
    for w in windows:
        at = slice(w.first, w.last + 1)
        busy += busy_area(fleet.time[at], fleet.load[at], capacity, w.start, w.end, full=w.full)
        seconds += w.seconds
        error += sampling_error(w.tick, w.seconds) * w.seconds
        waiting = fleet.load[at] - np.nan_to_num(fleet.running[at])
        queued += float(waiting.sum())
        asked += float(fleet.load[at].sum())
        tokens += _tokens(fleet, w)
    idle = min(1.0, max(0.0, 1 - busy / (capacity * seconds)))
    half = error / seconds
    figures = {
        "slot_idle": StepFigure(idle, "measured", (max(0.0, idle - half), min(1.0, idle + half))),
        "queue_share": StepFigure(queued / asked, "measured") if asked else StepFigure(None, None),
    }
    if best > 0 and tokens > 0:
        share = min(1.0, max(0.0, 1 - tokens / seconds / best))
        off = (1 - share) * half  # the length of the generation is known as well as its slots are
        figures["throughput_idle"] = StepFigure(
            share, "measured", (max(0.0, share - off), min(1.0, share + off))
        )
    return {n: f for n, f in figures.items() if f.value is not None}


def _tokens(fleet: Curve, w: Window) -> float:
    """Tokens generated in a window: each sample's throughput holds since the one before."""
    last = min(w.last + 1, len(fleet) - 1)
    if last > w.last and (fleet.silent[w.last] or fleet.hole[w.last] or fleet.load[last] > 0):
        last = w.last
    width = np.diff(fleet.time[w.first : last + 1], prepend=fleet.time[w.first] - w.tick)
    return float(np.nansum(np.nan_to_num(fleet.generation[w.first : last + 1]) * width))


def _engine_figures(own: Mapping[str, Curve], windows: Sequence[Window]) -> dict[str, StepFigure]:
    """engine_idle and engine_imbalance from when each engine was done, of the engines alive in a window."""
    worked = total = most = 0.0
    for w in windows:
        ends = [done(c, w) - w.start for c in own.values() if alive(c, w)]
        ends = [min(w.seconds, max(0.0, e)) for e in ends]
        if not ends:
            return {}
        worked += sum(ends) / len(ends)
        most += max(ends)
        total += w.seconds
    half = sum(sampling_error(w.tick, w.seconds) * w.seconds for w in windows) / total
    idle = min(1.0, max(0.0, 1 - worked / total))
    figures = {"engine_idle": StepFigure(idle, "measured", (max(0.0, idle - half), min(1.0, idle + half)))}
    if worked > 0:
        figures["engine_imbalance"] = StepFigure(most / worked, "measured", (most / worked, most / worked))
    return figures


def _count_preemptions(
    frame: pl.LazyFrame,
    windows: Sequence[Window],
    steps: Sequence[int | None],
    measured: dict[int, SampledStep],
) -> None:
    """Add the engines' own counts of preempted requests to the steps in whose windows they were printed."""
    import polars as pl

    key = pl.col("key").cast(pl.String)  # KEY@ENGINE in a log of several
    chosen = frame.filter(
        pl.any_horizontal((key == name) | key.str.starts_with(f"{name}@") for name in PREEMPTIONS)
    )
    table = chosen.select(pl.col("logged_at"), pl.col("value")).drop_nulls().collect()
    if not table.height:
        return
    time, value = table["logged_at"].to_numpy(), table["value"].to_numpy()
    for w, step in zip(windows, steps, strict=True):
        if step is None or step not in measured:
            continue
        count = float(value[(time >= w.start - 1) & (time <= w.end + w.tick)].sum())
        figures = dict(measured[step].figures)
        before = figures.get("preemptions")
        count += (before.value or 0.0) if before is not None else 0.0
        figures["preemptions"] = StepFigure(count, "measured", (count, count))
        own = measured[step]
        measured[step] = SampledStep(own.seconds, own.capacity, own.windows, figures)


PREEMPTIONS = ("vllm/preemptions", "sglang/retracted")


def of_steps(samples: EngineSamples, steps: Sequence[int]) -> dict[int, SampledStep]:
    """Sampled steps by their index among `steps`."""
    return {i: samples.steps[int(s)] for i, s in enumerate(steps) if int(s) in samples.steps}


__all__ = ["EngineSamples", "SampledStep", "coarse", "engine_samples", "of_steps"]
