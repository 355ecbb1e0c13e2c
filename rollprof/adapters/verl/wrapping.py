"""Which console lines begin a step line and which are the rest of one that a terminal wrapped.

`sources.console.rejoin` asks two questions about the text of each line. The answers depend on what came
before: a rest ends what was left open (a key without its value, a number cut in two), and repeats no key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rollprof.adapters.verl import stepline
from rollprof.sources.records import TextLine

_FAMILIES = "|".join(sorted(map(re.escape, stepline.FAMILIES), key=len, reverse=True))
_NEXT_PAIR = re.compile(rf"(?:^|\s)-\s*(?:(?:{_FAMILIES})/|total_num_tokens:|time_per_step:)")
_OPENS_WITH_PAIR = re.compile(rf"^(?:{_FAMILIES})/[^\s:]+:")
_NUMBER_TAIL = re.compile(r"^[\d.eE+-]*\)?$")
_KEY_TAIL = re.compile(r"^[^\s:]*:\s?[-+\w.()]*$")
_GAP = re.compile(r"^\s*(?:\.{3,}|…)\s*$")
_KEYS = re.compile(rf"(?:^|\s-\s)((?:{_FAMILIES})/[^\s:]+):")
_DANGLING = re.compile(r"(?:\s-\s*|:|\([^()]*|\s-\s[^\s:]*)$")
"""What a line ends with that cannot be the end of a step line: a dash, a colon, an open bracket, a key
without a value."""


class WrapSense:
    """Watches lines on their way into `rejoin` and answers for the line that passed last.

    `start`: it begins a step line. `rest`: it is the rest of one. `doubt`: it may be the rest of the last
    number of one, which therefore cannot be believed.
    """

    def __init__(self) -> None:
        self.start = False
        self.rest = False
        self.doubt = False
        self._owner: tuple[str, int] | None = None
        self._tail = ""
        self._width = 0
        self._keys: set[str] = set()

    def starts(self, _text: str) -> bool:
        """Whether the line that passed last begins a step line."""
        return self.start

    def continues(self, _text: str) -> bool:
        """Whether the line that passed last is the rest of one."""
        return self.rest

    def watch(self, lines: Iterable[TextLine]) -> Iterator[TextLine]:
        """The same lines; `start` and `rest` describe each while it is handed on.

        A line that ends where another process began to write, without a newline, is not complete.
        """
        before: TextLine | None = None
        for line in lines:
            if before is not None:
                yield self._sense(before if line.lines else before._replace(complete=False))
            before = line
        if before is not None:
            yield self._sense(before)

    def _sense(self, line: TextLine) -> TextLine:
        text = line.text
        self.start = self.rest = self.doubt = False
        if not text.strip():
            return line
        mine = self._owner is not None and ((line.actor, line.pid) in (self._owner, ("", 0)))
        if "step:" in text and stepline.STEP_START.search(text) is not None:
            self._open(line)
        elif mine and self._is_rest(text):
            self.rest = True
            self._width = max(self._width, len(self._tail))
            self._tail = text
            self._keys.update(_KEYS.findall(text))
        elif _is_headless(text):
            self._open(line)
        elif mine and _NUMBER_TAIL.match(text.strip()):
            self.doubt = True  # the rest of the last number, or somebody else's
            self._owner = None
        elif (line.actor, line.pid) == self._owner:
            self._owner = None
        return line

    def _open(self, line: TextLine) -> None:
        self.start = True
        self._owner = (line.actor, line.pid)
        self._tail, self._width = line.text, 0
        self._keys = set(_KEYS.findall(line.text))

    def _is_rest(self, text: str) -> bool:
        if not self._keys.isdisjoint(_KEYS.findall(text)):
            return False  # another step's line that lost its head
        if _GAP.match(text) or _NEXT_PAIR.search(text):
            return True
        stripped = text.strip()
        if _DANGLING.search(self._tail) or _GAP.match(self._tail):
            return bool(
                _OPENS_WITH_PAIR.match(stripped) or _KEY_TAIL.match(stripped) or _NUMBER_TAIL.match(stripped)
            )
        # A number alone belongs to a number only where the line before ran to the full width.
        return bool(_NUMBER_TAIL.match(stripped)) and 0 < self._width == len(self._tail)


def _is_headless(text: str) -> bool:
    """A step line whose head is missing, or one metric of a line that somebody broke up."""
    if ":" not in text or "- " not in text:
        return False
    if stepline.parse_single(text) is not None:
        return True
    return len(_KEYS.findall(text)) >= 3 and bool(stepline.parse_step_lines(text))
