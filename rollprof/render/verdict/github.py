"""The verdict as annotations of GitHub Actions, each at the line of the rule in its configuration file.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from rollprof.gate.verdict import Outcome, Verdict
from rollprof.render.verdict import words

MOST = 10
"""Annotations that GitHub shows of one step."""


def render(verdict: Verdict, *, root: str = "") -> str:
    """One command a line for every rule that does not hold, worst first, ten at most; "" without any."""
    telling = [o for o in verdict.worst_first if o.status in ("broken", "unknown", "undecided")]
    lines = [_command(outcome, verdict, root) for outcome in telling[:MOST]]
    if len(telling) > MOST:
        lines.append(f"rollprof: {len(telling) - MOST} more in the other reports")
    return "".join(f"{line}\n" for line in lines)


def _command(outcome: Outcome, verdict: Verdict, root: str) -> str:
    error = outcome.status == "unknown" or verdict.fails(outcome)
    properties = {"title": f"rollprof: {outcome.figure} {words.status(outcome)}"}
    written = outcome.rule.place
    if written.file is not None:
        properties = {"file": words.relative(written.file, root), "line": str(written.line), **properties}
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{'error' if error else 'warning'} {listed}::{_data(_message(outcome))}"


def _message(outcome: Outcome) -> str:
    return f"{outcome.figure}: {words.sentence(outcome)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
