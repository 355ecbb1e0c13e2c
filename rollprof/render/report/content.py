"""The whole report, in the order it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import Analysis, RunInfo
from rollprof.render.numbers import number, plural
from rollprof.render.report.against import against
from rollprof.render.report.engines import engines
from rollprof.render.report.headline import headline
from rollprof.render.report.honesty import findings, missing, quality
from rollprof.render.report.in_flight import in_flight
from rollprof.render.report.lengths import bands, lengths
from rollprof.render.report.model import Content, Definition, Extras, Headline, Section, Table
from rollprof.render.report.phases import phases
from rollprof.render.report.prompts import difficulty, sampling, staleness
from rollprof.render.report.waiting import Texts, waiting
from rollprof.render.report.what_if import what_if
from rollprof.render.text import clean

_TITLES = {
    "verl": "verl",
    "openrlhf": "OpenRLHF",
    "trl": "TRL",
    "generic": "Generic log",
    "vllm": "vLLM",
    "sglang": "SGLang",
}


def content(analysis: Analysis, texts: Texts | None = None, extras: Extras | None = None) -> Content:
    """Every section that this log allows. `texts`: private text of last rollouts, where it was asked for;
    `extras`: replays and a comparison, where they were."""
    extras = extras or Extras()
    made = (
        in_flight(analysis),
        engines(analysis),
        lengths(analysis),
        bands(analysis),
        waiting(analysis, texts or {}),
        phases(analysis),
        difficulty(analysis),
        sampling(analysis),
        staleness(analysis),
        what_if(extras.whatif),
        against(extras.against),
        findings(analysis),
        missing(analysis),
        quality(analysis),
    )
    sections = tuple(s for s in made if s is not None)
    top = headline(analysis)
    inferred = analysis.samples is not None and analysis.samples.inferred
    facts = _facts(analysis.run, inferred=inferred)
    return Content(_title(analysis.run), facts, top, sections, _definitions(top, sections))


def _title(run: RunInfo) -> str:
    version = f" {run.framework_version}" if run.framework_version else ""
    trainer = ""
    if run.trainer:
        trainer = f", {run.trainer}" + ("" if run.trainer.lower().endswith("trainer") else " trainer")
    return f"{_TITLES.get(run.framework, run.framework)}{version}{trainer}"


def _facts(run: RunInfo, *, inferred: bool) -> tuple[tuple[str, str], ...]:
    known = (
        ("inferred generations" if inferred else "steps", run.steps),
        ("rollouts", run.rollouts),
        ("prompts", run.prompts),
        ("GPUs", run.gpus),
        ("engines", run.engines),
        ("response cap", run.response_cap),
    )
    names = [str(s.get("name") or s.get("path") or "") for s in run.sources]
    more = f" and {plural(len(names) - 1, 'more file')}" if len(names) > 1 else ""
    source = (("read from", clean(names[0], 48) + more),) if names and names[0] else ()
    return (*((label, number(value)) for label, value in known if value), *source)


def _definitions(top: Headline, sections: Iterable[Section]) -> tuple[Definition, ...]:
    """Definitions of every figure that is shown, in the registry's order."""
    shown = {top.figure, *_names(top.ladder)}
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Table):
                shown.update(_names(block))
    return tuple(
        Definition(s.name, s.unit, s.doc, s.formula, s.aggregation, tuple(s.basis_rules), s.source)
        for s in REGISTRY.values()
        if s.name in shown
    )


def _names(table: Table) -> Iterator[str]:
    return (c.text for row in table.rows for c in row if c.kind == "figure")
