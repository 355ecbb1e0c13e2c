"""Where the reports of `rollprof check` go: standard output, a file each, or the summary of a GitHub job."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from rollprof.cli.output import emit, screen, write_file
from rollprof.errors import UsageProblem

if TYPE_CHECKING:
    from rollprof.gate.verdict import Verdict

Report = tuple[str, str | None]
"""Format, and path (None: standard output)."""


def parse_reports(items: Sequence[str]) -> tuple[Report, ...]:
    """`FORMAT[=PATH]`, `-` being standard output. Text is added where nothing else goes there.

    Raises UsageProblem for unknown formats, and where formats for programs would be mixed with others.
    """
    from rollprof.render.verdict import FORMATS, MACHINE

    found: list[Report] = []
    for item in items:
        form, separator, path = item.partition("=")
        form = form.strip()
        if form not in FORMATS:
            near = get_close_matches(form, FORMATS, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else ", ".join(FORMATS)
            raise UsageProblem(f"--report {item}: no format is called {form or '(nothing)'}", hint=hint)
        if separator and not path.strip():
            raise UsageProblem(f"--report {item}: no file is named", hint=f"{form}=FILE")
        found.append((form, None if path.strip() in ("", "-") else path.strip()))
    shown = [form for form, path in found if path is None]
    if len(shown) > 1 and MACHINE & set(shown):
        both = " and ".join(shown)
        raise UsageProblem(f"--report: {both} on standard output", hint=f"give one a file: {shown[-1]}=FILE")
    files = [path for _, path in found if path is not None]
    for path in files:
        if files.count(path) > 1 and not _is_step_summary(path):
            raise UsageProblem(f"--report: two reports to {path}")
    return tuple(found) if shown else (("text", None), *found)


def write_reports(verdict: Verdict, reports: Sequence[Report]) -> None:
    """Files first, so that they are there even if nobody reads standard output."""
    from rollprof.render.verdict import render

    root = os.environ.get("GITHUB_WORKSPACE") or str(Path.cwd())
    for form, path in reports:
        if path is not None:
            _to_file(path, render(verdict, form, root=root), append=form == "markdown")
    for form, path in reports:
        if path is None:
            emit(_for_screen(verdict, root) if form == "text" else render(verdict, form, root=root))


def _for_screen(verdict: Verdict, root: str) -> str:
    from rollprof.render.verdict import text

    size = screen(sys.stdout, os.environ)
    return text.render(
        verdict, root=root, width=min(max(size.width, 80), 120), color=size.color, unicode=size.unicode
    )


def _is_step_summary(path: str) -> bool:
    return bool(path) and path == os.environ.get("GITHUB_STEP_SUMMARY")


def _to_file(path: str, text: str, *, append: bool) -> None:
    """A report replaces the one of the last time; a device gets it as it is; a job's summary goes on."""
    target = Path(path)
    if (append and _is_step_summary(path)) or (target.exists() and not (target.is_file() or target.is_dir())):
        with target.open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text, force=True)
