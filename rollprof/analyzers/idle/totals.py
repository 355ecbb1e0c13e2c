"""Idle figures of the run from those of phases and steps, weighted by GPU-seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rollprof.analyzers.combine import Weighted, absent, exact, mean_bracket, mean_of, total, weighted_mean
from rollprof.analyzers.engine_samples import EngineSamples
from rollprof.analyzers.idle.phase import Other, PhaseIdle
from rollprof.analyzers.idle.step import StepIdle
from rollprof.analyzers.missing import NOT_APPLICABLE
from rollprof.analyzers.results import BASES, Figure, weaker
from rollprof.analyzers.run_data import RunData
from rollprof.model.calibrate import StepsFit

HOLDS = "held between engine_idle and slot_idle"
WORDS = {
    "measured": "the rollouts' own times",
    "logged": "logged",
    "calibrated": "calibrated",
    "modelled": "nearest end of the bracket from lengths",
}
NO_SAMPLES = "no samples of the inference engines"
NO_TELEMETRY = "no GPU telemetry"


SAMPLED_FIGURES = ("slot_idle", "generation_idle", "engine_idle", "engine_imbalance", "queue_share")
"""What samples of the engines would have given."""
ENGINES_ONLY = "an engine's log has no {}"


def phase_totals(
    run: RunData,
    phases: Sequence[PhaseIdle],
    fit: StepsFit | None,
    reasons: Mapping[str, int],
    samples: EngineSamples,
) -> dict[str, Figure]:
    """Figures of generation, weighted by `C*T` (by `C*M` decode steps where some phase has no time)."""
    weights = _weights(phases)
    left_out = _left_out(reasons)
    engines = run.facts.engines_how
    limit = _joined([run.facts.slots_how, engines]) if run.facts.slots is not None else ""
    notes = {
        "slot_idle": [left_out, limit, *_phase_notes(phases), _sampled_apart(phases)],
        "engine_idle": [left_out],
        "effective_idle": [left_out, _calibration(phases, fit), engines, _held(phases)],
        "generation_idle": [left_out, _instead(phases)],
        "recoverable": [left_out],
    }
    others = _others(phases, weights, [1.0] * len(phases))
    found = {}
    for name, note in notes.items():
        items = _items(name, phases, weights)
        beside = others if name in ("slot_idle", "generation_idle") else {}
        found[name] = _without_own(weighted_mean(name, items, others=beside, note=_joined(note)))
    found.update(_in_order(found))
    found["queue_share"] = weighted_mean("queue_share", _items("queue_share", phases, weights))
    found["engine_imbalance"] = _imbalance(phases, weights)
    found = {n: _explained(f, _why(n, run, phases, fit, reasons)) for n, f in found.items()}
    found.update(_sampled(phases, weights))
    return {n: _by_samples(f, samples) for n, f in found.items()}


def _by_samples(figure: Figure, samples: EngineSamples) -> Figure:
    """The figure, with the reason of the samples where it is absent because they were refused."""
    if figure.value is not None or figure.interval is not None:
        return figure
    if figure.name in (*SAMPLED_FIGURES, "throughput_idle") and samples.refused:
        why, count = Counter(samples.refused.values()).most_common(1)[0]
        most = f" (in {count} of {len(samples.refused)})" if count < len(samples.refused) else ""
        return absent(figure.name, why + most, unit=figure.unit)
    if samples.inferred and figure.name in ("effective_idle", "recoverable"):
        return absent(figure.name, ENGINES_ONLY.format("response lengths"), unit=figure.unit)
    return figure


def _sampled(phases: Sequence[PhaseIdle], weights: Sequence[float]) -> dict[str, Figure]:
    """Figures that only samples of the engines give."""
    found = {"gpu_util_idle": absent("gpu_util_idle", NO_TELEMETRY)}
    pace = _items("throughput_idle", phases, weights)
    found["throughput_idle"] = (
        weighted_mean("throughput_idle", pace) if pace else absent("throughput_idle", NO_SAMPLES)
    )
    kv = [w.figure.value for w in _items("kv_usage_max", phases, weights) if w.figure.value is not None]
    if kv:
        found["kv_usage_max"] = exact("kv_usage_max", max(kv), "measured", len(kv))
    evicted = [w.figure for w in _items("preemptions", phases, weights)]
    if evicted:
        found["preemptions"] = total("preemptions", evicted, of=len(evicted))
    return found


def step_totals(
    run: RunData,
    steps: Sequence[StepIdle],
    phases: Mapping[int, PhaseIdle],
    reasons: Mapping[str, int],
    samples: EngineSamples,
) -> dict[str, Figure]:
    """Figures of whole steps, weighted by GPUs x step_s, and the GPU-hours, which are sums."""
    found: dict[str, Figure] = {}
    for name in ("step_idle", "trainer_idle", "rollout_idle"):
        items = [Weighted(s.figures[name], s.weight) for s in steps if name in s.figures]
        if items and not any(w.weight for w in items):
            items = [Weighted(w.figure, 1.0) for w in items]  # no step time: steps weigh the same
        note = ""
        if name == "step_idle" and run.facts.mode != "async":
            note = _joined([_left_out(reasons), _taken_as_one(run)])
        found[name] = weighted_mean(name, items, note=note)
    if not run.facts.separate and run.facts.mode != "async":
        known = [s for s in steps if "step_idle" in s.figures and s.index in phases]
        shares, weights = [s.share for s in known], [s.weight for s in known]
        others = _others([phases[s.index] for s in known], weights, shares)
        found["step_idle"] = _without_own(replace(found["step_idle"], others=others))
    for name in ("gpu_hours_lost", "cost_lost"):
        sums = [s.figures[name] for s in steps if name in s.figures]
        found[name] = total(name, sums, of=len(steps))
    found = {n: _explained(f, _why_step(n, run, steps)) for n, f in found.items()}
    if samples.inferred and found["step_idle"].interval is None:
        why = f"{ENGINES_ONLY.format('training steps')} (name the trainer's log as well)"
        found["step_idle"] = absent("step_idle", why)
    return found


def _in_order(found: Mapping[str, Figure]) -> dict[str, Figure]:
    """engine_idle <= effective_idle <= slot_idle over the run, where they come from different steps."""
    held: dict[str, Figure] = {}
    slot = found["slot_idle"]
    top = slot.value if slot.value is not None else slot.interval[1] if slot.interval is not None else 1.0
    for name in ("effective_idle", "engine_idle"):
        figure = found[name]
        if figure.value is None:
            continue
        if figure.value > top:
            ends = figure.interval or (figure.value, figure.value)
            held[name] = replace(
                figure,
                value=top,
                bound="lower",
                interval=(min(ends[0], top), ends[1]),
                note=_joined([figure.note, "held at the next larger figure, which has other steps as well"]),
            )
        top = min(top, figure.value)
    return held


def _weights(phases: Sequence[PhaseIdle]) -> list[float]:
    seconds = [p.evidence.weight for p in phases]
    return seconds if all(w > 0 for w in seconds) else [p.evidence.token_weight for p in phases]


def _items(name: str, phases: Sequence[PhaseIdle], weights: Sequence[float]) -> list[Weighted]:
    pairs = zip(phases, weights, strict=True)
    return [Weighted(p.figures[name], w) for p, w in pairs if name in p.figures]


def _others(
    phases: Sequence[PhaseIdle], weights: Sequence[float], shares: Sequence[float]
) -> dict[str, Other]:
    """slot_idle on each basis that the phases have, the figure's own included; brackets end by end."""
    found: dict[str, Other] = {}
    for basis in BASES:
        points: list[tuple[float, float]] = []
        brackets: list[tuple[tuple[float, float], float]] = []
        for p, w, share in zip(phases, weights, shares, strict=True):
            other = p.slot_others.get(basis)
            slot = p.figures.get("slot_idle")
            if other is None and slot is not None and slot.basis == basis:
                other = slot.value if slot.value is not None else slot.interval
            if isinstance(other, tuple):
                brackets.append(((other[0] * share, other[1] * share), w))
            elif other is not None:
                points.append((other * share, w))
        wide = brackets + [((v, v), w) for v, w in points] if brackets else []
        value: Other | None = mean_bracket(wide) if wide else mean_of(points)
        if value is not None:
            found[basis] = value
    return found


