"""`main()`: the one place where errors become exit codes. A traceback is never shown, unless
ROLLPROF_DEBUG=1 asks for it."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from rollprof.errors import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, RollprofError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    0 done; 2 bad usage, configuration or input; 70 internal error; 130 Ctrl-C. A reader of our output
    that goes away early is no error.
    """
    try:
        code = _invoke(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except Exception as problem:
        code = _report(problem)
    if code == EXIT_INTERRUPTED:
        _say("interrupted")
    return code


def _invoke(arguments: list[str]) -> int:
    # Imported here, so that Ctrl-C while typer loads ends like any other.
    import typer

    from rollprof.cli.commands import app
    from rollprof.cli.output import ReaderGone, forget_stdout

    with suppress(AttributeError, ValueError):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _remark
            result = typer.main.get_command(app).main(arguments, prog_name="rollprof", standalone_mode=False)
    except ReaderGone:
        forget_stdout()
        return EXIT_OK
    except SystemExit as end:
        # typer's own end of shell completion, or of help into a closed pipe.
        if isinstance(end.__context__, BrokenPipeError):
            forget_stdout()
            return EXIT_OK
        return end.code if isinstance(end.code, int) else EXIT_OK
    return result if isinstance(result, int) else EXIT_OK


def _remark(
    message: Warning | str,
    category: type[Warning],
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    file: TextIO | None = None,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> None:
    """Warnings of our own are remarks for the user; those of libraries are for us."""
    if category.__module__.startswith("rollprof") or _debugging():
        _say(str(message))


def _debugging() -> bool:
    return os.environ.get("ROLLPROF_DEBUG", "0") not in ("", "0")


def _report(problem: Exception) -> int:
    if _debugging():
        traceback.print_exception(problem)
    if isinstance(problem, RollprofError):
        _say(problem.message, problem.hint)
        return problem.exit_code
    if hasattr(problem, "format_message"):
        return _report_usage(problem)
    if isinstance(problem, OSError) and problem.strerror:
        name = problem.filename if problem.filename is not None else ""
        _say(": ".join(part for part in (str(name), problem.strerror) if part))
        return EXIT_USAGE
    _say(
        f"internal error: {type(problem).__name__}: {problem}"[:300] + f" ({_origin(problem)})",
        _HOW_TO_REPORT,
    )
    return EXIT_INTERNAL


_HOW_TO_REPORT = "a bug: please report this line, with the traceback that ROLLPROF_DEBUG=1 shows"


def _report_usage(problem: Exception) -> int:
    """typer's own complaints, known by their shape: releases differ in where the class lives."""
    message = str(problem.format_message())  # type: ignore[attr-defined]
    if type(problem).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(message + "\n")
        return EXIT_USAGE
    context = getattr(problem, "ctx", None)
    _say(message.rstrip("."), f"{context.command_path if context is not None else 'rollprof'} --help")
    return EXIT_USAGE


def _origin(problem: Exception) -> str:
    """`idle.py:132`, the innermost line of ours that the error passed."""
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if f"{os.sep}rollprof{os.sep}" in frame.filename]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "unknown line"


def _say(message: str, hint: str | None = None) -> None:
    from rollprof.cli.output import note

    note(f"{message} ({hint})" if hint else message)
