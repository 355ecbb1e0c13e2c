"""The options that several verbs share, as typer reads them, and what they amount to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from rollprof import config
from rollprof.cli.output import note
from rollprof.errors import UsageProblem

if TYPE_CHECKING:
    from rollprof.analyzers.tables import Settings
    from rollprof.api import OpenOptions

Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN",
        help="Log file, directory, several of them, a glob, - for standard input, or a dataset. "
        "Default: the dataset that the last analyze wrote.",
        show_default=False,
    ),
]
SomeRuns = Annotated[
    list[str],
    typer.Argument(metavar="RUN", help="Log file, directory, several of them, a glob, or - for stdin."),
]
From = Annotated[
    str | None, typer.Option("--from", metavar="FRAMEWORK", help="Who wrote the logs (verl, generic, ...).")
]
Config = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="KEY=VALUE",
        help="A fact that the log lacks: gpus, engines, max_num_seqs, response_cap, group_size. Repeatable.",
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="COLUMN=KEY", help="Read COLUMN of the schema from KEY. Repeatable."),
]
Steps = Annotated[
    str | None, typer.Option("--steps", metavar="A:B", help="Only steps A to B; A: and :B are open.")
]
Run = Annotated[
    str | None, typer.Option("--run", metavar="ID", help="Which run, where the input holds several.")
]
TimeZone = Annotated[
    str | None,
    typer.Option("--tz", metavar="ZONE", help="Zone of clocks that name none (Europe/Paris, +02:00)."),
]
Tokenizer = Annotated[
    str | None,
    typer.Option("--tokenizer", metavar="FILE", help="tokenizer.json to count tokens with (extra: tokens)."),
]
KeepText = Annotated[
    bool | None, typer.Option("--keep-text", help="Keep prompts and responses in the dataset.")
]
DatasetDirectory = Annotated[
    str | None, typer.Option("-o", "--output", metavar="DIR", help="Dataset to write. Default: .rollprof")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is in the way.")]
Quiet = Annotated[bool | None, typer.Option("--quiet", "-q", help="No progress and no remarks on stderr.")]
Verbose = Annotated[
    bool | None, typer.Option("--verbose", "-v", help="Every finding, every problem of the input.")
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Read on while the run is being written, until Ctrl-C.")
]
Interval = Annotated[
    float | None,
    typer.Option("--interval", metavar="SECONDS", help="Time between looks of --follow (default: 2)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON (its schema: rollprof schema --json).")]
IdleFigure = Annotated[
    str | None,
    typer.Option("--idle-figure", metavar="NAME", help="Headline figure (default: chosen by what is known)."),
]
AllowModelled = Annotated[
    bool | None,
    typer.Option("--allow-modelled", help="Take the upper end of a range as the value of --idle-figure."),
]
Reward = Annotated[
    str | None,
    typer.Option("--reward", metavar="NAME", help="Reward component that difficulty is judged by."),
]
Split = Annotated[
    str | None, typer.Option("--split", metavar="train|eval", help="Which rollouts (default: train).")
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="difficulty|dataset", help="Rows of the summary's difficulty table."),
]
GpuHourCost = Annotated[
    float | None, typer.Option("--gpu-hour-cost", metavar="X", help="Price of a GPU-hour, for the cost.")
]

CONVERSION = ("from", "config", "map", "tokenizer", "keep_text", "run", "tz", "output")
"""Options that act while a log is read: on a dataset they would do nothing."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """All options of a verb that reads a run, from flags, environment and file."""

    values: Mapping[str, Any]
    flags: frozenset[str]
    """Those given on the command line."""
    force: bool = False

    @property
    def quiet(self) -> bool:
        """No progress and no remarks."""
        return bool(self.values.get("quiet"))

    @property
    def verbose(self) -> bool:
        """Everything."""
        return bool(self.values.get("verbose"))

    @property
    def output(self) -> str | None:
        """The dataset directory, where one was named."""
        return self.values.get("output")

    def opening(self, *, reuse: bool = True) -> OpenOptions:
        """For `rollprof.api.open_run` and `convert`."""
        from rollprof.api import OpenOptions

        get = self.values.get
        return OpenOptions(
            framework=get("from"),
            config=get("config", {}),
            columns=get("map", {}),
            tokenizer=get("tokenizer"),
            keep_text=bool(get("keep_text")),
            run=get("run"),
            tz=get("tz"),
            output=self.output,
            force=self.force,
            reuse=reuse,
        )

    def settings(self) -> Settings:
        """For `rollprof.api.analyze`."""
        from rollprof.analyzers.registry import spec
        from rollprof.analyzers.tables import Settings

        get = self.values.get
        headline = get("idle_figure")
        if headline is not None:
            spec(headline)
        return Settings(
            idle_figure=headline,
            allow_modelled=bool(get("allow_modelled")),
            reward=get("reward"),
            split=cast("Literal['train', 'eval']", get("split", "train")),
            gpu_hour_cost=get("gpu_hour_cost"),
            steps=step_range(get("steps")),
        )


def gather(*, force: bool = False, **flags: Any) -> RunOptions:
    """Options from the flags of a verb (by option name, None where not given) and the settings.

    `--config` and `--map` come as lists of KEY=VALUE. Remarks about the settings go to stderr.
    """
    for name in ("config", "map"):
        if flags.get(name) is not None:
            flags[name] = pairs(flags[name], name)
    framework = flags.pop("framework", None)
    flags["from"] = framework
    found = config.resolve(flags, start=Path.cwd(), environ=os.environ)
    options = RunOptions(found.values, frozenset(n for n, v in flags.items() if v is not None), force)
    step_range(options.values.get("steps"))
    if not options.quiet:
        for remark in found.remarks:
            note(remark)
    return _checked(options)


def _checked(options: RunOptions) -> RunOptions:
    cost = options.values.get("gpu_hour_cost")
    for name in ("split", "by"):
        value, choices = options.values.get(name), config.OPTIONS[name].choices
        if value is not None and value not in choices:
            raise UsageProblem(f"--{name} {value}: no such choice", hint=" or ".join(choices))
    if cost is not None and not 0 <= cost < float("inf"):
        raise UsageProblem(f"--gpu-hour-cost {cost:g}: a price is wanted")
    return options


def pairs(items: Sequence[str], name: str) -> dict[str, str]:
    """`["a=1", "b=2"]` as a mapping. Raises UsageProblem for anything else."""
    found = {}
    for item in items:
        key, separator, value = item.partition("=")
        if not separator or not key.strip() or not value.strip():
            wanted = "COLUMN=KEY" if name == "map" else "KEY=VALUE"
            raise UsageProblem(f"--{name} {item}: not of the form {wanted}")
        found[key.strip()] = value.strip()
    return found


def step_range(text: str | None) -> tuple[int | None, int | None] | None:
    """`A:B` as an inclusive range, an open end as None; `A` alone is one step."""
    if text is None:
        return None
    first, separator, last = text.partition(":")
    try:
        low = int(first) if first.strip() else None
        high = (int(last) if last.strip() else None) if separator else low
    except ValueError:
        raise UsageProblem(f"--steps {text}: not a range", hint="--steps 10:20, 10: or :20") from None
    if low is None and high is None:
        raise UsageProblem(f"--steps {text}: not a range", hint="--steps 10:20, 10: or :20")
    if low is not None and high is not None and low > high:
        raise UsageProblem(f"--steps {text}: ends before it starts")
    return low, high
