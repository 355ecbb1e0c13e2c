"""`rollprof doctor`: what a log is, what it gives, and what would bring the rest."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rollprof.cli import options as o
from rollprof.cli.output import emit, note, screen, write_file
from rollprof.errors import EXIT_USAGE

if TYPE_CHECKING:
    from rollprof.doctor.results import Diagnosis

EPILOG = """\b
Examples:
  rollprof doctor outputs/grpo                       files, runs, facts, figures, options, traps
  rollprof doctor train.log --json | jq .remedies
  rollprof doctor train.log --anonymize sample.log   a sample without its text, for a bug report
  rollprof doctor outputs/grpo --anonymize sample.zip
"""
Anonymize = Annotated[
    str | None,
    typer.Option(
        "--anonymize",
        metavar="FILE",
        help="Write a sample of the log without its text, for a bug report; FILE.zip for several files.",
    ),
]


def doctor(
    runs: o.Runs = None,
    json: o.Json = False,
    anonymize: Anonymize = None,
    framework: o.From = None,
    config: o.Config = None,
    map: o.Map = None,  # noqa: A002
    tokenizer: o.Tokenizer = None,
    run: o.Run = None,
    tz: o.TimeZone = None,
    force: o.Force = False,
    quiet: o.Quiet = None,
    verbose: o.Verbose = None,
) -> None:
    """Say what was recognised, what each file gives, and which option would bring what is missing."""
    options = o.gather(
        framework=framework,
        config=config,
        map=map,
        tokenizer=tokenizer,
        run=run,
        tz=tz,
        quiet=quiet,
        verbose=verbose,
        force=force,
    )
    from rollprof import api
    from rollprof.cli.progress import ProgressBar

    if anonymize is not None:
        made = api.anonymized(runs or (), anonymize, framework=options.values.get("from"))
        write_file(anonymize, made.content, force=force)
        for remark in () if options.quiet else made.remarks:
            note(remark)
        note(f"{anonymize} written: {made.words}; look through it before you show it to anybody")
        return
    found = api.diagnose(
        runs or (),
        options=options.opening(),
        settings=options.settings(),
        progress=ProgressBar(quiet=options.quiet),
    )
    emit(_shown(found, json=json, full=options.verbose))
    if not found.usable:
        raise typer.Exit(EXIT_USAGE)


def _shown(found: Diagnosis, *, json: bool, full: bool) -> str:
    if json:
        from rollprof.render.diagnosis.as_json import dumps

        return dumps(found)
    from rollprof.render.diagnosis.terminal import render

    size = screen(sys.stdout, os.environ)
    return render(found, width=size.width, color=size.color, unicode=size.unicode, full=full)
