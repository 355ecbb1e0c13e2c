"""How many prompts verl had in work, by its own count: samples like those of an engine, each under a name of
what is counted.

The fully asynchronous rollouter (since 0.9.0) prints, once per parameter version, each change of the number
of prompts in work with its time: `(epoch seconds, in work, most allowed)`. A line of the V1 trainer's status
counts prompt groups and is dated only where something in front of it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rollprof.sources.records import EngineSample

HISTORY = "raw active_count_history"
ROLLOUTER = "verl/rollouter_prompts"
"""Name of what is counted: prompts that the rollouter has in work."""
GROUPS = "verl/prompt_groups"
"""Name of what is counted: prompt groups pending and running in the V1 trainer."""

_STATE = re.compile(r"\((\d{9,10}(?:\.\d+)?), (\d+), (\d+)\)")


def history(text: str) -> Iterator[EngineSample]:
    """The states of a printed history; of a line cut short those that are whole."""
    for found in _STATE.finditer(text, text.find(HISTORY)):
        yield _counted(float(found[1]), ROLLOUTER, int(found[2]), None)


def is_whole(text: str) -> bool:
    """Whether the history's list is closed."""
    return text.rstrip().endswith("]")


def groups(time: float, pending: int, running: int) -> EngineSample:
    """A status line of the V1 trainer."""
    return _counted(time, GROUPS, running, pending)


def _counted(time: float, name: str, running: int, waiting: int | None) -> EngineSample:
    return EngineSample(time, name, float(running), None if waiting is None else float(waiting), *[None] * 3)
