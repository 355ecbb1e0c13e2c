"""`rollprof report`: the summary of a run that was read before, in the terminal or as JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from rollprof.cli import options as o
from rollprof.cli.output import emit, write_file

EPILOG = """\b
Examples:
  rollprof report                          the run that was analysed last
  rollprof report --verbose                every finding, every problem of the input
  rollprof report --json -o run.json
"""
File = Annotated[str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to FILE.")]


def report(
    runs: o.Runs = None,
    output: File = None,
    json: o.Json = False,
    framework: o.From = None,
    config: o.Config = None,
    steps: o.Steps = None,
    run: o.Run = None,
    tz: o.TimeZone = None,
    idle_figure: o.IdleFigure = None,
    allow_modelled: o.AllowModelled = None,
    force: o.Force = False,
    quiet: o.Quiet = None,
    verbose: o.Verbose = None,
) -> None:
    """Show a run again: the summary, or JSON."""
    options = o.gather(
        framework=framework,
        config=config,
        steps=steps,
        run=run,
        tz=tz,
        idle_figure=idle_figure,
        allow_modelled=allow_modelled,
        quiet=quiet,
        verbose=verbose,
        force=force,
    )
    from rollprof.cli.reading import analysed, open_dataset, shown

    text = shown(analysed(open_dataset(runs, options), options), options, json=json, to_file=bool(output))
    if output is None:
        emit(text)
    else:
        write_file(output, text, force=force)
