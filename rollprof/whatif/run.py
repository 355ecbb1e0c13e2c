"""`rollprof whatif`: a run loaded, calibrated, replayed under every policy, and advised on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rollprof.analyzers.generations import Generation, generations
from rollprof.analyzers.idle.evidence import gather, tools_in_the_way
from rollprof.analyzers.idle.phase import calibrate as calibrate_steps
from rollprof.analyzers.missing import said
from rollprof.analyzers.run_data import RunData, load_run
from rollprof.analyzers.tables import Settings, Tables
from rollprof.errors import InputProblem, UsageProblem
from rollprof.model.decode import DecodeCost
from rollprof.whatif.advice import advise, limited, pareto
from rollprof.whatif.calibration import Calibrated, calibrate
from rollprof.whatif.compose import Composition, parse, usual
from rollprof.whatif.evaluate import Evaluator
from rollprof.whatif.load import Loaded, load_workload
from rollprof.whatif.prior import prior_cost
from rollprof.whatif.results import BaselineResult, Interval, PolicyResult, WhatIf
from rollprof.whatif.samples import fit_samples
from rollprof.whatif.sampling import sampled
from rollprof.whatif.setting import Engines, Setting, Trainer
from rollprof.whatif.tail import tail_of
from rollprof.whatif.timed import step_times
from rollprof.whatif.training import trainer_of

MOST_EVIDENCE = 200
"""Phases whose durations are fitted; of a longer run every n-th."""
STEPS_AT_ENDS = 24
"""Steps replayed at the ends of an uncertain cost: the speed-up changes with it much the same in all."""
INVARIANCE = "lengths are taken not to react to the policy: no learning, no drift"


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for. `policies` as typed (`april:over=2`); none means the usual set. `sample`:
    steps to replay, evenly spaced; None for all that a run affords."""

    policies: Sequence[str] = ()
    engines: int | None = None
    max_num_seqs: int | None = None
    gpu: str | None = None
    model: str | None = None
    max_off_policy: float | None = None
    max_bias: float | None = None
    force: bool = False
    sample: int | None = None


Progress = Callable[[int, int], None]
"""Called with what is done and how much there is."""


def whatif(
    tables: Tables,
    settings: Settings,
    options: Options | None = None,
    progress: Progress | None = None,
) -> WhatIf:
    """Replay a run. InputProblem where it has no lengths, or times that do not fit; UsageProblem for options
    that do not exist."""
    options = options or Options()
    compositions = [parse(text) for text in options.policies]
    for c in compositions:
        if c.cautions and not options.force:
            raise UsageProblem(f"{c.name}: {c.cautions[0]}", hint="--force replays it anyway")
    if (options.gpu is None) != (options.model is None):
        raise UsageProblem("--gpu and --model go together", hint="--gpu H100 --model 7B")
    run = _with_options(load_run(tables, settings, settings.split), options)
    phases = generations(run)
    picked = sampled(run, phases, options.sample)
    loaded = load_workload(tables, run, picked.phases)
    if loaded is None:
        raise InputProblem(
            "nothing to replay: the log has neither lengths of rollouts nor mean and longest of steps",
            hint=said("rollouts.response_tokens", tables.meta.get("brings") or {}) or None,
        )
    waits = loaded.workload.delay is not None
    multi_turn = tools_in_the_way(run) or waits
    fitted = _calibrated(run, phases, tables, options, multi_turn=multi_turn)
    trainer = _trainer(run, loaded, fitted)
    steps_of = _Ticker(progress)
    plain = Setting(
        loaded.workload,
        _engines(run, fitted.cost),
        trainer,
        notes=(),
        tick=steps_of.tick,
    )
    evaluators = [Evaluator(plain, multi_turn and not waits, settings.seed)]
    if loaded.alike is not None:
        evaluators.append(replace(evaluators[0], plain=replace(plain, workload=loaded.alike)))
    chosen = compositions or usual(plain)
    steps_of.total = sum(e.rounds(c) for e in evaluators for c in _with_baseline(chosen))
    ends = _at_ends(plain, fitted, multi_turn=evaluators[0].multi_turn)
    results = [_result(evaluators, ends, c) for c in _with_baseline(chosen)]
    results = pareto(limited(results, options.max_off_policy, options.max_bias))
    results += [] if not compositions else _unasked(evaluators[0], results)
    base = _baseline(evaluators[0], results[0], relative=fitted.said.relative)
    if fitted.said.relative:
        results = [_without_seconds(r) for r in results]
    tail = tail_of(loaded.workload, groups_known=loaded.alike is None)
    return WhatIf(
        calibration=fitted.said,
        baseline=base,
        policies=results,
        advice=advise(tail, base, results),
        tail=tail,
        framework=str(tables.meta.get("framework") or ""),
        steps=plain.workload.n_steps,
        of_steps=picked.of if picked.note else plain.workload.n_steps,
        rollouts=len(plain.workload.lengths),
        engines=plain.engines.count,
        slots=plain.engines.slots,
        unit=run.rollouts.unit,
        whole_step=trainer.known,
        notes=(
            *((picked.note,) if picked.note else ()),
            *_notes(run, loaded, fitted, trainer, options, multi_turn=multi_turn, waits=waits),
        ),
    )


class _Ticker:
    def __init__(self, progress: Progress | None) -> None:
        self.total, self._done, self._progress = 0, 0, progress

    def tick(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, max(self.total, self._done))


def _with_options(run: RunData, options: Options) -> RunData:
    facts = run.facts
    if options.engines is not None:
        facts = replace(facts, engines=options.engines, engines_how="")
    if options.max_num_seqs is not None:
        facts = replace(facts, slots=options.max_num_seqs, slots_how="")
    return replace(run, facts=facts)


