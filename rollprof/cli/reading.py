"""From what was typed to an analysis on the screen: what analyze, report and demo have in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rollprof.cli.options import CONVERSION, RunOptions
from rollprof.cli.output import SCREEN_LINES, Screen, note, screen
from rollprof.cli.progress import ProgressBar
from rollprof.errors import UsageProblem

if TYPE_CHECKING:
    from rollprof.analyzers.results import Analysis
    from rollprof.schema.store import Dataset


def open_dataset(runs: Sequence[str] | None, options: RunOptions) -> Dataset:
    """The run as a dataset: read now, reused, or opened."""
    from rollprof import api
    from rollprof.schema.store import is_dataset
    from rollprof.sources.arrow import without_pandas

    without_pandas()
    paths = list(runs or ())
    if not paths and options.output is not None and "output" not in options.flags:
        # Settings name the directory that analyze writes to: that is the last run.
        paths = [options.output] if is_dataset(options.output) else []
    target = paths or [api.default_dataset()]
    if any(is_dataset(path) for path in target):
        _refuse_conversion_flags(target[0], options)
    dataset = api.open_run(paths, options=options.opening(), progress=ProgressBar(quiet=options.quiet))
    if options.verbose and not options.quiet:
        note(f"dataset in {dataset.path}")
    return dataset


def _refuse_conversion_flags(path: str, options: RunOptions) -> None:
    """Options that can have no effect are an error, never silently ignored."""
    idle = [name for name in CONVERSION if name in options.flags]
    if idle:
        flag = "-o" if idle[0] == "output" else f"--{idle[0].replace('_', '-')}"
        raise UsageProblem(f"{path} is a dataset: {flag} acts only while logs are read", hint="name the logs")


def analysed(dataset: Dataset, options: RunOptions) -> Analysis:
    """Every figure, with the settings of the options."""
    from rollprof import api

    return api.analyze(dataset, options.settings())


def shown(analysis: Analysis, options: RunOptions, *, json: bool, to_file: bool = False) -> str:
    """The analysis as it is printed: JSON, or the summary for this screen (plain for a file)."""
    if json:
        from rollprof.render.as_json import dumps

        return dumps(analysis)
    size = Screen(80, SCREEN_LINES, color=False, unicode=True) if to_file else screen(sys.stdout, os.environ)
    return summary(analysis, options, size, full=options.verbose)


def summary(analysis: Analysis, options: RunOptions, size: Screen, *, full: bool = False) -> str:
    """The summary for a screen, with the difficulty table that the options ask for."""
    from rollprof.render.terminal import render

    return render(
        analysis,
        width=size.width,
        height=size.height,
        color=size.color,
        unicode=size.unicode,
        full=full,
        by="dataset" if options.values.get("by") == "dataset" else "bucket",
    )
