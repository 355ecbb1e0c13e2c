"""Protocol buffers' wire format: fields of a message as numbers and bytes, without its schema."""

from __future__ import annotations

from collections.abc import Iterator

Value = int | bytes
"""Wire type 0 gives a number; 1, 2 and 5 give bytes."""

MAX_SHIFT = 63


class DamagedMessage(ValueError):
    """The bytes are no whole message."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at` and where the next thing starts. Raises DamagedMessage."""
    number = shift = 0
    try:
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number, at
            shift += 7
            if shift > MAX_SHIFT:
                raise DamagedMessage("a number of more than ten bytes")
    except IndexError:
        raise DamagedMessage("ends inside a number") from None


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """(field number, value) in order. Raises DamagedMessage where the message ends early."""
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            number, at = varint(data, at)
            yield tag >> 3, number
            continue
        if kind == 2:
            size, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise DamagedMessage(f"wire type {kind}")
        if at + size > end:
            raise DamagedMessage("ends inside a field")
        yield tag >> 3, data[at : at + size]
        at += size


def signed(number: int) -> int:
    """A varint as the signed 64-bit number that int32, int64 and enums are."""
    return number - (1 << 64) if number >= 1 << 63 else number


def text(value: Value) -> str:
    """A string field; bytes that are no UTF-8 are replaced."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def message(value: Value) -> bytes:
    """A nested message; empty where the field is a number."""
    return value if isinstance(value, bytes) else b""


def timestamp(data: bytes) -> float | None:
    """Seconds since the epoch of a `google.protobuf.Timestamp`; None for an empty one."""
    seconds = nanos = 0
    for number, value in fields(data):
        if number == 1 and isinstance(value, int):
            seconds = signed(value)
        elif number == 2 and isinstance(value, int):
            nanos = value
    return seconds + nanos / 1e9 if seconds else None