def _without_own(figure: Figure) -> Figure:
    """Bases beside the figure's own; none where it is absent."""
    if figure.basis is None:
        return replace(figure, others={})
    own = {figure.basis}
    if figure.basis == "logged" and figure.name == "step_idle":
        own.add("measured")  # measured idle of a logged share of the step
    return replace(figure, others={b: v for b, v in figure.others.items() if b not in own})


def _imbalance(phases: Sequence[PhaseIdle], weights: Sequence[float]) -> Figure:
    """`sum(T) / sum(mean T_e)`: 1/(1 - engine_idle), weighted like it."""
    items = _items("engine_imbalance", phases, weights)
    mean = mean_of([(1 / w.figure.value, w.weight) for w in items if w.figure.value])
    basis = weaker(*(w.figure.basis for w in items))
    return exact("engine_imbalance", None if not mean else 1 / mean, basis, len(items))


def _phase_notes(phases: Sequence[PhaseIdle]) -> list[str]:
    notes = [p.evidence.note for p in phases if p.evidence.note]
    return [f"{notes[0]} (in {len(notes)} steps)" if len(notes) > 1 else notes[0]] if notes else []


def _sampled_apart(phases: Sequence[PhaseIdle]) -> str:
    """How far the engines' samples are from what the same steps give without them, step by step."""
    apart: dict[str, list[float]] = {}
    for p in phases:
        own = p.evidence.sampled.figures.get("slot_idle") if p.evidence.sampled is not None else None
        if own is None or own.value is None:
            continue
        slot = p.figures.get("slot_idle")
        others = dict(p.slot_others)
        if slot is not None and slot.value is not None and slot is not own:
            others["measured"] = slot.value  # from each rollout's own times
        for basis, other in others.items():
            if isinstance(other, tuple):
                other = min(max(own.value, other[0]), other[1])
            apart.setdefault(basis, []).append(other - own.value)
    said = [f"{WORDS[b]} {np.median(d):+.2f}" for b, d in apart.items()]
    return f"beside the samples of engines, median over steps: {', '.join(said)}" if said else ""


