"""`rollprof check`: the gate at the end of a job. Exit code 1 where a rule is broken."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rollprof.cli import options as o
from rollprof.cli.output import note
from rollprof.errors import InputProblem, UsageProblem

if TYPE_CHECKING:
    from rollprof.analyzers.results import Analysis
    from rollprof.gate.baseline import Baseline
    from rollprof.gate.configured import CheckSettings
    from rollprof.gate.rules import Rule
    from rollprof.gate.verdict import Policy, Verdict

EPILOG = """\b
Examples:
  rollprof check --max-idle 0.30           the run that was analysed last
  rollprof check outputs/grpo --max-idle 30% --max generate_s=90 --min tokens_per_gpu_s=400
  rollprof check outputs/main --write-baseline baseline.json
  rollprof check outputs/grpo --baseline baseline.json --max-increase generate_s=10%
  rollprof check --max-idle 0.3 --report text --report junit=rollprof.xml

\b
Rules may stand in rollprof.toml as [check.rules], in pyproject.toml as
[tool.rollprof.check.rules]:
  step_idle = { max = 0.30, aggregate = "median", level = "error" }
ROLLPROF_CHECK_MAX_IDLE and the like win over the file, flags over both.

\b
A rule is broken when the whole 90 % interval of the figure lies beyond the
limit, holds when none of it does, and is undecided (a warning) in between.
Exit codes: 0 no rule is broken; 1 a rule of level error is broken; 2 bad
usage, configuration or input, or a rule that cannot be computed from this
log; 70 internal error; 130 interrupted.
"""

MaxIdle = Annotated[
    str | None,
    typer.Option(
        "--max-idle",
        metavar="VALUE",
        help="Limit of the GPU-idle fraction: step_idle, or generation_idle where the log has no step times.",
    ),
]
Max = Annotated[
    list[str] | None,
    typer.Option("--max", metavar="FIGURE=VALUE", help="The figure must not be above VALUE. Repeatable."),
]
Min = Annotated[
    list[str] | None,
    typer.Option("--min", metavar="FIGURE=VALUE", help="The figure must not be below VALUE. Repeatable."),
]
MaxIncrease = Annotated[
    list[str] | None,
    typer.Option(
        "--max-increase",
        metavar="FIGURE=10%|0.05",
        help="The figure must not be this far above the baseline's, in percent of it or in its own unit. "
        "Times compare at matched response length. Repeatable.",
    ),
]
BaselineFile = Annotated[
    str | None, typer.Option("--baseline", metavar="FILE", help="Baseline to compare with.")
]
WriteBaseline = Annotated[
    str | None,
    typer.Option(
        "--write-baseline",
        metavar="FILE",
        help="Keep this run as a baseline. With rules, only if it passes.",
    ),
]
Aggregate = Annotated[
    str | None,
    typer.Option(
        "--aggregate",
        metavar="run|median|mean|p95|max",
        help="What is compared: the run's own figure (default), or this over its steps.",
    ),
]
SkipSteps = Annotated[
    int | None,
    typer.Option("--skip-steps", metavar="N", min=0, help="Leave out the first N steps. Default: 0"),
]
MinSteps = Annotated[
    int | None,
    typer.Option(
        "--min-steps", metavar="N", min=0, help="A figure of fewer steps decides nothing. Default: 1"
    ),
]
RequireBasis = Annotated[
    str | None,
    typer.Option(
        "--require-basis",
        metavar="measured|logged|calibrated",
        help="A figure known less well than this counts as not in the log.",
    ),
]
Report = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT[=PATH]",
        help="text, json, markdown, github, junit or openmetrics; to standard output or a file. Repeatable.",
    ),
]
Strict = Annotated[bool | None, typer.Option("--strict", help="An undecided rule is broken.")]
AllowMissing = Annotated[
    bool | None, typer.Option("--allow-missing", help="Skip rules that cannot be computed from this log.")
]
ExitZero = Annotated[bool | None, typer.Option("--exit-zero", help="Exit 0 even if a rule is broken.")]
ErrorOnWarning = Annotated[
    bool | None,
    typer.Option("--error-on-warning", help="Exit 1 also for rules that only warn or are undecided."),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Compare with the baseline of another job; replace a file that is none."),
]


def check(
    runs: o.Runs = None,
    max_idle: MaxIdle = None,
    max: Max = None,  # noqa: A002
    min: Min = None,  # noqa: A002
    baseline: BaselineFile = None,
    max_increase: MaxIncrease = None,
    idle_figure: o.IdleFigure = None,
    aggregate: Aggregate = None,
    skip_steps: SkipSteps = None,
    min_steps: MinSteps = None,
    require_basis: RequireBasis = None,
    report: Report = None,
    write_baseline: WriteBaseline = None,
    strict: Strict = None,
    allow_modelled: o.AllowModelled = None,
    allow_missing: AllowMissing = None,
    exit_zero: ExitZero = None,
    error_on_warning: ErrorOnWarning = None,
    framework: o.From = None,
    config: o.Config = None,
    steps: o.Steps = None,
    run: o.Run = None,
    tz: o.TimeZone = None,
    gpu_hour_cost: o.GpuHourCost = None,
    force: Force = False,
    quiet: o.Quiet = None,
    verbose: o.Verbose = None,
) -> None:
    """Check a run against rules: the gate for CI. Exit code 1 where a rule is broken."""
    options = o.gather(
        framework=framework,
        config=config,
        steps=steps,
        run=run,
        tz=tz,
        idle_figure=idle_figure,
        allow_modelled=allow_modelled,
        gpu_hour_cost=gpu_hour_cost,
        quiet=quiet,
        verbose=verbose,
    )
    flags = {
        "max_idle": max_idle,
        "baseline": baseline,
        "aggregate": aggregate,
        "skip_steps": skip_steps,
        "min_steps": min_steps,
        "require_basis": require_basis,
        "report": report or None,
        "strict": strict,
        "allow_missing": allow_missing,
        "exit_zero": exit_zero,
        "error_on_warning": error_on_warning,
    }
    settings = _settings(flags, {"max": max, "min": min, "max_increase": max_increase})
    if not options.quiet:
        for remark in settings.remarks:
            note(remark)
    order = _order(settings, options, write_baseline, force=force)
    verdict = _run(runs, options, order)
    raise typer.Exit(0 if verdict is None else verdict.exit_code)


@dataclass(frozen=True, slots=True)
class _Order:
    """What is asked for, all of it known to be well-formed before anything is read."""

    rules: tuple[Rule, ...]
    policy: Policy
    reports: tuple[tuple[str, str | None], ...]
    skip: int
    baseline: Baseline | None
    baseline_name: str | None
    write_baseline: str | None
    force: bool


def _settings(flags: Mapping[str, Any], limits: Mapping[str, list[str] | None]) -> CheckSettings:
    """Flags over environment over the nearest file."""
    from rollprof.config import nearest_file
    from rollprof.gate.configured import CheckSettings, combined, from_environment, from_file
    from rollprof.gate.rules import HEADLINE, Place, Rule, aggregate_of, basis_of, flag_rule, limit

    values = {name: value for name, value in flags.items() if value is not None}
    rules: list[Rule] = []
    if "max_idle" in values:
        text = values.pop("max_idle")
        where = f"--max-idle {text}"
        rules.append(Rule(HEADLINE, "max", limit(text, "max", HEADLINE, where), Place(where)))
    if "aggregate" in values:
        values["aggregate"] = aggregate_of(values["aggregate"], "--aggregate")
    if "require_basis" in values:
        values["require_basis"] = basis_of(values["require_basis"], "--require-basis")
    rules += [flag_rule(text, "max", "--max") for text in limits["max"] or ()]
    rules += [flag_rule(text, "min", "--min") for text in limits["min"] or ()]
    rules += [flag_rule(text, "max_increase", "--max-increase") for text in limits["max_increase"] or ()]
    file = from_file(nearest_file(Path.cwd()))
    return combined(file, from_environment(os.environ), CheckSettings(values, tuple(rules)))


def _order(
    settings: CheckSettings, options: o.RunOptions, write_baseline: str | None, *, force: bool
) -> _Order:
    from rollprof.cli.check_reports import parse_reports
    from rollprof.gate.rules import with_defaults
    from rollprof.gate.verdict import Policy

    get = settings.values.get
    rules = with_defaults(settings.rules, get("aggregate", "run"), get("require_basis"))
    policy = Policy(
        min_steps=get("min_steps", 1),
        strict=get("strict", False),
        allow_missing=get("allow_missing", False),
        allow_modelled=bool(options.values.get("allow_modelled")),
        exit_zero=get("exit_zero", False),
        error_on_warning=get("error_on_warning", False),
    )
    if not rules and write_baseline is None:
        raise UsageProblem("no rule to check", hint="--max-idle 0.30, --max FIGURE=VALUE, or [check.rules]")
    options.settings()
    compares = any(rule.kind == "max_increase" for rule in rules)
    name = get("baseline")
    if compares and name is None:
        raise UsageProblem("--max-increase needs a baseline", hint="--baseline FILE")
    if name is not None and not compares and write_baseline is None:
        raise UsageProblem("no rule compares with the baseline", hint="--max-increase FIGURE=10%")
    reports = parse_reports(get("report", []))
    return _Order(
        rules=rules,
        policy=policy,
        reports=reports,
        skip=get("skip_steps", 0),
        baseline=_read_baseline(str(name)) if compares else None,
        baseline_name=name,
        write_baseline=write_baseline,
        force=force,
    )


def _read_baseline(name: str) -> Baseline:
    from rollprof.gate import baseline

    try:
        text = Path(name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputProblem(
            f"{name}: no such baseline", hint="rollprof check RUN --write-baseline FILE writes one"
        ) from None
    except UnicodeDecodeError as problem:
        raise InputProblem(f"{name}: not a baseline ({problem})") from problem
    return baseline.loads(text, name)


def _run(runs: list[str] | None, options: o.RunOptions, order: _Order) -> Verdict | None:
    from rollprof.cli.check_reports import write_reports
    from rollprof.gate.verdict import judge

    analysis = _analysis(runs, options, order.skip)
    if order.baseline is not None:
        _same_job(order, analysis, quiet=options.quiet)
    verdict = None
    if order.rules:
        series = order.baseline.series if order.baseline is not None else None
        verdict = judge(analysis, order.rules, order.policy, series)
        write_reports(verdict, order.reports)
    if order.write_baseline is not None:
        _write_baseline(order, analysis, verdict, quiet=options.quiet)
    return verdict


def _analysis(runs: list[str] | None, options: o.RunOptions, skip: int) -> Analysis:
    """The analysis; without its first `skip` steps, figures of the run are those of the rest."""
    from dataclasses import replace

    from rollprof import api
    from rollprof.cli.reading import open_dataset

    dataset = open_dataset(runs, options)
    settings = options.settings()
    analysis = api.analyze(dataset, settings)
    if not skip:
        return analysis
    if skip >= len(analysis.steps):
        raise UsageProblem(f"--skip-steps {skip}: the run has {len(analysis.steps)} steps, none is left")
    last = settings.steps[1] if settings.steps is not None else None
    return api.analyze(dataset, replace(settings, steps=(analysis.steps[skip].step, last)))


def _same_job(order: _Order, analysis: Analysis, *, quiet: bool) -> None:
    """Runs of different jobs are not compared, unless --force asks for it."""
    from rollprof.gate.baseline import fingerprint, mismatches

    assert order.baseline is not None
    found = mismatches(order.baseline.fingerprint, fingerprint(analysis))
    differ = [f"{m.name} {_plain(m.old)} there, {_plain(m.new)} here" for m in found if m.known]
    unsure = [m.name for m in found if not m.known]
    words = f"{order.baseline_name}: a baseline of another job: {'; '.join(differ)}"
    if differ and not order.force:
        raise InputProblem(words, hint="--force compares all the same")
    if differ and not quiet:
        note(words)
    if unsure and not quiet:
        note(f"{order.baseline_name}: only one of the logs tells {', '.join(unsure)}: not compared")


def _plain(value: str | float | None) -> str:
    return f"{value:,g}" if isinstance(value, float) else str(value)


def _write_baseline(order: _Order, analysis: Analysis, verdict: Verdict | None, *, quiet: bool) -> None:
    from rollprof import __version__
    from rollprof.cli.output import write_file
    from rollprof.gate.baseline import baseline_of, dumps, is_baseline

    path = order.write_baseline
    assert path is not None
    if verdict is not None and (verdict.failed or verdict.of("unknown")):
        if not quiet:
            note(f"{path} not written: the run does not pass")
        return
    target = Path(path)
    replaceable = target.is_file() and is_baseline(target.read_text(encoding="utf-8", errors="replace"))
    write_file(path, dumps(baseline_of(analysis), __version__), force=order.force or replaceable)
    if not quiet:
        note(f"{path} written: baseline of {analysis.run.steps} steps")
