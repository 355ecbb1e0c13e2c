"""How many prompts verl had in work, as its console says it."""

from __future__ import annotations

from datetime import UTC, datetime

from rollprof.adapters.base import Claim
from rollprof.adapters.verl.console import ConsoleReader
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import EngineSample, SniffedFile, TextLine

HISTORY = (
    "[FullyAsyncRollouter][RolloutResourceUtilization] raw active_count_history "
    "(timestamp, active_count, max_concurrent): "
)


def in_work(*lines: tuple[str, float | None]) -> tuple[list[EngineSample], dict[str, str]]:
    reader = ConsoleReader("x.log", Ledger())
    offsets = [100 * i for i in range(len(lines))]
    reader.read(
        TextLine(text, "FullyAsyncRollouter", 2, time, at, 1, True)
        for (text, time), at in zip(lines, offsets, strict=True)
    )
    (part,) = reader.parts(SniffedFile("/x.log", "x.log", 1, "text"), Claim("verl", "console", 1.0, ""))
    return list(part.engines), dict(part.hints)


def test_the_history_of_the_rollouter_is_a_series_of_states() -> None:
    states = "[(1786071797.25, 0, 64), (1786071798.5, 64, 64), (1786071900.0, 3, 64)]"
    found, hints = in_work((HISTORY + states, None))
    assert [(s.time, s.engine, s.running, s.waiting) for s in found] == [
        (1786071797.25, "verl/rollouter_prompts", 0.0, None),
        (1786071798.5, "verl/rollouter_prompts", 64.0, None),
        (1786071900.0, "verl/rollouter_prompts", 3.0, None),
    ]
    assert hints["rollouter_timeline"] == "1 in-flight timelines"


def test_of_a_history_cut_short_whole_states_are_kept_and_it_is_said() -> None:
    found, hints = in_work((HISTORY + "[(1786071797.25, 0, 64), (1786071798.5, 6", None))
    assert [(s.time, s.running) for s in found] == [(1786071797.25, 0.0)]
    assert hints["rollouter_timeline"].endswith("1 of them cut short")


def test_status_lines_count_where_they_are_dated() -> None:
    at = datetime(2026, 8, 20, 10, 11, 12, tzinfo=UTC).timestamp()
    found, hints = in_work(
        ("pending: 3, running: 61, finished: 0, failure: 0", at),
        ("pending: 0, running: 2, finished: 62, failure: 0", None),
    )
    assert [(s.time, s.engine, s.running, s.waiting) for s in found] == [
        (at, "verl/prompt_groups", 61.0, 3.0)
    ]
    assert hints["v1_status"].startswith("2 status lines")
