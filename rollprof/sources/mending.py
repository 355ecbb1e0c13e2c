"""One line of JSON that the fast parser refused -> the objects in it, and what was wrong.

What Python's own json.dumps writes (NaN, Infinity, escaped lone surrogates, integers of any size) is no
damage. Byte order marks, invalid UTF-8, raw control characters, NULs and glued records are repaired.
What cannot be understood is named in words that hold nothing of the text itself, because the ledger is
stored and shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any, NamedTuple

from rollprof.sources.splitting import BOM

MAX_DIGITS = 4000  # Python refuses to read longer integers
SPACE = " \t\n\r\x00\ufeff"

_OPENING = re.compile(r'\{\s*("[^"\\]*(?:\\.[^"\\]*)*")\s*:')


class Mended(NamedTuple):
    """`objects` with the byte offset of each in the line; `reason` None when nothing was wrong.

    No objects and a reason: the line is lost. Objects and a reason: it was repaired.
    """

    objects: tuple[tuple[int, dict[str, Any]], ...]
    reason: str | None


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < MAX_DIGITS else float("-inf" if digits[0] == "-" else "inf")


_STRICT = json.JSONDecoder(parse_int=_integer)
_LENIENT = json.JSONDecoder(parse_int=_integer, strict=False)


def mend(line: bytes, *, complete: bool = True) -> Mended:
    """The objects of one physical line. `complete` false where the file ends inside it."""
    if not line.strip():
        return Mended((), None)
    text, remarks = _decode(line)
    if not text.strip(SPACE):
        return Mended((), "NUL bytes" if "\x00" in text else "an empty line with a byte order mark")
    try:
        whole = _one_value(text, remarks)
    except JSONDecodeError as error:
        return _several(line, text, remarks, _broken(text, error, complete))
    except RecursionError:
        return Mended((), "nested too deeply")
    if isinstance(whole, dict):
        return Mended(((_offset(line, text, text.find("{")), whole),), _join(remarks))
    return Mended((), f"not a JSON object: {_shape(whole)}")


def mend_object(data: bytes) -> tuple[dict[str, Any], str | None] | None:
    """The one object that `data` is, with what had to be repaired; None where it is not just that."""
    text, remarks = _decode(data)
    try:
        value = _one_value(text, remarks)
    except (JSONDecodeError, RecursionError):
        return None
    return (value, _join(remarks)) if isinstance(value, dict) else None


def _decode(line: bytes) -> tuple[str, list[str]]:
    """The text and what had to be repaired to get it."""
    remarks = []
    if line.startswith(BOM):
        remarks.append("byte order mark")
        line = line[len(BOM) :]
    try:
        return line.decode(), remarks
    except UnicodeDecodeError:
        pass
    try:
        text = line.decode("utf-8", "surrogatepass")
        remarks.append("lone surrogate in the text")
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
        remarks.append("invalid UTF-8 replaced")
    return text, remarks


def _one_value(text: str, remarks: list[str]) -> Any:
    """The single JSON value of a text. Adds to `remarks` what it had to overlook."""
    try:
        return _STRICT.decode(text)
    except JSONDecodeError:
        pass
    bare = text.strip(SPACE)
    if len(bare) < len(text.strip()):
        remarks.append("NUL bytes around the record")
        try:
            return _STRICT.decode(bare)
        except JSONDecodeError:
            pass
    value = _LENIENT.decode(bare)
    remarks.append("raw control characters in a string")
    return value


def _several(line: bytes, text: str, remarks: list[str], reason: str) -> Mended:
    """What is left of a line that is not one JSON value: glued records, a record after half of another."""
    objects: list[tuple[int, dict[str, Any]]] = []
    whole = True
    end = 0
    for start, stop, value in _objects_in(text):
        whole = whole and not text[end:start].strip(SPACE + ",")
        objects.append((start, value))
        end = stop
    if not objects:
        return Mended((), reason)
    whole = whole and not text[end:].strip(SPACE + ",")
    count = len(objects)
    if whole:
        remarks.append(f"{count} records on one line, all recovered" if count > 1 else "a comma to spare")
    else:
        remarks.append(f"{count} record{'s' * (count > 1)} recovered from a damaged line")
    return Mended(tuple((_offset(line, text, start), value) for start, value in objects), _join(remarks))


def _objects_in(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Whole records in a damaged line, as (start, end, object), in order.

    A nested object must not pass for a record: after damage, only an object that begins with the first
    key of this line's own record is taken, and only if the line ends, or goes on with another, after it.
    """
    first = _OPENING.search(text)
    if first is None:
        return
    opening = re.compile(r"\{\s*" + re.escape(first.group(1)) + r"\s*:")
    position = first.start()
    sure = not text[:position].strip(SPACE)  # nothing but records until here
    budget = 4 * len(text) + (1 << 20)  # a long line full of openings must not take for ever
    while budget > 0:
        budget -= len(text) - position
        try:
            value, stop = _LENIENT.raw_decode(text, position)
        except (JSONDecodeError, RecursionError):
            value, stop = None, position + 1
        if isinstance(value, dict) and _ends_well(text, stop, sure):
            yield position, stop, value
            sure = True
        else:
            sure = False
        following = opening.search(text, stop)
        if following is None:
            return
        sure = sure and not text[stop : following.start()].strip(SPACE + ",")
        position = following.start()


def _ends_well(text: str, stop: int, sure: bool) -> bool:
    """Whether what follows an object says that it was a whole record.

    After damage only the end of the line or another record will do; a record that began where it should
    may be followed by foreign text, but not by the rest of a larger object.
    """
    rest = text[stop : stop + 64].lstrip(SPACE)
    if not rest or rest.lstrip(SPACE + ",").startswith("{"):
        return True
    return sure and rest[0] not in ',:}]"'


def _broken(text: str, error: JSONDecodeError, complete: bool) -> str:
    if not text.lstrip(SPACE).startswith("{"):
        return "text that is no JSON" if complete else "text that is no JSON (truncated tail)"
    inside = error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip(SPACE)) - 1
    if not complete:
        return "half a line (truncated tail)"
    return "half a line" if inside else f"broken JSON ({error.msg}, character {error.pos})"


def _offset(line: bytes, text: str, position: int) -> int:
    """Byte offset of a character; exact unless invalid UTF-8 was replaced before it."""
    mark = len(BOM) if line.startswith(BOM) else 0
    return mark + len(text[:position].encode("utf-8", "surrogatepass"))


def _join(remarks: list[str]) -> str | None:
    return ", ".join(remarks) or None


def _shape(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
