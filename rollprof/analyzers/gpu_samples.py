"""gpu_util_idle: GPU samples with almost no kernel running, counted while the run generated.

A sample says something of the last instant before it (a sixth of a second to one), not of the time since the
sample before: samples are counted, with the interval of a share of so many, and never integrated over gaps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rollprof.analyzers.combine import absent
from rollprof.analyzers.engine_samples import EngineSamples
from rollprof.analyzers.registry import spec
from rollprof.analyzers.results import Figure, GpuBand, GpuCurve, SampleCurves, StepFigure
from rollprof.analyzers.run_data import RunData
from rollprof.analyzers.sample_curves import gpu_band, joined_up
from rollprof.analyzers.tables import Tables

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

NAME = "gpu_util_idle"
IDLE = 0.05
"""Utilisation below this counts as idle."""
Z = 1.645
"""Of a 90 % interval."""
FEWEST = 20
"""Samples of a step from which its own share is told."""
POINTS = 2000
NO_TELEMETRY = "no GPU telemetry"
APART = "GPU telemetry of another time than the run's steps (--tz names the zone of its clock)"
WHOLE_LOG = "over all of the telemetry: no clock tells which of it is generation"


@dataclass(frozen=True, slots=True)
class GpuSamples:
    """`figures` of the run, `steps[i]` of `run.steps[i]`, `curves` of each GPU for pictures."""

    figures: Mapping[str, Figure] = field(default_factory=dict)
    steps: Mapping[int, Mapping[str, StepFigure]] = field(default_factory=dict)
    curves: Sequence[GpuCurve] = ()
    band: GpuBand | None = None


def gpu_samples(run: RunData, tables: Tables, engines: EngineSamples) -> GpuSamples:
    """Shares of idle GPU samples in the generation of each step and of the run."""
    import polars as pl

    wanted = [pl.col("time"), pl.col("node", "gpu").cast(pl.String).fill_null(""), pl.col("utilization")]
    table = tables.gpus.select(wanted).drop_nulls(["time", "utilization"]).sort("time").collect()
    if not table.height or run.settings.split == "eval":
        return GpuSamples({NAME: absent(NAME, NO_TELEMETRY)})
    time, low = table["time"].to_numpy(), table["utilization"].to_numpy() < IDLE
    curves, band = _curves(table), gpu_band(table)
    spans = _spans(run, engines)
    if not spans:
        share = _share(low, len(curves))
        note = WHOLE_LOG if not engines.join.why else f"{WHOLE_LOG}; {engines.join.why}"
        figure = Figure(
            NAME, share.value, spec(NAME).unit, "measured", "lower", len(low), share.interval, {}, note
        )
        return GpuSamples({NAME: figure}, {}, curves, band)
    inside = np.zeros(len(time), dtype=bool)
    steps: dict[int, Mapping[str, StepFigure]] = {}
    for i, own in spans.items():
        mine = np.zeros(len(time), dtype=bool)
        for start, end in own:
            mine[np.searchsorted(time, start) : np.searchsorted(time, end, side="right")] = True
        inside |= mine
        if mine.sum() >= FEWEST:
            steps[i] = {NAME: _share(low[mine], len(curves))}
    if not inside.any():
        return GpuSamples({NAME: absent(NAME, APART)}, {}, curves, band)
    share = _share(low[inside], len(curves))
    note = "" if steps else "too few samples in a step to tell steps apart"
    whole = Figure(
        NAME, share.value, spec(NAME).unit, "measured", "lower", int(inside.sum()), share.interval, {}, note
    )
    return GpuSamples({NAME: whole}, steps, curves, band)


def sample_curves(engines: EngineSamples, gpus: GpuSamples) -> SampleCurves | None:
    """What was sampled over time, for pictures; None where nothing was."""
    if not engines.curves and not gpus.curves:
        return None
    return SampleCurves(
        engines.curves,
        gpus.curves,
        engines.spans,
        joined_up([(start, end) for start, end, _ in engines.spans]),
        gpus.band,
        engines.join,
    )


def _spans(run: RunData, engines: EngineSamples) -> dict[int, list[tuple[float, float]]]:
    """When each step generated: by the engines' windows, else its rollouts' times, else the log's clock."""
    at = {int(s): i for i, s in enumerate(run.steps)}
    found: dict[int, list[tuple[float, float]]] = {}
    for start, end, step in engines.spans:
        if step is not None and step in at:
            found.setdefault(at[step], []).append((start, end))
    if found:
        return found
    start_of, end_of = run.rollouts.start, run.rollouts.finish
    if start_of is not None and end_of is not None and run.meta.get("clock") == "epoch":
        for i, span in run.slices.items():
            times = start_of[span], end_of[span]
            if not (np.isnan(times[0]).all() or np.isnan(times[1]).all()):
                found[i] = [(float(np.nanmin(times[0])), float(np.nanmax(times[1])))]
    if found:
        return found
    logged, whole, took = (_column(run, c) for c in ("logged_at", "step_s", "generate_s"))
    for i in np.flatnonzero((logged > 0) & (whole > 0) & (took > 0)).tolist():
        start = float(logged[i] - whole[i])
        found[i] = [(start, start + float(min(took[i], whole[i])))]
    return found


def _column(run: RunData, name: str) -> Floats:
    return np.nan_to_num(run.column(name))


def _share(low: NDArray[np.bool_], gpus: int) -> StepFigure:
    """Share of idle samples with Wilson's interval. GPUs of one job idle together, so that samples taken at
    one moment count as one."""
    n = len(low)
    moments = max(1.0, n / max(1, gpus))
    p = float(low.mean())
    centre = (p + Z * Z / (2 * moments)) / (1 + Z * Z / moments)
    half = Z / (1 + Z * Z / moments) * math.sqrt(p * (1 - p) / moments + Z * Z / (4 * moments * moments))
    return StepFigure(
        p, "measured", (max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))), "lower"
    )


def _curves(table: pl.DataFrame) -> list[GpuCurve]:
    found = []
    for (node, gpu), rows in table.partition_by("node", "gpu", as_dict=True, maintain_order=True).items():
        every = max(1, math.ceil(rows.height / POINTS))
        kept = rows.gather_every(every)
        found.append(
            GpuCurve(str(node), str(gpu), tuple(kept["time"].to_list()), tuple(kept["utilization"].to_list()))
        )
    return found


__all__ = ["GpuSamples", "gpu_samples", "sample_curves"]
