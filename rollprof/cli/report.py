"""`rollprof report`: a run that was read before, in the terminal, as HTML, Markdown or JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rollprof.cli import options as o
from rollprof.cli.output import emit, note, write_file
from rollprof.cli.report_file import DEFAULT_FILE, STDOUT, Form, form_of, is_ours

if TYPE_CHECKING:
    from rollprof.analyzers.results import Analysis
    from rollprof.render.document import Report
    from rollprof.schema.store import Dataset
    from rollprof.whatif.results import WhatIf

EPILOG = """\b
Examples:
  rollprof report                          the run that was analysed last
  rollprof report --html --open            one file to look at and to send around
  rollprof report -o run.md                the form follows the extension
  rollprof report --html --whatif          with what remedies would gain
  rollprof report --html --against OTHER   with what changed since another run
  rollprof report --verbose                every finding, every problem of the input
  rollprof report --json -o run.json
"""
File = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help=f"Write to FILE (- is standard output). HTML goes to {DEFAULT_FILE} without it.",
    ),
]
Html = Annotated[bool, typer.Option("--html", help="One HTML file that works offline.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Markdown, for an issue or a wiki.")]
Open = Annotated[bool, typer.Option("--open", help="Show the HTML in the browser.")]
IncludeText = Annotated[
    bool,
    typer.Option(
        "--include-text", help="Show prompts and responses of the worst steps (needs analyze --keep-text)."
    ),
]
WhatIfToo = Annotated[
    bool, typer.Option("--whatif", help="Replay the run under remedies too (HTML, Markdown, JSON).")
]
Against = Annotated[
    str | None,
    typer.Option("--against", metavar="OTHER", help="Set it beside another run (HTML, Markdown)."),
]


def report(
    runs: o.Runs = None,
    output: File = None,
    html: Html = False,
    markdown: Markdown = False,
    json: o.Json = False,
    opened: Open = False,
    include_text: IncludeText = False,
    whatif: WhatIfToo = False,
    against: Against = None,
    framework: o.From = None,
    config: o.Config = None,
    steps: o.Steps = None,
    run: o.Run = None,
    tz: o.TimeZone = None,
    idle_figure: o.IdleFigure = None,
    allow_modelled: o.AllowModelled = None,
    gpu_hour_cost: o.GpuHourCost = None,
    force: o.Force = False,
    quiet: o.Quiet = None,
    verbose: o.Verbose = None,
) -> None:
    """Report on a run: in the terminal, as HTML, Markdown or JSON."""
    form = form_of(output, html=html, markdown=markdown, json=json, opened=opened)
    target = output or (DEFAULT_FILE if form == "html" else STDOUT)
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
        force=force,
    )
    _check(form, include_text=include_text, whatif=whatif, against=against)
    from rollprof.cli.patience import patience
    from rollprof.cli.reading import open_dataset

    dataset = open_dataset(runs, options)
    replayed = _replayed(dataset, options) if whatif else None
    other = _other(against, options) if against is not None else None
    with patience("computing figures", quiet=options.quiet):
        made = _report(dataset, options, other, include_text=include_text, whatif=replayed)
        text = _text(made, options, form, to_file=target != STDOUT)
    if target == STDOUT:
        emit(text)
        return
    write_file(target, text, force=force or is_ours(Path(target)))
    if form == "html" and not options.quiet:
        note(f"{target} written ({len(text.encode()) / 1e6:.1f} MB, works offline)")
    if opened:
        _show(target)


def _check(form: Form, *, include_text: bool, whatif: bool, against: str | None) -> None:
    """Options that can have no effect are an error, never silently ignored."""
    from rollprof.errors import UsageProblem

    pages = ("html", "markdown")
    if include_text and form not in pages:
        raise UsageProblem("--include-text is for HTML and Markdown", hint="--html or --markdown")
    if whatif and form == "terminal":
        raise UsageProblem("--whatif is for HTML, Markdown and JSON", hint="rollprof whatif")
    if against is not None and form not in pages:
        raise UsageProblem("--against is for HTML and Markdown", hint="rollprof compare OTHER RUN")


def _replayed(dataset: Dataset, options: o.RunOptions) -> WhatIf | str:
    """The default replays, or why there are none: that costs the report a section, not itself."""
    from rollprof.api import tables_of
    from rollprof.cli.replay_progress import ReplayBar
    from rollprof.errors import InputProblem
    from rollprof.whatif.run import whatif

    try:
        with ReplayBar(quiet=options.quiet) as bar:
            return whatif(tables_of(dataset), options.settings(), progress=bar.show)
    except InputProblem as problem:
        return f"{problem.message} (rollprof whatif {problem.hint})" if problem.hint else problem.message


def _other(path: str, options: o.RunOptions) -> tuple[str, Analysis]:
    """The run to compare with, and what it is called. `--run` chooses within RUN, not here."""
    from contextlib import ExitStack

    from rollprof.cli.compare import analysis_of, labels_of

    options = replace(options, values={k: v for k, v in options.values.items() if k != "run"})
    with ExitStack() as stack:
        return labels_of([path])[0], analysis_of(path, options, stack)


def _report(
    dataset: Dataset,
    options: o.RunOptions,
    other: tuple[str, Analysis] | None,
    *,
    include_text: bool,
    whatif: WhatIf | str | None,
) -> Report:
    from rollprof import api

    made = api.report(dataset, options.settings(), include_text=include_text, whatif=whatif)
    if other is None:
        return made
    from rollprof.compare.comparison import compare

    comparison = compare([other, ("this run", made.analysis)])
    return replace(made, extras=replace(made.extras, against=comparison))


def _text(made: Report, options: o.RunOptions, form: Form, *, to_file: bool) -> str:
    from rollprof.cli.reading import shown

    if form == "html":
        return made.html
    if form == "markdown":
        return made.markdown
    if form == "json":
        return made.json
    return shown(made.analysis, options, json=False, to_file=to_file)


def _show(target: str) -> None:
    import webbrowser

    if not webbrowser.open(Path(target).resolve().as_uri()):
        note(f"no browser to be found here; the report is in {target}")
