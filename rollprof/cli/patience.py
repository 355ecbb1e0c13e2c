"""A sign of life on stderr while figures are computed: only for people, only when it takes a while."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from rollprof.cli.output import is_terminal
from rollprof.cli.progress import PATIENCE_S

if TYPE_CHECKING:
    from rich.status import Status


@contextmanager
def patience(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Within, after a second: a spinner with `what`. Gone when the work is. Silent unless stderr is a
    terminal. Not around anything that forks: a thread draws it."""
    if quiet or not is_terminal(sys.stderr):
        yield
        return
    shown: list[Status] = []

    def show() -> None:
        from rich.console import Console

        status = Console(file=sys.stderr).status(what)
        shown.append(status)
        status.start()

    timer = Timer(PATIENCE_S, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()
