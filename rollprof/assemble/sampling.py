"""Samples of engines and GPUs as they belong to a run: named, on one clock, joined to its steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rollprof.adapters.base import Alarm, Fact, Interpretation, MetricPart
from rollprof.adapters.engines.collecting import ANY, LOCAL, REPEATED, SAMPLES, SHARED, SILENT
from rollprof.assemble.joining import Join, alone, join, spans_of
from rollprof.sources.records import EngineSample, GpuSample

if TYPE_CHECKING:
    import pyarrow as pa

    from rollprof.curves.ticks import Curve

Row = Mapping[str, Any]
SPAN_COLUMNS = ("step", "split", "started_at", "completed_at")


@dataclass(frozen=True, slots=True)
class SampledRun:
    """`engines` and `gpus` as the dataset keeps them; `steps` the inferred ones of a run that has no others;
    `meta` what analyzers need to know of the samples and their join, None where there are none of engines."""

    engines: list[EngineSample]
    gpus: list[GpuSample]
    steps: list[dict[str, Any]] = field(default_factory=list)
    meta: dict[str, Any] | None = None
    alarms: list[Alarm] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    replicas: int = 0

    @property
    def why(self) -> str | None:
        """Why the samples of engines were not joined to steps."""
        return str(self.meta["why"]) if self.meta is not None and self.meta["why"] else None

    def on(self, reading: Interpretation) -> Interpretation:
        """The reading of the run with what is to be said of its samples."""
        facts = dict(reading.facts)
        if self.replicas and ("engines" not in facts or facts["engines"].origin == "default"):
            facts["engines"] = Fact(self.replicas, "logged", "engines at work together in the engines' log")
        return replace(
            reading,
            facts=facts,
            alarms=[*reading.alarms, *self.alarms],
            notes=[*reading.notes, *self.notes],
        )


def sampled_run(
    parts: Sequence[MetricPart],
    rows: Sequence[Row],
    rollouts: Mapping[int, tuple[float, float]],
    facts: Mapping[str, Fact],
) -> SampledRun:
    """The samples of a run and how they join its steps: `rows` of steps, and the first start and the last end
    of the `rollouts` of each."""
    engines = [s for p in parts if not p.claim.hints.get(SAMPLES) for s in p.engines]
    gpus = [s for p in parts for s in p.gpus]
    own = [p for p in parts if p.claim.hints.get(SAMPLES) and p.engines]
    if not own:
        return SampledRun(engines, gpus)
    from rollprof.curves.ticks import fleet_of

    named, silent = _named(own)
    local = any(p.hints.get(LOCAL) for p in own)
    shared = next((p.hints[SHARED] for p in own if p.hints.get(SHARED)), None)
    curves = _curves(named, silent)
    curve = fleet_of(curves)
    together = _together(curves)
    slots, how = _slots(facts, together)
    found = _joined(curve, slots, rows, rollouts, local=local)
    if shared is not None:
        found = Join(
            tuple(None for _ in found.steps), "", f"two servers write as engine {shared} into one log"
        )
    moved = [s._replace(time=s.time + found.moved_s) for samples in named.values() for s in samples]
    apart = not any(p.hints.get(REPEATED) for p in own) and not any(
        n == ANY or n.startswith("all ") for n in named
    )
    meta = {
        "engines": list(named),
        "silent": sorted(silent),
        "apart": apart,
        "slots": slots,
        "slots_how": how,
        "slots_each": None if slots is None else slots / max(1, together),
        "steps": list(found.steps),
        "join": found.how,
        "why": found.why,
        "zone_s": found.zone_s,
        "skew_s": found.skew_s,
        "corrected_s": found.corrected_s,
    }
    alarms = [] if found.how else [Alarm("engines_not_joined", _refusal(found), {}, handled=True)]
    steps = _steps(curve, slots) if found.how == "alone" else []
    return SampledRun(
        sorted([*engines, *moved], key=lambda s: s.time),
        # clocks without a zone are those of one machine
        [
            s._replace(time=s.time + (found.zone_s if p.hints.get(LOCAL) else 0.0))
            for p in parts
            for s in p.gpus
        ],
        steps,
        meta,
        alarms,
        list(found.notes),
        together if apart else 0,
    )


def rollout_spans(tables: Iterable[pa.Table]) -> dict[int, tuple[float, float]]:
    """When the first rollout of each training step was submitted and the last one completed (epoch
    seconds)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    spans: dict[int, tuple[float, float]] = {}
    for table in tables:
        timed = pc.and_(pc.is_valid(table["started_at"]), pc.is_valid(table["completed_at"]))
        kept = table.select(list(SPAN_COLUMNS)).filter(pc.and_(timed, pc.is_valid(table["step"])))
        kept = kept.filter(pc.not_equal(pc.fill_null(kept["split"].cast(pa.string()), "train"), "eval"))
        found = (
            kept.group_by(["step"]).aggregate([("started_at", "min"), ("completed_at", "max")]).to_pylist()
        )
        for row in found:
            start, end = row["started_at_min"], row["completed_at_max"]
            if start >= EPOCH:
                known = spans.get(row["step"], (start, end))
                spans[row["step"]] = (min(known[0], start), max(known[1], end))
    return spans


