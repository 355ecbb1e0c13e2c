"""Results go to stdout, everything else to stderr; colour and width are decided here."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rollprof.errors import RollprofError, UsageProblem
from rollprof.render.text import clean, to_ascii

SCREEN_LINES = 39
"""Lines of a summary that fit 40 rows together with the prompt."""
_PLAIN_WIDTH = 80


class ReaderGone(Exception):  # not an error: `rollprof ... | head` has seen enough
    """Whoever read our standard output has closed it."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What a stream can show."""

    width: int
    height: int
    color: bool
    unicode: bool


def screen(stream: TextIO, environ: Mapping[str, str]) -> Screen:
    """A terminal as it is; a pipe or a file gets plain text of 80 columns (COLUMNS changes that).

    NO_COLOR wins over FORCE_COLOR, which wins over what the stream is.
    """
    size = shutil.get_terminal_size((_PLAIN_WIDTH, SCREEN_LINES + 1))
    terminal = is_terminal(stream)
    # Asked about a pipe, shutil answers for the terminal behind stderr or stdin: not what will show it.
    columns = size.columns if terminal or environ.get("COLUMNS", "").isdigit() else _PLAIN_WIDTH
    return Screen(
        width=columns,
        height=max(SCREEN_LINES, size.lines - 1) if terminal else SCREEN_LINES,
        color=wants_color(stream, environ),
        unicode=speaks_unicode(stream),
    )


def wants_color(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """https://no-color.org and https://force-color.org: set and not empty counts."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR") not in (None, "", "0", "false"):
        return True
    return is_terminal(stream) and environ.get("TERM") != "dumb"


def is_terminal(stream: TextIO) -> bool:
    """True for a terminal; a closed or replaced stream is none."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def speaks_unicode(stream: TextIO) -> bool:
    """Whether block characters can be written in the encoding of the stream."""
    try:
        "█░▁─→↑".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError, AttributeError):
        return False
    return True


def emit(text: str) -> None:
    """A result, to stdout. Raises ReaderGone when nobody reads any more."""
    if not speaks_unicode(sys.stdout):
        text = to_ascii(text)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError as problem:
        raise ReaderGone from problem
    except OSError as problem:
        forget_stdout()
        raise RollprofError(f"cannot write the result: {problem.strerror}") from problem


def forget_stdout() -> None:
    """Nothing more goes out, and the interpreter does not complain about what is left when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(message: str) -> None:
    """A remark to stderr, on one line; what it quotes from logs cannot command the terminal."""
    line = f"rollprof: {clean(message)}"
    # When stderr is closed there is nobody left to tell.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write((line if speaks_unicode(sys.stderr) else to_ascii(line)) + "\n")
        sys.stderr.flush()


def write_file(path: str, content: str | bytes, *, force: bool) -> None:
    """A result to a file: written beside and renamed. Refuses to replace a file without `force`."""
    target = Path(path)
    if target.is_dir():
        raise UsageProblem(f"{path} is a directory", hint="name a file with -o FILE")
    if target.exists() and not force:
        raise UsageProblem(f"{path} exists", hint="--force replaces it")
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        Path(beside).chmod(0o666 & ~_umask())
        Path(beside).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(beside).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
