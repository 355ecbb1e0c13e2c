"""The verbs, as typer sees them. Their modules are cheap to import; the work is not, and comes later."""

from __future__ import annotations

from typing import Annotated

import typer

from rollprof import __version__
from rollprof.cli import analyze, check, compare, convert, demo, doctor, explain, report, schema, whatif
from rollprof.cli.output import emit

EPILOG = """\b
Examples:
  rollprof demo                            see it at work on a small sample run
  rollprof analyze outputs/grpo            the run in this directory
  rollprof report --json                   the same run again, as JSON
  rollprof check --max-idle 0.30           exit code 1 if more GPU time than that was idle
  rollprof compare run-a run-b             what changed, and whether it is noise
  rollprof doctor outputs/grpo             what is in a log, and what would bring the rest
  rollprof explain slot_idle               what a figure means

\b
Exit codes: 0 done; 1 a rule of check is broken; 2 bad usage, configuration
or input; 70 internal error; 130 interrupted.

\b
Settings: [tool.rollprof] in pyproject.toml, rollprof.toml, or ROLLPROF_* in
the environment; flags win. Colours respect NO_COLOR and FORCE_COLOR.
"""

app = typer.Typer(
    name="rollprof",
    help="Where does the GPU time of an RL post-training run go? Reads the logs that verl and others leave.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        emit(f"rollprof {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of rollprof itself."""
    del version


app.command(epilog=analyze.EPILOG)(analyze.analyze)
app.command(epilog=report.EPILOG)(report.report)
app.command(epilog=check.EPILOG)(check.check)
app.command(epilog=compare.EPILOG)(compare.compare)
app.command(epilog=whatif.EPILOG)(whatif.whatif)
app.command(epilog=convert.EPILOG)(convert.convert)
app.command(epilog=doctor.EPILOG)(doctor.doctor)
app.command(epilog=explain.EPILOG)(explain.explain)
app.command(epilog=schema.EPILOG)(schema.schema)
app.command(epilog=demo.EPILOG)(demo.demo)
