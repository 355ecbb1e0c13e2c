"""`rollprof demo`: writes a small sample run and analyses it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rollprof.cli import options as o
from rollprof.cli.output import emit, note
from rollprof.errors import UsageProblem

DIRECTORY = "rollprof-demo"
ROLLOUTS, STEPS = "rollouts.jsonl", "steps.jsonl"
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
    from rollprof.cli.sample_run import CAP, ENGINES

    folder = Path(output)
    logs = _write(folder, force=force)
    dataset = folder / api.default_dataset()
    facts = {"engines": str(ENGINES), "response_cap": str(CAP)}
    opening = api.OpenOptions(framework="generic", output=str(dataset), config=facts, force=force)
    run = api.open_run(logs, options=opening)
    emit(shown(analysed(run, options), options, json=json))
    if not options.quiet:
        note(f"the sample run is in {folder}; look at it again with: rollprof report {dataset} --verbose")


def _write(folder: Path, *, force: bool) -> list[str]:
    """The files of the run; one of the same name that holds something else is left alone."""
    from rollprof.cli.sample_run import sample_run

    run = sample_run()
    files = {folder / ROLLOUTS: run.rollouts.encode(), folder / STEPS: run.steps.encode()}
    if folder.exists() and not folder.is_dir():
        raise UsageProblem(f"{folder} is not a directory", hint="choose another with -o DIR")
    for file, content in files.items():
        if file.exists() and not force and file.read_bytes() != content:
            raise UsageProblem(f"{file} holds something else", hint="choose another directory with -o DIR")
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        beside = file.with_name(f".{file.name}.new")
        beside.write_bytes(content)
        beside.replace(file)
    return [str(file) for file in files]
