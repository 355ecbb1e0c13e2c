"""`rollprof compare`: runs side by side, and what a change in generation time is made of."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from rollprof.cli import options as o
from rollprof.cli.output import emit, screen
from rollprof.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rollprof.analyzers.results import Analysis
    from rollprof.compare.comparison import Comparison

EPILOG = """\b
Examples:
  rollprof compare outputs/main outputs/branch
  rollprof compare main.rollprof branch.rollprof --json | jq .generation
  rollprof compare a.log b.log c.log --markdown

\b
The first run is what the others are compared with. Times compare at matched
response length; a difference is noise where its 90 % interval holds 0.
"""

SomeRuns = Annotated[
    list[str],
    typer.Argument(metavar="A B [C...]", help="Two runs or more: logs, directories or datasets, one each."),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]


def compare(
    runs: SomeRuns,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    markdown: Markdown = False,
    framework: o.From = None,
    config: o.Config = None,
    steps: o.Steps = None,
    tz: o.TimeZone = None,
    quiet: o.Quiet = None,
    verbose: o.Verbose = None,
) -> None:
    """Compare runs: figures, lengths, settings, and where the time went."""
    options = o.gather(framework=framework, config=config, steps=steps, tz=tz, quiet=quiet, verbose=verbose)
    if len(runs) < 2:
        raise UsageProblem("compare takes two runs or more", hint="rollprof compare A B")
    if json and markdown:
        raise UsageProblem("--json and --markdown: one at a time")
    from rollprof.compare.comparison import compare as compared

    labels = labels_of(runs)
    with ExitStack() as stack:
        analyses = [analysis_of(run, options, stack) for run in runs]
    emit(_shown(compared(list(zip(labels, analyses, strict=True))), options, json=json, markdown=markdown))


def analysis_of(run: str, options: o.RunOptions, stack: ExitStack) -> Analysis:
    """Logs are read into a dataset of their own, which is not kept: `.rollprof` holds one run only."""
    from rollprof import api
    from rollprof.cli.progress import ProgressBar
    from rollprof.schema.store import is_dataset

    opening = options.opening()
    if not is_dataset(run):
        folder = stack.enter_context(TemporaryDirectory(prefix="rollprof-"))
        opening = replace(opening, output=os.path.join(folder, "dataset"))  # noqa: PTH118
    dataset = api.open_run([run], options=opening, progress=ProgressBar(quiet=options.quiet))
    return api.analyze(dataset, options.settings())


def labels_of(runs: Sequence[str]) -> list[str]:
    """As little of each path as tells the runs apart."""
    parts = [PurePath(run).parts or (run,) for run in runs]
    for length in range(1, max(len(p) for p in parts) + 1):
        labels = ["/".join(p[-length:]) for p in parts]
        if len(set(labels)) == len(labels):
            return labels
    return [f"{run} ({i})" for i, run in enumerate(runs, 1)]


def _shown(comparison: Comparison, options: o.RunOptions, *, json: bool, markdown: bool) -> str:
    if json:
        from rollprof.render.comparison.as_json import render as as_json

        return as_json(comparison)
    if markdown:
        from rollprof.render.comparison.markdown import render as as_markdown

        return as_markdown(comparison, full=options.verbose)
    from rollprof.render.comparison.text import render as as_text

    size = screen(sys.stdout, os.environ)
    return as_text(
        comparison,
        width=min(max(size.width, 80), 140),
        color=size.color,
        unicode=size.unicode,
        full=options.verbose,
    )
