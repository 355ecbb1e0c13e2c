"""`rollprof whatif`: which remedy would pay on this run."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from rollprof.cli import options as o
from rollprof.cli.output import emit, screen
from rollprof.errors import UsageProblem

EPILOG = """\b
Examples:
  rollprof whatif                                    the run that was analysed last
  rollprof whatif outputs/grpo --max-off-policy 0.5
  rollprof whatif --policy april:over=2 --policy partial:budget=4096
  rollprof whatif --policy speculative-tail+april    both together
  rollprof whatif --gpu H100 --model 7B              where the log has no times

\b
Policies: baseline truncate partial april rollpacker dapo oversample-drop
length-aware one-step-off async speculative-tail.
"""
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME[:key=value,...]",
        help="Replay only this policy; several joined by + act together. Repeatable. Default: all of them.",
    ),
]
EngineCount = Annotated[int | None, typer.Option("--engines", metavar="N", help="Inference engines.")]
Slots = Annotated[
    int | None, typer.Option("--max-num-seqs", metavar="Q", help="Decode slots of each engine.")
]
Gpu = Annotated[
    str | None, typer.Option("--gpu", metavar="NAME", help="GPU, for a log without times (with --model).")
]
Model = Annotated[str | None, typer.Option("--model", metavar="SIZE", help="Model size, as 7B (with --gpu).")]
MaxOffPolicy = Annotated[
    float | None,
    typer.Option("--max-off-policy", metavar="X", help="Largest off-policy share that is acceptable."),
]
MaxBias = Annotated[
    float | None,
    typer.Option("--max-bias", metavar="X", help="Largest bias of the mean trained length (0.1: 10 %)."),
]
Sample = Annotated[
    int | None,
    typer.Option(
        "--sample",
        metavar="N",
        help="Replay N steps, evenly spaced. Default: all; of more than 1.2 million rollouts about 200,000.",
    ),
]
ForceRough = Annotated[bool, typer.Option("--force", help="Replay even where the run's times do not fit.")]


def whatif(
    runs: o.Runs = None,
    policy: Policies = None,
    engines: EngineCount = None,
    max_num_seqs: Slots = None,
    gpu: Gpu = None,
    model: Model = None,
    max_off_policy: MaxOffPolicy = None,
    max_bias: MaxBias = None,
    sample: Sample = None,
    json: o.Json = False,
    framework: o.From = None,
    config: o.Config = None,
    steps: o.Steps = None,
    run: o.Run = None,
    force: ForceRough = False,
    quiet: o.Quiet = None,
    verbose: o.Verbose = None,
) -> None:
    """Replay a run under published remedies: what each would gain, and at what price."""
    for name, value in (("--engines", engines), ("--max-num-seqs", max_num_seqs), ("--sample", sample)):
        if value is not None and not 1 <= value <= 1_000_000:
            raise UsageProblem(f"{name} {value}: at least 1 is wanted")
    for name, limit in (("--max-off-policy", max_off_policy), ("--max-bias", max_bias)):
        if limit is not None and not 0 <= limit < float("inf"):
            raise UsageProblem(f"{name} {limit}: a fraction is wanted")
    options = o.gather(
        framework=framework, config=config, steps=steps, run=run, quiet=quiet, verbose=verbose, force=force
    )
    from rollprof.cli.reading import open_dataset
    from rollprof.cli.replay_progress import ReplayBar
    from rollprof.whatif.compose import parse

    for text in policy or ():
        parse(text)  # a misspelt policy is said before a log is read
    dataset = open_dataset(runs, options)
    from rollprof.api import tables_of
    from rollprof.whatif.run import Options
    from rollprof.whatif.run import whatif as replay

    wanted = Options(
        policies=tuple(policy or ()),
        engines=engines,
        max_num_seqs=max_num_seqs,
        gpu=gpu,
        model=model,
        max_off_policy=max_off_policy,
        max_bias=max_bias,
        force=force,
        sample=sample,
    )
    with ReplayBar(quiet=options.quiet) as bar:
        found = replay(tables_of(dataset), options.settings(), wanted, bar.show)
    if json:
        from rollprof.render.whatif_json import dumps

        emit(dumps(found))
        return
    from rollprof.render.whatif_terminal import render

    size = screen(sys.stdout, os.environ)
    emit(render(found, width=size.width, color=size.color, unicode=size.unicode, full=options.verbose))
