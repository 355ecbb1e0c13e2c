"""`rollprof report`: a run that was read before, in the terminal, as HTML, Markdown or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rollprof.cli import options as o
from rollprof.cli.output import emit, note, write_file
from rollprof.cli.report_file import DEFAULT_FILE, STDOUT, Form, form_of, is_ours

if TYPE_CHECKING:
    from rollprof.schema.store import Dataset

EPILOG = """\b
Examples:
  rollprof report                          the run that was analysed last
  rollprof report --html --open            one file to look at and to send around
  rollprof report -o run.md                the form follows the extension
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


def report(
    runs: o.Runs = None,
    output: File = None,
    html: Html = False,
    markdown: Markdown = False,
    json: o.Json = False,
    opened: Open = False,
    include_text: IncludeText = False,
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
    _check(form, include_text)
    from rollprof.cli.patience import patience
    from rollprof.cli.reading import open_dataset

    dataset = open_dataset(runs, options)
    with patience("computing figures", quiet=options.quiet):
        text = _text(dataset, options, form, include_text=include_text, to_file=target != STDOUT)
    if target == STDOUT:
        emit(text)
        return
    write_file(target, text, force=force or is_ours(Path(target)))
    if form == "html" and not options.quiet:
        note(f"{target} written ({len(text.encode()) / 1e6:.1f} MB, works offline)")
    if opened:
        _show(target)


def _check(form: Form, include_text: bool) -> None:
    """Options that can have no effect are an error, never silently ignored."""
    from rollprof.errors import UsageProblem

    if include_text and form not in ("html", "markdown"):
        raise UsageProblem("--include-text is for HTML and Markdown", hint="--html or --markdown")


def _text(dataset: Dataset, options: o.RunOptions, form: Form, *, include_text: bool, to_file: bool) -> str:
    from rollprof import api
    from rollprof.cli.reading import shown

    made = api.report(dataset, options.settings(), include_text=include_text)
    if form == "html":
        return made.html
    if form == "markdown":
        return made.markdown
    return shown(made.analysis, options, json=form == "json", to_file=to_file)


def _show(target: str) -> None:
    import webbrowser

    if not webbrowser.open(Path(target).resolve().as_uri()):
        note(f"no browser to be found here; the report is in {target}")