EPOCH = 1e8
"""Times below this are seconds since some start, which no other clock knows of."""


def _joined(
    curve: Curve,
    slots: float | None,
    rows: Sequence[Row],
    rollouts: Mapping[int, tuple[float, float]],
    *,
    local: bool,
) -> Join:
    from rollprof.curves.windows import find_windows

    windows = find_windows(curve, slots)
    known = {row["step"] for row in rows}
    spans = spans_of([*rows, *({"step": step} for step in rollouts if step not in known)], rollouts)
    return join(windows, spans, local=local, tick=curve.tick) if spans else alone(windows)


def _refusal(found: Join) -> str:
    return f"samples of the engines are not joined to the steps: {found.why}"


def _named(parts: Sequence[MetricPart]) -> tuple[dict[str, list[EngineSample]], set[str]]:
    """Samples by engine, with names that tell engines of several files apart; and which are silent when
    idle."""
    per_file: dict[str, set[str]] = {}
    for part in parts:
        per_file.setdefault(part.file.name, set()).update(s.engine for s in part.engines)
    seen: dict[str, int] = {}
    for names in per_file.values():
        for name in names:
            seen[name] = seen.get(name, 0) + 1
    found: dict[str, list[EngineSample]] = {}
    silent = set()
    for part in parts:
        for s in part.engines:
            name = f"{part.file.name}:{s.engine}" if seen[s.engine] > 1 else s.engine
            found.setdefault(name, []).append(s._replace(engine=name))
            if part.hints.get(SILENT):
                silent.add(name)
    return found, silent


def _curves(named: Mapping[str, Sequence[EngineSample]], silent: set[str]) -> list[Curve]:
    import numpy as np

    from rollprof.curves.ticks import curve_of

    def array(samples: Sequence[EngineSample]) -> Any:
        rows = [(s.time, s.running, s.waiting, s.prompt_tokens_s, s.generation_tokens_s) for s in samples]
        return np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=np.float64)

    return [curve_of(array(s), silent_when_idle=name in silent) for name, s in named.items()]


def _together(curves: Sequence[Curve]) -> int:
    """The most engines whose samples run side by side: one that was started again is one."""
    moments = sorted([(float(c.time[0]), -1) for c in curves] + [(float(c.time[-1]), 1) for c in curves])
    most = now = 0
    for _, change in moments:
        now -= change
        most = max(most, now)
    return most


def _slots(facts: Mapping[str, Fact], engines: int) -> tuple[float | None, str]:
    """Slots of all engines that the samples show, where the number per engine is known, not just a
    default."""
    each = facts.get("max_num_seqs")
    if each is None or each.origin == "default":
        return None, "the most requests that ever ran at once"
    return float(each.value) * engines, each.how


def _steps(curve: Curve, slots: float | None) -> list[dict[str, Any]]:
    """Inferred generation windows as steps, numbered from 1. One that is not whole has no duration."""
    from rollprof.curves.windows import find_windows

    return [
        {
            "step": k + 1,
            "split": "train",
            "logged_at": w.end,
            "generate_s": None if w.cut else w.seconds,
        }
        for k, w in enumerate(find_windows(curve, slots))
    ]


__all__ = ["SampledRun", "rollout_spans", "sampled_run"]
