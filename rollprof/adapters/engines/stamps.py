"""Stamps that lack a year, or even a date, and the clock that may run backwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from rollprof.sources.records import SniffedFile

_HALF_YEAR = 183 * 86400.0
_DAY = 86400.0


class Stamps:
    """Epoch seconds (counted as UTC) of stamps without a year or without a date.

    The first one lies in the last year (on the last day) that is not after `latest`, when the file was last
    written; each later one as near as it can to the one before, so that a log runs on through New Year.
    """

    def __init__(self, latest: float) -> None:
        self._near = latest
        self._begun = False
        self._day: tuple[int, int, float] | None = None

    @classmethod
    def of(cls, file: SniffedFile) -> Stamps:
        """For a file: its last change is when its last line was written, at the latest."""
        return cls(Path(file.path).stat().st_mtime)

    def saw(self, time: float) -> None:
        """A full date elsewhere in the log."""
        self._near, self._begun = time, True

    def of_day(self, month: int, day: int, hour: int, minute: int, second: int) -> float | None:
        """A stamp without a year; None for a day that does not exist."""
        if self._day is not None and self._day[:2] == (month, day) and hour < 24 and max(minute, second) < 60:
            found = self._day[2] + 3600.0 * hour + 60.0 * minute + second
            if abs(found - self._near) < _HALF_YEAR:
                self.saw(found)
                return found
        year = datetime.fromtimestamp(self._near, UTC).year
        times = []
        for y in range(year - 4, year + 2):  # 29 February needs a leap year
            try:
                times.append(datetime(y, month, day, hour, minute, second, tzinfo=UTC).timestamp())
            except ValueError:
                continue
        time = self._nearest(times, _DAY)
        if time is not None:
            self._day = (month, day, time - 3600.0 * hour - 60.0 * minute - second)
        return time

    def of_time(self, hour: int, minute: int, second: int) -> float | None:
        """A stamp without a date."""
        if not (hour < 24 and minute < 60 and second < 60):
            return None
        start = datetime.fromtimestamp(self._near, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        at = start + timedelta(hours=hour, minutes=minute, seconds=second)
        return self._nearest([(at + timedelta(days=d)).timestamp() for d in (-1, 0, 1)], 60.0)

    def _nearest(self, times: list[float], slack: float) -> float | None:
        if not self._begun:
            times = [t for t in times if t <= self._near + slack] or times
        if not times:
            return None
        found = min(times, key=lambda t: abs(t - self._near))
        if not self._begun or abs(found - self._near) < _HALF_YEAR:
            self.saw(found)
        return found
