"""A progress bar of steps replayed, on stderr, for what takes longer than a second."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from rollprof.cli.output import is_terminal
from rollprof.cli.progress import PATIENCE_S

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_REFRESH_S = 0.1


class ReplayBar:
    """Silent unless stderr is a terminal; gone when the work is done."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._silent = quiet or not is_terminal(sys.stderr)
        self._started = self._drawn = monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> ReplayBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, done: int, total: int) -> None:
        """`done` of `total` steps have been replayed."""
        now = monotonic()
        if self._silent or now - self._started < PATIENCE_S or now - self._drawn < _REFRESH_S:
            return
        self._drawn = now
        if self._bar is None or self._task is None:
            self._bar = _bar()
            self._task = self._bar.add_task("replaying steps", total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total)
        self._bar.refresh()


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(file=sys.stderr),
        get_time=monotonic,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
