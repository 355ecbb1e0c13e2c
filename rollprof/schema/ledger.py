"""The ledger: what was read, what was repaired, what was lost, and where.

Nothing is lost silently. Every physical line of a text input is counted once as read, repaired or
skipped; remarks about content (a duplicate step, a value dropped from a line) are notes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["repaired", "skipped", "note", "info"]

MAX_PROBLEMS = 200
"""Problems kept word for word per file; beyond that they are only counted."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that was not as it should be. `offset` is a byte offset in the (decompressed) file."""

    file: str
    offset: int
    reason: str
    kind: Kind

    def as_dict(self) -> dict[str, Any]:
        return {"file": self.file, "offset": self.offset, "reason": self.reason, "kind": self.kind}


@dataclass(slots=True)
class Ledger:
    """Counts of physical lines and the problems met. Mergeable and picklable: workers send theirs home."""

    read: int = 0
    repaired: int = 0
    skipped: int = 0
    dropped: int = 0
    """Records understood and left out on purpose (padding rows), each kind noted."""
    notes: int = 0
    problems: list[Problem] = field(default_factory=list)
    unlisted: int = 0
    """Problems counted but not kept in `problems`."""
    _listed: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def ok(self, lines: int = 1) -> None:
        """`lines` physical lines were read as they stood."""
        self.read += lines

    def repair(self, file: str, offset: int, reason: str, lines: int = 1) -> None:
        """`lines` physical lines needed help and were understood."""
        self.repaired += lines
        self._add(Problem(file, offset, reason, "repaired"))

    def skip(self, file: str, offset: int, reason: str, lines: int = 1) -> None:
        """`lines` physical lines could not be used."""
        self.skipped += lines
        self._add(Problem(file, offset, reason, "skipped"))

    def note(self, file: str, offset: int, reason: str) -> None:
        """Something worth knowing that is not a lost line."""
        self.notes += 1
        self._add(Problem(file, offset, reason, "note"))

    def inform(self, file: str, offset: int, reason: str) -> None:
        """How things were read, where nothing is wrong: listed, and no blemish."""
        self._add(Problem(file, offset, reason, "info"))

    def merge(self, other: Ledger) -> None:
        self.read += other.read
        self.repaired += other.repaired
        self.skipped += other.skipped
        self.dropped += other.dropped
        self.notes += other.notes
        self.unlisted += other.unlisted
        self.extend(other.problems)

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self._add(problem)

    @property
    def lines(self) -> int:
        return self.read + self.repaired + self.skipped

    @property
    def clean(self) -> bool:
        return not (self.repaired or self.skipped or self.notes)

    def _add(self, problem: Problem) -> None:
        # Per file, so that one rotten file does not hide what is wrong with the next.
        listed = self._listed.get(problem.file, 0)
        if listed >= MAX_PROBLEMS:
            self.unlisted += 1
            return
        self._listed[problem.file] = listed + 1
        self.problems.append(problem)

    def as_dict(self) -> dict[str, Any]:
        """The stable form of the JSON output; problems sorted by file and offset."""
        return {
            "read": self.read,
            "repaired": self.repaired,
            "skipped": self.skipped,
            "dropped": self.dropped,
            "notes": self.notes,
            "unlisted": self.unlisted,
            "problems": [
                p.as_dict() for p in sorted(self.problems, key=lambda p: (p.file, p.offset, p.reason))
            ],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Ledger:
        ledger = cls(
            read=int(data.get("read", 0)),
            repaired=int(data.get("repaired", 0)),
            skipped=int(data.get("skipped", 0)),
            dropped=int(data.get("dropped", 0)),
            notes=int(data.get("notes", 0)),
            unlisted=int(data.get("unlisted", 0)),
        )
        ledger.extend(Problem(**p) for p in data.get("problems", []))
        return ledger
