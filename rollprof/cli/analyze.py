"""`rollprof analyze`: reads a run, writes the dataset, prints the summary."""

from __future__ import annotations

from rollprof.cli import options as o
from rollprof.cli.output import emit

EPILOG = """\b
Examples:
  rollprof analyze outputs/grpo            a directory with console log, metrics and dumps
  rollprof analyze train.log --config gpus=16
  rollprof analyze run.jsonl --map response_tokens=len --map reward=score
  rollprof analyze --follow outputs/grpo   a run that is being written, until Ctrl-C
  rollprof analyze run.jsonl --json | jq .figures.slot_idle
"""


def analyze(
    runs: o.Runs = None,
    output: o.DatasetDirectory = None,
    json: o.Json = False,
    framework: o.From = None,
    config: o.Config = None,
    map: o.Map = None,  # noqa: A002
    tokenizer: o.Tokenizer = None,
    steps: o.Steps = None,
    run: o.Run = None,
    tz: o.TimeZone = None,
    split: o.Split = None,
    reward: o.Reward = None,
    by: o.By = None,
    idle_figure: o.IdleFigure = None,
    allow_modelled: o.AllowModelled = None,
    gpu_hour_cost: o.GpuHourCost = None,
    keep_text: o.KeepText = None,
    follow: o.Follow = False,
    interval: o.Interval = None,
    force: o.Force = False,
    quiet: o.Quiet = None,
    verbose: o.Verbose = None,
) -> None:
    """Read a run and print where its GPU time went."""
    options = o.gather(
        output=output,
        framework=framework,
        config=config,
        map=map,
        tokenizer=tokenizer,
        steps=steps,
        run=run,
        tz=tz,
        split=split,
        reward=reward,
        by=by,
        idle_figure=idle_figure,
        allow_modelled=allow_modelled,
        gpu_hour_cost=gpu_hour_cost,
        keep_text=keep_text,
        quiet=quiet,
        verbose=verbose,
        force=force,
    )
    if follow or interval is not None:
        from rollprof.cli.following import watch

        watch(runs, options, json=json, follow=follow, interval=interval)
        return
    from rollprof.cli.reading import analysed, open_dataset, shown

    dataset = open_dataset(runs, options)
    emit(shown(analysed(dataset, options), options, json=json))
