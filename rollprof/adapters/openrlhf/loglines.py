"""What OpenRLHF's own log lines say: `INFO 11-30 21:04:55 ppo_trainer.py:551] Starting experience …`.

The logger's clock has no year and whole seconds; `Calendar` supplies the year.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

_LOGGER = re.compile(
    r"^\s*(?:(?P<level>[A-Z]{4,8}) (?P<month>\d\d)-(?P<day>\d\d) (?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d) )?"
    r"(?P<file>\w{1,60}\.py):\d{1,6}\] (?P<text>.*)$",
    re.DOTALL,
)
_SAMPLES = re.compile(r"Starting experience making with (\d{1,9}) samples")
_MADE = re.compile(r"Experience making completed in ((?:\d+ days?, )?\d+:\d\d:\d\d)")
_EVALUATED = re.compile(
    r"Evaluation completed in ((?:\d+ days?, )?\d+:\d\d:\d\d), global_step (\d{1,12}), eval_metrics: (\{.*)",
    re.DOTALL,
)
_EVALUATED_OLD = re.compile(r"Evaluation completed in ((?:\d+ days?, )?\d+:\d\d:\d\d)")
_EVAL_AT = re.compile(r"Eval at step (\d{1,12}): (\{.*)", re.DOTALL)
_FILTERED = "Filtered out: avg_reward="
_KEPT = re.compile(r"Dynamic filtering pass rate: [\d.]+% \((\d+)/(\d+)\)")
_QUEUE = re.compile(r"^queue_size=(\d{1,6})$")
_DAY = 86_400.0
_HALF_YEAR = 180 * _DAY


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the logger. `stamp` is (month, day, hour, minute, second), None where it was cut off."""

    stamp: tuple[int, int, int, int, int] | None
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Remark:
    """What a log line says. `kind` is one of

    `samples` (generation ended, `count` responses), `made` (experience made in `seconds`),
    `eval_start`, `eval_end` (`step`, `seconds`, `body` where given), `eval_at` (`step`, `body`),
    `filtered` (a prompt group rejected), `round` (one more round of sampling needed),
    `kept` (`count` of `of` responses passed the filter), `queue` (`count`), `queue_full`,
    `sample` (the first response, printed), `retry` (a reward request failed), `resumed`.
    """

    kind: str
    count: int = 0
    of: int = 0
    step: int | None = None
    seconds: float | None = None
    body: str | None = None


def parse_log_line(text: str) -> LogLine | None:
    """A line of OpenRLHF's (or vLLM's) logger, None for any other."""
    found = _LOGGER.match(text) if "] " in text else None
    if found is None:
        return None
    stamp = None
    if found["month"] is not None:
        stamp = (int(found["month"]), int(found["day"]), int(found["h"]), int(found["m"]), int(found["s"]))
    return LogLine(stamp, found["file"], found["text"])


def parse_remark(text: str) -> Remark | None:
    """What the message of a log line means, None for one that matters to nothing."""
    if "xperience making" in text:
        return _experience(text)
    if "valuation" in text or "Eval at step" in text:
        return _evaluation(text)
    if text.startswith(_FILTERED):
        return Remark("filtered")
    if text.endswith("continue sampling"):
        return Remark("round")
    if kept := _KEPT.search(text):
        return Remark("kept", int(kept[1]), int(kept[2]))
    if queue := _QUEUE.match(text):
        return Remark("queue", int(queue[1]))
    for start, kind in _STARTS:
        if text.startswith(start):
            return Remark(kind)
    return None


_STARTS = (
    ("Sample: [", "sample"),
    ("Queue is full", "queue_full"),
    ("checkpoint_states: {", "resumed"),
    ("Request error, please check", "retry"),
    ("[SingleTurnExecutor] Failed to fetch reward", "retry"),
)


def _experience(text: str) -> Remark | None:
    if samples := _SAMPLES.search(text):
        return Remark("samples", int(samples[1]))
    if made := _MADE.search(text):
        return Remark("made", seconds=_duration(made[1]))
    return None


def _evaluation(text: str) -> Remark | None:
    if "Evaluation start time" in text or text.startswith("Starting async evaluation"):
        return Remark("eval_start")
    if whole := _EVALUATED.search(text):
        return Remark("eval_end", step=int(whole[2]), seconds=_duration(whole[1]), body=whole[3])
    if text.startswith("Async evaluation completed"):
        return Remark("eval_end")
    if old := _EVALUATED_OLD.search(text):
        return Remark("eval_end", seconds=_duration(old[1]))
    if at := _EVAL_AT.search(text):
        return Remark("eval_at", step=int(at[1]), body=at[2])
    return None


def _duration(text: str) -> float:
    """Seconds of `0:01:02` or `1 day, 0:01:02`."""
    days, _, clock = text.rpartition(", ")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return float(int(days.split()[0]) if days else 0) * _DAY + 3600 * hours + 60 * minutes + seconds


class Calendar:
    """Gives stamps without a year their epoch seconds (UTC).

    The first stamp gets the year in which it lies nearest to `near`, a time known from elsewhere (not
    after it where `latest`); every later one the year that brings it nearest to the one before.
    """

    def __init__(self, near: float, *, latest: bool) -> None:
        self._near = near
        self._latest = latest
        self._begun = False

    def epoch(self, stamp: tuple[int, int, int, int, int]) -> float | None:
        """Seconds since the epoch; None for a day that does not exist."""
        year = datetime.fromtimestamp(self._near, UTC).year
        times = [t for y in (year - 1, year, year + 1) if (t := _at(y, stamp)) is not None]
        if self._latest and not self._begun:
            times = [t for t in times if t <= self._near + _DAY] or times
        if not times:
            return None
        time = min(times, key=lambda t: abs(t - self._near))
        if not self._begun or abs(time - self._near) < _HALF_YEAR:
            self._near, self._begun = time, True
        return time


def _at(year: int, stamp: tuple[int, int, int, int, int]) -> float | None:
    try:
        return datetime(year, *stamp, tzinfo=UTC).timestamp()
    except ValueError:
        return None
