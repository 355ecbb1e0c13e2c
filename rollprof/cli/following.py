"""`analyze --follow`: the summary as the run grows, live on a terminal, a line per change elsewhere."""

from __future__ import annotations

import json as jsons
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rollprof.cli.options import RunOptions
from rollprof.cli.output import emit, is_terminal, note, screen
from rollprof.errors import UsageProblem
from rollprof.render.numbers import plural
from rollprof.render.text import clean

if TYPE_CHECKING:
    from rich.live import Live

    from rollprof.analyzers.results import Analysis
    from rollprof.assemble.following import Look

SHORTEST_S = 0.1


def watch(
    runs: Sequence[str] | None, options: RunOptions, *, json: bool, follow: bool, interval: float | None
) -> None:
    """Shows each change until Ctrl-C, which ends the program as always (130).

    With `json` each change is one line of JSON.
    """
    if not follow:
        raise UsageProblem("--interval acts only with --follow")
    if interval is not None and not SHORTEST_S <= interval < float("inf"):
        raise UsageProblem(f"--interval {interval:g}: at least {SHORTEST_S:g} seconds are wanted")
    from rollprof import api
    from rollprof.assemble.following import INTERVAL_S

    looks = api.follow(list(runs or ()), options=options.opening(), interval=interval or INTERVAL_S)
    live = not json and is_terminal(sys.stdout) and os.environ.get("TERM") != "dumb"
    view: _Terminal | _Lines = _Lines(options, json=json)
    if live:
        view = _Terminal(options, ", ".join(runs or ()))
    with view:
        for look in looks:
            analysis = None if look.dataset is None else api.analyze(look.dataset, options.settings())
            view.show(look, analysis)


class _Lines:
    """A line per change on stdout; on stderr what is waited for, once."""

    def __init__(self, options: RunOptions, *, json: bool) -> None:
        self._options = options
        self._json = json
        self._said: str | None = None

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, look: Look, analysis: Analysis | None) -> None:
        if analysis is None:
            if look.problem != self._said and look.problem and not self._options.quiet:
                note(f"waiting: {look.problem}")
            self._said = look.problem
            return
        self._said = None
        if self._json:
            from rollprof.render.as_json import dumps

            emit(jsons.dumps(jsons.loads(dumps(analysis))) + "\n")
            return
        emit(f"{_clock()}  {state(analysis)}; {_read(look)}\n")


class _Terminal:
    """The summary on a screen of its own, with a line below; the last one stays when it ends."""

    def __init__(self, options: RunOptions, what: str) -> None:
        self._options = options
        self._what = clean(what, 24)
        self._analysis: Analysis | None = None
        self._changed = ""
        self._live: Live | None = None
        self._stack = ExitStack()

    def __enter__(self) -> _Terminal:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=sys.stdout, highlight=False)
        live = Live(
            console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._live = self._stack.enter_context(live)
        live.update(self._screen(None), refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        if self._analysis is not None:
            from rollprof.cli.reading import shown

            emit(shown(self._analysis, self._options, json=False))

    def show(self, look: Look, analysis: Analysis | None) -> None:
        if analysis is not None:
            self._analysis, self._changed = analysis, _clock()
        if self._live is not None:
            self._live.update(self._screen(look), refresh=True)

    def _screen(self, look: Look | None) -> Any:
        from rich.text import Text

        from rollprof.cli.reading import summary

        size = screen(sys.stdout, os.environ)
        rows = os.get_terminal_size(sys.stdout.fileno()).lines
        text = ""
        if self._analysis is not None:
            text = summary(self._analysis, self._options, replace(size, height=rows - 2))
        lines = text.rstrip("\n").split("\n")[: rows - 2]
        lines += [""] * (rows - 2 - len(lines))
        now = f"looked {_clock()}; Ctrl-C ends"
        if look is None:
            foot = f"{self._what}: reading; Ctrl-C ends"
        elif look.problem:
            foot = f"{now}; waiting: {clean(look.problem)}"
        else:
            foot = f"{self._what}: {_read(look)}; changed {self._changed}; {now}"
        shown = Text.from_ansi("\n".join(lines), no_wrap=True, overflow="crop")
        return shown.append("\n\n").append(foot[: size.width - 1], "dim" if size.color else "")


def state(analysis: Analysis) -> str:
    """The run so far in a line: steps, rollouts and the headline figure with its basis."""
    from rollprof.render.numbers import ABSENT, figure_percent
    from rollprof.render.summary.headline import is_known

    run, figure = analysis.run, analysis.figures.get(analysis.headline)
    words = f"{plural(run.steps, 'step')}, {plural(run.rollouts, 'rollout')}"
    if figure is None or not is_known(figure):
        return f"{words}, GPU-idle fraction {ABSENT}"
    return f"{words}, {figure.name} {figure_percent(figure)}" + (f" ({figure.basis})" if figure.basis else "")


def _read(look: Look) -> str:
    from rich.filesize import decimal

    return f"{plural(look.files, 'file')}, {decimal(look.size)}"


def _clock() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")
