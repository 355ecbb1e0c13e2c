"""The verdict of `check` for people, for CI systems and for programs."""

from __future__ import annotations

from rollprof.gate.verdict import Verdict

FORMATS = ("text", "json", "markdown", "github", "junit", "openmetrics")
"""Names of `--report`."""
MACHINE = frozenset({"json", "junit", "openmetrics"})
"""Formats that nothing else may stand beside."""


def render(verdict: Verdict, form: str, *, root: str = "") -> str:
    """The verdict in one of FORMATS, as text without colour. `root` is what paths are shown relative to."""
    from rollprof.render.verdict import as_json, github, junit, markdown, openmetrics, text

    if form == "github":
        return github.render(verdict, root=root)
    if form == "junit":
        return junit.render(verdict, root=root)
    if form == "text":
        return text.render(verdict, root=root)
    plain = {"json": as_json.render, "markdown": markdown.render, "openmetrics": openmetrics.render}
    return plain[form](verdict)
