"""The few functions behind the public API and the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rollprof import __version__
from rollprof.errors import DatasetProblem, InputProblem, RollprofError, UsageProblem
from rollprof.schema.store import Dataset, is_dataset, load

if TYPE_CHECKING:
    from rollprof.analyzers.results import Analysis
    from rollprof.analyzers.tables import Settings, Tables
    from rollprof.assemble.build import BuildOptions, Plan
    from rollprof.assemble.following import Look
    from rollprof.compare.change import Aggregate
    from rollprof.compare.comparison import Comparison
    from rollprof.doctor.anonymous.sample import Sample
    from rollprof.doctor.results import Diagnosis
    from rollprof.gate.baseline import Baseline
    from rollprof.gate.rules import Kind
    from rollprof.gate.verdict import Policy, Verdict
    from rollprof.render.document import Report
    from rollprof.whatif.results import WhatIf
    from rollprof.whatif.run import Options as WhatIfOptions

DEFAULT_DATASET = ".rollprof"


class Progress(Protocol):
    """Where long work reports how far it is. Bytes of input."""

    def start(self, total: int, what: str) -> None: ...

    def advance(self, done: int) -> None: ...

    def finish(self) -> None: ...


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How to open a run.

    `framework`: `--from`; `config`: facts the log lacks (keys of adapters.base.CONFIG_OVERRIDES);
    `columns`: COLUMN -> KEY; `output`: dataset directory (default `.rollprof`); `reuse`: take a dataset
    that is fresh (same sources by size and hash, same options) instead of converting again.
    """

    framework: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    tokenizer: str | None = None
    keep_text: bool = False
    run: str | None = None
    tz: str | None = None
    output: str | None = None
    force: bool = False
    reuse: bool = True
    workers: int | None = None


def default_dataset() -> str:
    """The dataset that `analyze` writes and the other commands read when they are given no run."""
    return DEFAULT_DATASET


def open_run(
    paths: Sequence[str], *, options: OpenOptions | None = None, progress: Progress | None = None
) -> Dataset:
    """A run as a dataset: an existing one opened, a fresh one reused, a log converted.

    Without `paths`, the dataset that the last `analyze` wrote. Raises RollprofError kinds with one line
    that says what is wrong.
    """
    options = options or OpenOptions()
    if not paths:
        if not is_dataset(DEFAULT_DATASET):
            raise InputProblem(
                f"no run given, and no dataset in {DEFAULT_DATASET}", hint="rollprof analyze RUN"
            )
        return load(DEFAULT_DATASET)
    if any(is_dataset(p) for p in paths):
        if len(paths) > 1:
            raise InputProblem("a dataset stands alone: give one dataset, or logs")
        return load(paths[0])
    return convert(paths, options=options, progress=progress)


def convert(
    paths: Sequence[str], *, options: OpenOptions | None = None, progress: Progress | None = None
) -> Dataset:
    """Convert logs to a dataset at `options.output`, unless a fresh one is there and may be reused."""
    for path in paths:
        if is_dataset(path):
            raise InputProblem(
                f"{path} is a dataset already", hint="convert takes logs; a dataset is copied as a directory"
            )
    from rollprof.assemble.build import prepare

    options = options or OpenOptions()
    plan = prepare(paths, _build_options(options))
    target = options.output or DEFAULT_DATASET
    if options.reuse:
        fresh = _fresh(target, plan)
        if fresh is not None:
            return fresh
    return _built(plan, target, options, progress)


def follow(
    paths: Sequence[str], *, options: OpenOptions | None = None, interval: float = 2.0
) -> Iterator[Look]:
    """A run that is being written, looked at every `interval` seconds without end: `look.dataset` is the run
    so far whenever something changed. Only new bytes of rollouts are read, and a last line without its end
    waits; the dataset on disk is whole at every moment. Raises RollprofError for what time will not heal.
    """
    from rollprof.assemble.following import follow as looks

    options = options or OpenOptions()
    if any(is_dataset(path) for path in paths):
        raise UsageProblem("a dataset does not grow", hint="follow the logs")
    if not paths:
        raise UsageProblem("no run given to follow", hint="rollprof analyze --follow RUN")
    return looks(
        paths,
        replace(_build_options(options), follow=True),
        options.output or DEFAULT_DATASET,
        interval=interval,
        force=options.force,
        workers=options.workers,
    )


def _build_options(options: OpenOptions) -> BuildOptions:
    from rollprof.assemble.build import BuildOptions

    return BuildOptions(
        framework=options.framework,
        config=options.config,
        columns=options.columns,
        tokenizer=options.tokenizer,
        keep_text=options.keep_text,
        run=options.run,
        tz=options.tz,
    )


