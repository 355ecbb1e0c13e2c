"""From what the user pointed at to a dataset on disk."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rollprof import __version__
from rollprof.adapters import registry
from rollprof.adapters.base import Fact, Interpretation, MetricPart
from rollprof.adapters.engines.collecting import SAMPLES
from rollprof.assemble import merge
from rollprof.assemble.facts import as_meta, parse_overrides, with_overrides
from rollprof.assemble.inputs import Input
from rollprof.assemble.runs import Candidate, choose
from rollprof.assemble.sampling import SampledRun, rollout_spans, sampled_run
from rollprof.assemble.series import Series, StepKey, arranged, summary_of
from rollprof.assemble.steps import ROLLOUT_COLUMNS, count_rollouts, step_rows
from rollprof.assemble.survey import Survey, first_problem, interpret, no_step, survey
from rollprof.assemble.tokens import StepScale, TokenScale, rows_by_step, scale_to
from rollprof.assemble.zones import with_zone, zone_of
from rollprof.errors import InputProblem
from rollprof.parallel.parts import WORTH, Parts
from rollprof.parallel.pool import run_chunks
from rollprof.parallel.tasks import ConvertOptions, StepTotals, plan
from rollprof.schema.ledger import Ledger
from rollprof.schema.store import Dataset, DatasetWriter
from rollprof.schema.tables import ENGINES, GPUS, METRICS, SEGMENTS, STEPS

GENERATIONS = "generations"
"""Beside the columns of a row: it is the mean of so many generations, and the dump holds the last of them."""

RELATIVE_CLOCK = 1e8
"""Times below this (March 1973) are seconds since some start, not since the epoch."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What the user said about the input. `config` is `--config`, `columns` is `--map`."""

    framework: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    tokenizer: str | None = None
    keep_text: bool = False
    run: str | None = None
    tz: str | None = None
    follow: bool = False
    """The run is being written: a last line without its end waits."""

    def as_meta(self) -> dict[str, Any]:
        """The part that decides whether a dataset can be used again."""
        return {
            **({"follow": True} if self.follow else {}),
            "framework": self.framework,
            "config": dict(sorted(self.config.items())),
            "columns": dict(sorted(self.columns.items())),
            "tokenizer": self.tokenizer,
            "keep_text": self.keep_text,
            "run": self.run,
            "tz": self.tz,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """Inputs recognised, parts read, one run chosen: all that is known before the heavy reading."""

    arguments: tuple[str, ...]
    options: BuildOptions
    run: Candidate
    others: tuple[str, ...]
    inputs: tuple[Input, ...]
    ledger: Ledger

    @property
    def bytes(self) -> int:
        return sum(i.file.size for s in self.run.series for i in s.inputs)

    def sources(self) -> list[dict[str, object]]:
        return [i.describe() for i in self.inputs]


def prepare(arguments: Sequence[str], options: BuildOptions) -> Plan:
    """Recognise the inputs, read metrics and configurations, and choose the run.

    Raises InputProblem when nothing usable is there or several runs are and none was chosen.
    """
    parse_overrides(options.config)
    return planned(survey(arguments, options.framework, options.columns, follow=options.follow), options)


def planned(found: Survey, options: BuildOptions) -> Plan:
    """The plan to read one of the runs that a survey found. Raises as `prepare` does."""
    shown = ", ".join(found.arguments)
    if not found.usable:
        raise no_step(shown, found)
    run = choose(found.runs, options.run, shown)
    if options.tz is not None:
        zone = zone_of(options.tz)
        run = replace(run, parts=[with_zone(p, zone) for p in run.parts])
    ledger = Ledger()
    ledger.merge(found.ledger)
    used = {p.file.path for p in run.parts} | {i.file.path for s in run.series for i in s.inputs}
    for part, remark in merge.precedence(run.parts):
        ledger.inform(part.file.name, 0, remark)
    if found.strangers:
        names = [file.name for file in found.strangers]
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        ledger.note(names[0], 0, f"not recognised, not read: {', '.join(names[:4])}{more}")
    return Plan(
        arguments=found.arguments,
        options=options,
        run=run,
        others=tuple(c.name for c in found.runs if c.name != run.name),
        inputs=tuple(i for i in found.inputs if i.file.path in used),
        ledger=ledger,
    )


def build(
    plan_: Plan,
    target: str,
    *,
    force: bool = False,
    advance: Callable[[int], None] | None = None,
    workers: int | None = None,
    keep_parts: bool = False,
) -> Dataset:
    """Read the rollouts of a planned run and write the dataset. `advance(bytes)` reports progress.

    With `keep_parts`, a large dump's converted chunks stay beside the dataset, and those of the dataset that
    is there are used where their bytes have not changed: the result is the same.
    """
    options = plan_.options
    ledger = Ledger()
    ledger.merge(plan_.ledger)
    index = {i.file.path: n for n, i in enumerate(plan_.inputs)}
    overrides = parse_overrides(options.config)
    with DatasetWriter(target, keep_text=options.keep_text, force=force) as writer:
        parts = Parts(*writer.parts, waiting=options.follow) if keep_parts and _worth(plan_) else None
        totals = _convert(plan_, index, writer, ledger, advance, workers, parts)
        summaries = {(step, split): summary_of(t) for (step, split), t in totals.items() if step is not None}
        reading = interpret(plan_.run.parts, overrides, summaries)
        scale = _token_scale(reading, totals, writer)
        samples = _samples(plan_, reading, overrides, writer)
        meta = _meta(plan_, samples.on(reading), overrides, totals, scale)
        meta["samples"] = samples.meta
        rows = writer.write_rollouts(meta, scale)
        counted = count_rollouts(writer.read_rollouts(ROLLOUT_COLUMNS))
        steps = step_rows(reading.steps, counted) or samples.steps
        if not rows and not any(r.get("split") != "eval" for r in steps):
            raise InputProblem(
                f"{', '.join(plan_.arguments)}: no training step and no rollout could be read",
                hint=first_problem(ledger) or samples.why,
            )
        writer.write_rows(STEPS, meta, steps)
        writer.write_columns(METRICS, meta, _metric_columns(plan_.run.parts, index))
        writer.write_rows(SEGMENTS, meta, [])
        writer.write_rows(ENGINES, meta, [s._asdict() for s in samples.engines])
        writer.write_rows(GPUS, meta, [s._asdict() for s in samples.gpus])
        return writer.commit(ledger)


def _worth(plan_: Plan) -> bool:
    return plan_.options.follow or plan_.bytes >= WORTH


def _samples(
    plan_: Plan, reading: Interpretation, overrides: Mapping[str, float], writer: DatasetWriter
) -> SampledRun:
    """The samples of engines and GPUs; a step's own rollouts are its best clock."""
    spans = rollout_spans(writer.spooled()) if any(p.engines for p in plan_.run.parts) else {}
    return sampled_run(plan_.run.parts, reading.steps, spans, with_overrides(reading.facts, overrides))


def _convert(
    plan_: Plan,
    index: Mapping[str, int],
    writer: DatasetWriter,
    ledger: Ledger,
    advance: Callable[[int], None] | None,
    workers: int | None,
    parts: Parts | None,
) -> dict[StepKey, StepTotals]:
    options = plan_.options
    known = merge.merge(plan_.run.parts)
    convert = ConvertOptions(
        columns=options.columns,
        tokenizer=options.tokenizer,
        keep_text=options.keep_text,
        hints=known.hints,
    )
    config = {**known.config, **parse_overrides(options.config)}
    inputs = [
        (i.file, i.claim, index[i.file.path])
        for series in plan_.run.series
        for i in arranged(series, config, ledger).inputs
    ]
    totals: dict[StepKey, StepTotals] = {}
    tasks = plan(inputs, convert, workers=workers)
    if parts is not None:
        tasks = parts.plan(tasks, workers)
    for result in run_chunks(tasks, workers=workers, on_done=advance, parts=parts):
        writer.spool(result.batches())
        ledger.merge(result.ledger)
        for key, more in result.totals.items():
            totals[key] = totals[key].plus(more) if key in totals else more
    return totals


def _token_scale(
    reading: Interpretation, totals: Mapping[StepKey, StepTotals], writer: DatasetWriter
) -> TokenScale:
    """How characters become tokens in each step with a logged mean length.

    Where the row is the mean of several generations and the dump holds one of them, the run's own tokens
    per character are used: those of a single step would be off by the chance of that generation.
    """
    logged = {(r["step"], r.get("split") or "train"): r for r in reading.steps}
    cap = reading.facts["response_cap"].value if "response_cap" in reading.facts else None
    prompt: dict[StepKey, StepScale] = {}
    lacking: set[StepKey] = set()
    for key, t in totals.items():
        row = logged.get(key, {}) if key[0] is not None else {}
        if row.get("response_tokens_mean") and t.chars and t.with_chars > t.with_tokens:
            lacking.add(key)
        mean = row.get("prompt_tokens_mean")
        if mean and t.prompt_chars and t.with_prompt:
            prompt[key] = StepScale(float(mean) * t.with_prompt / t.prompt_chars)
    response: dict[StepKey, StepScale] = {}
    overall = _overall(logged, totals)
    for key, chars in _characters(writer, lacking).items():
        row = logged[key]
        if row.get(GENERATIONS) and overall:
            response[key] = StepScale(overall, cap, cap / overall) if cap else StepScale(overall)
            continue
        longest, share = row.get("response_tokens_max"), row.get("truncated_share")
        cut = share * len(chars) if share and longest and longest == cap else 1
        response[key] = scale_to(chars, float(row["response_tokens_mean"]), longest, round(cut))
    return TokenScale(response, prompt)


def _overall(
    logged: Mapping[tuple[Any, str], Mapping[str, Any]], totals: Mapping[StepKey, StepTotals]
) -> float | None:
    """Tokens per character of the training steps that have both, together."""
    tokens = chars = 0.0
    for key, t in totals.items():
        mean = logged.get((key[0], key[1]), {}).get("response_tokens_mean")
        if mean and key[1] == "train" and t.with_chars:
            tokens, chars = tokens + float(mean), chars + t.chars / t.with_chars
    return tokens / chars if chars else None


def _characters(writer: DatasetWriter, wanted: Collection[StepKey]) -> dict[StepKey, Any]:
    """Characters of every response of the wanted steps."""
    if not wanted:
        return {}
    found: dict[StepKey, list[Any]] = {key: [] for key in wanted}
    for table in writer.spooled():
        chars = table["response_chars"]
        for key, rows in rows_by_step(table):
            if key in found:
                found[key].append(chars.take(rows).drop_null().to_numpy())
    import numpy as np

    return {key: np.concatenate(parts) for key, parts in found.items() if parts}


def _meta(
    plan_: Plan,
    reading: Interpretation,
    overrides: Mapping[str, float],
    totals: Mapping[StepKey, StepTotals],
    scale: TokenScale,
) -> dict[str, Any]:
    run = plan_.run
    framework = _framework(run)
    brings = registry.load(framework).brings
    facts = with_overrides(reading.facts, overrides)
    return {
        "framework": framework,
        "framework_version": reading.version,
        "trainer": reading.trainer,
        "run": run.name,
        "other_runs": list(plan_.others),
        "facts": as_meta(facts),
        "alarms": [
            {"code": a.code, "text": a.text, "evidence": dict(a.evidence), "handled": a.handled}
            for a in reading.alarms
        ],
        "notes": list(reading.notes) + _notes(totals, scale),
        "brings": {
            column: {"option": b.option, "releases": b.releases} for column, b in sorted(brings.items())
        },
        "clock": _clock(totals),
        "sources": plan_.sources(),
        "options": plan_.options.as_meta(),
        "rollprof": __version__,
        "versions": _versions(framework, reading, facts),
    }


def _versions(framework: str, reading: Interpretation, facts: Mapping[str, Fact]) -> dict[str, str]:
    """Framework, model and grader, as far as the log names them."""
    named = {framework: reading.version}
    for name in ("model", "grader", "engine_name"):
        if name in facts:
            named[name] = facts[name].value
    named.update(
        (name.removesuffix("_version"), fact.value)
        for name, fact in facts.items()
        if name.endswith("_version")
    )
    return {name: str(value) for name, value in sorted(named.items()) if value}


def _framework(run: Candidate) -> str:
    """The adapter that speaks for the run: a framework's rather than the generic one."""
    names = [p.claim.adapter for p in run.parts if not p.claim.hints.get(SAMPLES)]
    names += [s.adapter for s in run.series]
    samplers = [p.claim.adapter for p in run.parts if p.engines]
    return next((n for n in names if n != "generic"), [*names, *samplers][0])


def _notes(totals: Mapping[StepKey, StepTotals], scale: TokenScale) -> list[str]:
    notes = []
    scaled = [k for k in totals if k in scale.response and not totals[k].with_tokens]
    bare = [k for k, t in totals.items() if k not in scale.response and t.with_chars and not t.with_tokens]
    if scaled and bare:
        notes.append(
            f"{len(bare)} of {len(bare) + len(scaled)} steps lack a logged mean length: "
            "their lengths are in characters and stay out of token figures"
        )
    return notes


def _clock(totals: Mapping[StepKey, StepTotals]) -> str:
    latest = [t.latest for t in totals.values() if t.latest is not None]
    if not latest:
        return "none"
    return "epoch" if max(latest) >= RELATIVE_CLOCK else "relative"


def _metric_columns(parts: Sequence[MetricPart], index: Mapping[str, int]) -> dict[str, list[Any]]:
    records = [(r, index[p.file.path]) for p in parts for r in p.metrics]
    return {
        "step": [r.step for r, _ in records],
        "key": [r.key for r, _ in records],
        "value": [r.value for r, _ in records],
        "logged_at": [r.time for r, _ in records],
        "source": [source for _, source in records],
    }


__all__ = ["BuildOptions", "Plan", "Series", "build", "prepare"]
