"""`rollprof convert`: reads the logs, always, and writes the dataset only."""

from __future__ import annotations

from rollprof.cli import options as o
from rollprof.cli.output import note

EPILOG = """\b
Examples:
  rollprof convert outputs/grpo -o grpo.rollprof
  duckdb -c "select step, max(response_tokens) from 'grpo.rollprof/rollouts.parquet' group by 1"
"""


def convert(
    runs: o.SomeRuns,
    output: o.DatasetDirectory = None,
    framework: o.From = None,
    config: o.Config = None,
    map: o.Map = None,  # noqa: A002
    tokenizer: o.Tokenizer = None,
    run: o.Run = None,
    tz: o.TimeZone = None,
    keep_text: o.KeepText = None,
    force: o.Force = False,
    quiet: o.Quiet = None,
    verbose: o.Verbose = None,
) -> None:
    """Convert logs to a dataset of Parquet files, and do nothing else."""
    options = o.gather(
        output=output,
        framework=framework,
        config=config,
        map=map,
        tokenizer=tokenizer,
        run=run,
        tz=tz,
        keep_text=keep_text,
        quiet=quiet,
        verbose=verbose,
        force=force,
    )
    from rollprof import api
    from rollprof.cli.progress import ProgressBar
    from rollprof.render.summary.header import ledger_words
    from rollprof.sources.arrow import without_pandas

    without_pandas()
    dataset = api.convert(
        runs, options=options.opening(reuse=False), progress=ProgressBar(quiet=options.quiet)
    )
    if not options.quiet:
        words = ledger_words(dataset.ledger.as_dict())
        note(f"{dataset.path} written" + (f"; {words}" if words else ""))
