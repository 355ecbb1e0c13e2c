"""Whether a release has an option, from the words that say which do (`>=0.5,<0.7`, `0.6.0 and later`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rollprof.doctor.results import Fit

Version = tuple[int, ...]
_NUMBER = r"(\d+(?:\.\d+)*)"
_LATER = re.compile(rf"{_NUMBER} and later")
_BETWEEN = re.compile(rf"{_NUMBER} to {_NUMBER}")
_SINCE = re.compile(rf"(?:\w+ )?since {_NUMBER}")
_EXACT = re.compile(_NUMBER)
_TWO_SPELLINGS = re.compile(rf"(?P<new>[^()]*\S) \((?P<old>--[^()]*?) until {_NUMBER}\)")
END: Version = (1 << 30,)


@dataclass(frozen=True, slots=True)
class Span:
    """Releases from `low` to `high`, both included."""

    low: Version = ()
    high: Version = END


def written_by(version: str | None) -> Span | None:
    """The span of a run's release: `1.16.0`, `0.8` (any 0.8), `>=0.5,<0.7`. None where it is not known."""
    if not version:
        return None
    low: Version = ()
    high = END
    for clause in version.replace(" ", "").split(","):
        found = re.fullmatch(rf"(>=|>|<=|<|==|=)?{_NUMBER}(?:\.?(?:post|rc|dev|a|b)\d+)?", clause)
        if found is None:
            return None
        sign, number = found[1] or "==", _parsed(found[2])
        if sign in (">=", ">"):
            low = max(low, number)
        elif sign == "<=":
            high = min(high, (*number, *END))
        elif sign == "<":
            high = min(high, _before(number))
        else:
            low, high = max(low, number), min(high, (*number, *END))
    return Span(low, high)


def released_in(words: str) -> Span | None:
    """The span of releases that have an option; None where the words say more than one span."""
    plain = re.sub(r"^[A-Z]+ (?=\d)", "", words.strip())
    if plain in ("all releases", "all"):
        return Span()
    if found := _LATER.fullmatch(plain):
        return Span(_parsed(found[1]))
    if found := _BETWEEN.fullmatch(plain):
        return Span(_parsed(found[1]), (*_parsed(found[2]), *END))
    if found := _SINCE.fullmatch(plain):
        return Span(_parsed(found[1]))
    if found := _EXACT.fullmatch(plain):
        return Span(_parsed(found[1]), (*_parsed(found[1]), *END))
    return None


def fits(words: str, version: str | None) -> Fit:
    """Whether the release that wrote a log has what these releases have."""
    has, wrote = released_in(words), written_by(version)
    if has == Span():
        return "yes"
    if has is None or wrote is None:
        return "unknown"
    if wrote.low >= has.low and wrote.high <= has.high:
        return "yes"
    return "no" if wrote.high < has.low or wrote.low > has.high else "unknown"


def spelled(option: str, version: str | None) -> str:
    """The option as this release spells it, where `NEW (OLD until X)` names both spellings."""
    wrote = written_by(version)
    found = _TWO_SPELLINGS.fullmatch(option)
    if found is None or wrote is None:
        return option
    last = (*_parsed(found[3]), *END)
    if wrote.high <= last:
        return found["old"]
    return found["new"] if wrote.low > last else option


def _parsed(number: str) -> Version:
    return tuple(int(part) for part in number.split("."))


def _before(number: Version) -> Version:
    """Above everything below `number`, and below it."""
    cut = list(number)
    while cut and cut[-1] == 0:
        cut.pop()
    if not cut:
        return ()
    return (*cut[:-1], cut[-1] - 1, *END)