def _calibrated(
    run: RunData, phases: Sequence[Generation], tables: Tables, options: Options, *, multi_turn: bool
) -> Calibrated:
    usable = [g for g in phases if not g.reason]
    some = usable[:: max(1, math.ceil(len(usable) / MOST_EVIDENCE))]
    found = gather(run, some)
    prior = None
    if options.gpu is not None and options.model is not None:
        per_engine = int((run.facts.rollout_gpus or run.facts.gpus or 1) // run.facts.engines) or 1
        prior = prior_cost(options.gpu, options.model, per_engine)
    seconds = np.array([e.seconds if e.seconds is not None else math.nan for e in found])
    return calibrate(
        found,
        [] if multi_turn else step_times(run, some),
        None if multi_turn else fit_samples(tables.engines),
        None if multi_turn else calibrate_steps(run, found),
        prior,
        seconds,
        force=options.force,
    )


def _engines(run: RunData, cost: DecodeCost) -> Engines:
    """Resumed rollouts pay `b` per context token: prefilling is decoding's work per token, without its
    reading of weights."""
    return Engines(cost, run.facts.engines, run.facts.slots, resume=cost.b)


def _trainer(run: RunData, loaded: Loaded, fitted: Calibrated) -> Trainer:
    w = loaded.workload
    tokens = np.add.reduceat(w.lengths, w.first[w.steps[:-1]]).astype(np.float64)
    if fitted.said.relative:  # seconds of training beside decode steps compare nothing
        return Trainer(apart=run.facts.separate)
    return trainer_of(run, loaded.phases, tokens)


def _with_baseline(chosen: Sequence[Composition]) -> list[Composition]:
    if any(c.name == "baseline" for c in chosen):
        return sorted(chosen, key=lambda c: c.name != "baseline")
    return [parse("baseline"), *chosen]


def _at_ends(plain: Setting, fitted: Calibrated, *, multi_turn: bool) -> list[Evaluator]:
    """The first steps at the cost itself and at both ends of what it may be; none where it is known."""
    if not fitted.ends:
        return []
    few = replace(plain, workload=plain.workload.head(STEPS_AT_ENDS), tick=None)
    costs = (fitted.cost, *fitted.ends)
    settings = [replace(few, engines=replace(few.engines, cost=c, resume=c.b)) for c in costs]
    return [Evaluator(s, multi_turn) for s in settings]


def _result(evaluators: Sequence[Evaluator], ends: Sequence[Evaluator], c: Composition) -> PolicyResult:
    """One result; with a range where the log leaves open how alike responses are, or the cost ratio."""
    results = [e.result(c) for e in evaluators]
    first = results[0]
    if first.speedup is None:
        return first
    others = [r.speedup for r in results[1:]]
    middle = None if not ends else ends[0].result(c, intervals=False).speedup
    for end in ends[1:]:
        there = end.result(c, intervals=False).speedup
        if middle and there:
            others.append(first.speedup * there / middle)
    known = [x for x in others if x is not None]
    if not known:
        return first
    found: Interval = (min(first.speedup, *known), max(first.speedup, *known))
    return replace(first, range=found)


def _unasked(evaluator: Evaluator, results: Sequence[PolicyResult]) -> list[PolicyResult]:
    """The policies that were not asked for, by name: all eleven are always listed."""
    from rollprof.whatif.policies.catalog import POLICIES

    named = {part for r in results for part in r.name.split("+")}
    rest = []
    for name in POLICIES:
        if name not in named:
            c = parse(name)
            missing = c.needs(evaluator.plain, multi_turn=evaluator.multi_turn)
            rest.append(
                PolicyResult(name, off_policy_share=c.off_policy, needs=missing, notes=("not asked for",))
            )
    return rest


SECONDS = ("step_s", "useful_tokens_per_s")


def _without_seconds(result: PolicyResult) -> PolicyResult:
    """Where the decode cost is relative its seconds are of no clock, and their intervals neither."""
    told = {name: ends for name, ends in result.intervals.items() if name not in SECONDS}
    return replace(result, step_s=None, useful_tokens_per_s=None, intervals=told)


def _baseline(evaluator: Evaluator, result: PolicyResult, *, relative: bool) -> BaselineResult:
    outcome = evaluator.baseline()
    effective = result.effective_idle or 0.0
    generate = outcome.total("generate_s") / len(outcome.column("index"))
    return BaselineResult(
        step_s=None if relative else result.step_s,
        generate_s=None if relative else generate,
        slot_idle=result.slot_idle or 0.0,
        engine_idle=result.engine_idle or 0.0,
        effective_idle=effective,
        useful_tokens_per_s=None if relative else result.useful_tokens_per_s,
        most=1.0 / (1.0 - effective) if effective < 1 else math.inf,
    )


def _notes(
    run: RunData,
    loaded: Loaded,
    fitted: Calibrated,
    trainer: Trainer,
    options: Options,
    *,
    multi_turn: bool,
    waits: bool,
) -> tuple[str, ...]:
    facts = run.facts
    slots = facts.slots_how if facts.slots is not None else "decode slots unknown: no limit, no queue"
    found = [*loaded.notes, *fitted.notes, facts.engines_how, slots, INVARIANCE]
    if multi_turn:
        found.append(
            "tool and environment waits are replayed as fixed delays after decoding"
            if waits
            else "multi-turn rollouts without tool times: replayed as if decoded in one piece"
        )
    if facts.mode == "async":
        found.append("the run is asynchronous; it is compared with a synchronous run of its rollouts")
    if not trainer.known:
        found.append("training times unknown: speed-ups are of generation alone")
    elif not options.policies:
        found.append("resumed rollouts pay a prefill of b seconds per context token")
    return tuple(n for n in found if n)
