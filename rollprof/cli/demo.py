"""`rollprof demo`: writes a small sample run and analyses it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rollprof.cli import options as o
from rollprof.cli.output import emit, note
from rollprof.errors import UsageProblem

DIRECTORY = "rollprof-demo"
LOG = "run.jsonl"
EPILOG = """\b
Examples:
  rollprof demo
  rollprof demo -o /tmp/demo --json
"""
Directory = Annotated[
    str, typer.Option("-o", "--output", metavar="DIR", help=f"Where to write it. Default: {DIRECTORY}")
]


def demo(
    output: Directory = DIRECTORY, json: o.Json = False, force: o.Force = False, quiet: o.Quiet = None
) -> None:
    """Write a small sample run and analyse it."""
    options = o.gather(quiet=quiet, force=force)
    from rollprof import api
    from rollprof.cli.reading import analysed, shown

    log = _write(Path(output), force=force)
    dataset = Path(output) / api.default_dataset()
    opening = api.OpenOptions(framework="generic", output=str(dataset), force=force)
    run = api.open_run([str(log)], options=opening)
    emit(shown(analysed(run, options), options, json=json))
    if not options.quiet:
        note(f"the sample run is {log}; look at it again with: rollprof report {dataset} --verbose")


def _write(folder: Path, *, force: bool) -> Path:
    from rollprof.cli.sample_run import lines

    text = "".join(lines())
    log = folder / LOG
    if folder.exists() and not folder.is_dir():
        raise UsageProblem(f"{folder} is not a directory", hint="choose another with -o DIR")
    if log.exists() and not force and log.read_bytes() != text.encode():
        raise UsageProblem(f"{log} holds something else", hint="choose another directory with -o DIR")
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{LOG}.new"
    beside.write_text(text, encoding="utf-8", newline="\n")
    beside.replace(log)
    return log