def _calibration(phases: Sequence[PhaseIdle], fit: StepsFit | None) -> str:
    own = [p.evidence.fit for p in phases if p.evidence.fit is not None]
    if own:
        error = float(np.median([f.held_out_error for f in own]))
        constant = float(np.median([f.constant_error for f in own]))
        return (
            f"decode cost fitted to completion times: off by {100 * error:.1f} % on rollouts it has not "
            f"seen, the median by {100 * constant:.1f} %"
        )
    if fit is None or not fit.skill:
        return ""
    return (
        f"decode cost fitted to {fit.n} step durations: off by {100 * fit.held_out_error:.1f} % on "
        f"steps it has not seen, the median step by {100 * fit.constant_error:.1f} %"
    )


def _held(phases: Sequence[PhaseIdle]) -> str:
    held = sum(p.held for p in phases)
    return f"{HOLDS} in {held} of {len(phases)} steps" if held else ""


def _instead(phases: Sequence[PhaseIdle]) -> str:
    bounded = sum(
        p.figures["generation_idle"].bound == "upper" for p in phases if "generation_idle" in p.figures
    )
    if not bounded:
        return ""
    return "slot_idle stands in for the unknown effective_idle" + (
        f" in {bounded} of {len(phases)} steps" if bounded < len(phases) else ""
    )


def _left_out(reasons: Mapping[str, int]) -> str:
    return "; ".join(f"{n} step{'s' if n > 1 else ''} left out: {why}" for why, n in reasons.items())


def _taken_as_one(run: RunData) -> str:
    if run.facts.colocated is None and not run.facts.separate and run.facts.mode != "async":
        return "rollouts and training taken to share their GPUs"
    return ""


def _why(
    name: str,
    run: RunData,
    phases: Sequence[PhaseIdle],
    fit: StepsFit | None,
    reasons: Mapping[str, int],
) -> str:
    """Why a figure of generation is absent."""
    if not phases:
        return next(iter(reasons), "no step with rollouts, lengths or times")
    if name in ("engine_idle", "engine_imbalance"):
        return run.facts.engines_how or "which engine served which rollout is not logged"
    if name in ("effective_idle", "recoverable"):
        own = next((p.evidence.no_fit for p in phases if p.evidence.no_fit), "")
        if name == "recoverable" and not own:
            return "which engine served which rollout is not logged"
        return own or (fit.why if fit is not None else "") or "no times to fit the decode cost to"
    if name == "queue_share":
        return "neither queue times nor the number of slots are known"
    return "no lengths and no times of rollouts"


def _why_step(name: str, run: RunData, steps: Sequence[StepIdle]) -> str:
    if name in ("gpu_hours_lost", "cost_lost"):
        if name == "cost_lost" and run.settings.gpu_hour_cost is None:
            return "no price of a GPU-hour given"
        return "the number of GPUs or the length of steps is unknown"
    if any(s.contradicts for s in steps):
        return "generation takes longer than the step: the log contradicts itself"
    if run.facts.mode == "async" and name == "step_idle":
        return "how the GPUs are split between rollouts and training, or how long each side waits, is unknown"
    if name in ("trainer_idle", "rollout_idle"):
        away = run.facts.separate or run.facts.mode == "async"
        return "waiting is not logged" if away else NOT_APPLICABLE
    return "step_s is not logged" if not run.has("step_s") else "generation_idle is unknown"


def _explained(figure: Figure, why: str) -> Figure:
    if figure.value is not None or figure.interval is not None:
        return figure
    return absent(figure.name, why, unit=figure.unit)


def _joined(parts: Sequence[str]) -> str:
    return "; ".join(p for p in parts if p)