def _built(plan: Plan, target: str, options: OpenOptions, progress: Progress | None) -> Dataset:
    from rollprof.assemble.build import build

    if progress is not None:
        progress.start(plan.bytes, "reading rollouts")
    try:
        return build(
            plan,
            target,
            force=options.force,
            advance=progress.advance if progress is not None else None,
            workers=options.workers,
            keep_parts=options.reuse,
        )
    finally:
        if progress is not None:
            progress.finish()


def _fresh(target: str, plan: Plan) -> Dataset | None:
    if not is_dataset(target):
        return None
    try:
        known = load(target)
    except DatasetProblem:
        return None
    if known.meta.get("rollprof") != __version__:
        return None  # another release may read the same bytes better
    same_sources = known.meta.get("sources") == plan.sources()
    same_options = known.meta.get("options") == plan.options.as_meta()
    return known if same_sources and same_options and known.meta.get("run") == plan.run.name else None


def analyze(dataset: Dataset | str | Path, settings: Settings | None = None) -> Analysis:
    """Every figure of definitions that this run allows, each with its basis."""
    from rollprof.analyzers.analyze import analyze as run_analyzers
    from rollprof.analyzers.tables import Settings

    if not isinstance(dataset, Dataset):
        dataset = open_run([str(dataset)])
    return run_analyzers(tables_of(dataset), settings or Settings())


def check(
    run: Analysis | Dataset | str | Path,
    *,
    max: Mapping[str, float | str] | None = None,  # noqa: A002
    min: Mapping[str, float | str] | None = None,  # noqa: A002
    max_increase: Mapping[str, float | str] | None = None,
    baseline: Baseline | str | Path | None = None,
    aggregate: Aggregate = "run",
    policy: Policy | None = None,
) -> Verdict:
    """The verdict of rules about figures, as `rollprof check`: `check(run, max={"step_idle": 0.3}).failed`.

    `idle` stands for the run's GPU-idle headline. `max_increase` takes `"10%"` of the baseline's value, or a
    number in the figure's own unit. Raises UsageProblem for unknown figures and limits that have no meaning,
    InputProblem for the baseline of another job.
    """
    from rollprof.analyzers.results import Analysis
    from rollprof.gate import baseline as baselines
    from rollprof.gate.rules import flag_rule, with_defaults
    from rollprof.gate.verdict import Policy, judge

    analysis = run if isinstance(run, Analysis) else analyze(run)
    asked: tuple[tuple[Kind, Mapping[str, float | str]], ...] = (
        ("max", max or {}),
        ("min", min or {}),
        ("max_increase", max_increase or {}),
    )
    rules = [
        flag_rule(f"{name}={limit}", kind, kind) for kind, limits in asked for name, limit in limits.items()
    ]
    if isinstance(baseline, str | Path):
        baseline = baselines.loads(Path(baseline).read_text(encoding="utf-8"), str(baseline))
    if baseline is None and max_increase:
        raise UsageProblem("max_increase needs a baseline")
    if baseline is not None:
        differ = baselines.mismatches(baseline.fingerprint, baselines.fingerprint(analysis))
        names = [m.name for m in differ if m.known]
        if names:
            raise InputProblem(f"a baseline of another job: it differs in {', '.join(names)}")
    series = baseline.series if baseline is not None else None
    return judge(analysis, with_defaults(rules, aggregate, None), policy or Policy(), series)


def compare_runs(*runs: Analysis | Dataset | str | Path) -> Comparison:
    """Runs side by side, as `rollprof compare`: the first is what the others are compared with."""
    from rollprof.analyzers.results import Analysis
    from rollprof.compare.comparison import compare

    if len(runs) < 2:
        raise UsageProblem("a comparison takes two runs")
    labels = [str(run) if isinstance(run, str | Path) else f"run {i}" for i, run in enumerate(runs, 1)]
    analyses = [run if isinstance(run, Analysis) else analyze(run) for run in runs]
    return compare(list(zip(labels, analyses, strict=True)))


def whatif(
    dataset: Dataset | str | Path, options: WhatIfOptions | None = None, settings: Settings | None = None
) -> WhatIf:
    """The run replayed under every remedy, or under `options.policies`, with advice."""
    from rollprof.analyzers.tables import Settings
    from rollprof.whatif.run import whatif as replay

    if not isinstance(dataset, Dataset):
        dataset = open_run([str(dataset)])
    return replay(tables_of(dataset), settings or Settings(), options)


