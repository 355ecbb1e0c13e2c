"""Where in a TOML file a key stands, for messages and annotations that point at the line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_BARE = r"[A-Za-z0-9_-]+"
_PART = rf"""(?:{_BARE}|"[^"\n]*"|'[^'\n]*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_KEY})\s*\]\]?\s*(?:#.*)?$")
_ENTRY = re.compile(rf"\s*({_KEY})\s*=")
_INNER = re.compile(rf"[{{,]\s*({_KEY})\s*=")

Path = tuple[str, ...]


def lines_of(text: str) -> Mapping[Path, int]:
    """Line (from 1) of the first mention of every key, by its full path; inline tables included."""
    found: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header is not None:
            table = _parts(header[1])
            _note(found, (), table, number)
            continue
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        key = (*table, *_parts(entry[1]))
        _note(found, table, key, number)
        for inner in _inner(line[entry.end() :]):
            _note(found, key, (*key, *inner), number)
    return found


def _note(found: dict[Path, int], table: Path, key: Path, line: int) -> None:
    for end in range(len(table) + 1, len(key) + 1):
        found.setdefault(key[:end], line)


def _inner(value: str) -> Iterator[Path]:
    """Keys of an inline table, which TOML keeps on one line; nested ones count as keys of the outer."""
    if value.lstrip().startswith("{"):
        for match in _INNER.finditer(value):
            yield _parts(match[1])


def _parts(key: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in re.findall(_PART, key))


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """The line of a key, or of the nearest table around it that can be found; else 1."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return 1
