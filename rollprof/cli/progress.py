"""A progress bar on stderr: bytes, rate and time left, for work that takes longer than a second."""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING

from rollprof.cli.output import is_terminal
from rollprof.render.text import clean

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 1.0
"""Nothing is shown before."""
_REFRESH_S = 0.1


class ProgressBar:
    """The `rollprof.api.Progress` of the command line. Silent unless stderr is a terminal.

    Drawn by whoever calls `advance`: no thread is running when worker processes are forked.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._silent = quiet or not is_terminal(sys.stderr)
        self._started = self._drawn = 0.0
        self._total = self._done = 0
        self._what = ""
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def start(self, total: int, what: str) -> None:
        """`total` bytes of `what` lie ahead; 0 when nobody knows."""
        self._started = self._drawn = monotonic()
        self._total, self._done, self._what = total, 0, clean(what, 40)

    def advance(self, done: int) -> None:
        """`done` more bytes are behind us."""
        self._done += done
        now = monotonic()
        if self._silent or now - self._started < PATIENCE_S or now - self._drawn < _REFRESH_S:
            return
        self._drawn = now
        self._draw()

    def finish(self) -> None:
        """The bar goes away; results follow on stdout."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None

    def _draw(self) -> None:
        if self._bar is None or self._task is None:
            self._bar = _bar()
            total = self._total or None
            self._task = self._bar.add_task(self._what, total=total, start=True)
            # The clock of the rate starts with the work, not with the first drawing.
            task = self._bar.tasks[0]
            task.start_time = (task.start_time or 0.0) - (monotonic() - self._started)
            self._bar.start()
        self._bar.update(self._task, completed=self._done)
        self._bar.refresh()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True, elapsed_when_finished=False),
        console=Console(file=sys.stderr),
        get_time=monotonic,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