def tables_of(dataset: Dataset) -> Tables:
    """The tables of a dataset as analyzers take them."""
    from rollprof.analyzers.tables import Tables

    return Tables(
        rollouts=dataset.rollouts,
        steps=dataset.steps,
        metrics=dataset.metrics,
        engines=dataset.engines,
        gpus=dataset.gpus,
        segments=dataset.segments,
        meta=_with_ledger(dataset),
    )


def diagnose(
    paths: Sequence[str],
    *,
    options: OpenOptions | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """What was recognised, what each source gives, which figures follow, and what would bring the others.

    No dataset is left behind. Several runs are listed rather than refused; figures are those of the only
    one, or of `options.run`. Raises InputProblem where there is no file at all.
    """
    from rollprof.doctor.diagnose import diagnose as describe

    options = options or OpenOptions()
    if not paths or any(is_dataset(p) for p in paths):
        dataset = open_run(paths, options=options)
        return describe(None, None, dataset.meta, analyze(dataset, settings), dataset.ledger.as_dict())
    from rollprof.assemble.build import planned
    from rollprof.assemble.survey import survey

    found = survey(paths, options.framework, options.columns, lenient=True)
    with tempfile.TemporaryDirectory(prefix="rollprof-") as folder:
        try:
            plan = planned(found, _build_options(options))
            dataset = _built(plan, str(Path(folder) / "dataset"), options, progress)
        except InputProblem as problem:
            said = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
            return describe(found, None, {}, None, found.ledger.as_dict(), said)
        analysis = analyze(dataset, settings)
        return describe(found, plan.run, dataset.meta, analysis, dataset.ledger.as_dict())


def anonymized(paths: Sequence[str], target: str, *, framework: str | None = None) -> Sample:
    """A sample of logs without their text, for the file `target` (which is not written here).

    Raises UsageProblem where several files would need a zip archive and `target` names none.
    """
    from rollprof.assemble.inputs import look
    from rollprof.doctor.anonymous.sample import sample
    from rollprof.schema.ledger import Ledger

    if not paths or any(is_dataset(p) for p in paths):
        raise UsageProblem("a sample is made from logs, not from a dataset", hint="name the logs")
    found = look(paths, framework, {}, Ledger())
    return sample([i.file for i in found.inputs], found.strangers, target)


def report(
    run: Analysis | Dataset | str | Path,
    settings: Settings | None = None,
    *,
    include_text: bool = False,
    whatif: WhatIf | str | None = None,
    against: Comparison | None = None,
) -> Report:
    """The report of a run or of an analysis: `.html`, `.markdown`, `.json`, `.figures`.

    `whatif`: replays of the run (`whatif(run)`) for a section of their own, or why there are none.
    `against`: a comparison whose last run is this one (`compare_runs(other, run)`), for another.

    `include_text` puts prompt and response of the worst steps' last rollouts into it; it takes a run that
    was opened with `keep_text`, else UsageProblem.
    """
    from rollprof.analyzers.results import Analysis
    from rollprof.analyzers.straggler_text import has_text, straggler_texts
    from rollprof.render.document import Report
    from rollprof.render.report.model import Extras

    extras = Extras(whatif, against)
    if isinstance(run, Analysis):
        if include_text:
            raise UsageProblem("an analysis holds no text", hint="give the run, not its analysis")
        return Report(run, extras=extras)
    dataset = run if isinstance(run, Dataset) else open_run([str(run)])
    if include_text and not has_text(dataset.rollouts):
        hint = "rollprof analyze RUN --keep-text, or keep_text=True in Python"
        raise UsageProblem("this dataset holds no prompts and responses", hint=hint)
    analysis = analyze(dataset, settings)
    split = settings.split if settings is not None else "train"
    texts = straggler_texts(dataset.rollouts, analysis.stragglers, split=split) if include_text else {}
    return Report(analysis, texts, extras)


def to_html(run: Analysis | Dataset | str | Path) -> str:
    """The report as one HTML document: `report(run).html`."""
    return report(run).html


def _with_ledger(dataset: Dataset) -> dict[str, Any]:
    return {**dataset.meta, "ledger": dataset.ledger.as_dict()}


__all__ = [
    "Dataset",
    "OpenOptions",
    "Progress",
    "RollprofError",
    "analyze",
    "anonymized",
    "check",
    "compare_runs",
    "convert",
    "default_dataset",
    "diagnose",
    "follow",
    "open_run",
    "report",
    "tables_of",
    "to_html",
    "whatif",
]
