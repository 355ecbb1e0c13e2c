"""Where a report goes and in which form; and whose file it would replace."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Literal

from rollprof.errors import UsageProblem

Form = Literal["terminal", "html", "markdown", "json"]
EXTENSIONS: dict[str, Form] = {
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".txt": "terminal",
}
DEFAULT_FILE = "rollprof-report.html"
"""Where HTML goes without -o: two megabytes are not for a terminal."""
STDOUT = "-"
_HEAD = 1200
"""The mark of a file of ours lies within its first bytes."""


def form_of(output: str | None, *, html: bool, markdown: bool, json: bool, opened: bool) -> Form:
    """The form that flags ask for, else the file's extension, else the terminal's.

    Raises UsageProblem for two forms at once and for a file whose extension says nothing.
    """
    asked: list[Form] = [f for f, flag in _flags(html, markdown, json) if flag]
    if len(asked) > 1:
        raise UsageProblem(f"--{asked[0]} and --{asked[1]}: one form at a time")
    if asked:
        form = asked[0]
    elif output is None or output == STDOUT:
        form = "html" if opened else "terminal"
    else:
        suffix = Path(output).suffix.lower()
        found = EXTENSIONS.get(suffix)
        if found is None:
            raise UsageProblem(f"{output}: which form?", hint="--html, --markdown, --json, or a file .txt")
        form = found
    if opened and form != "html":
        raise UsageProblem("--open shows HTML in a browser", hint="add --html")
    if opened and output == STDOUT:
        raise UsageProblem("--open needs a file", hint="-o FILE")
    return form


def _flags(html: bool, markdown: bool, json: bool) -> tuple[tuple[Form, bool], ...]:
    return ("html", html), ("markdown", markdown), ("json", json)


def is_ours(path: Path) -> bool:
    """Whether a file is a report that rollprof wrote: only those are replaced without --force."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            if head.lstrip().startswith(b"{"):
                document = json_module.loads(head + file.read())
                return isinstance(document, dict) and {"format", "rollprof", "figures"} <= document.keys()
    except (OSError, ValueError, RecursionError):
        return False
    return b'<meta name="generator" content="rollprof ' in head or head.startswith(b"<!-- rollprof report ")
