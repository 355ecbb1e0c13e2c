"""Writers of small trackers' files, byte by byte: the tests need no tracker."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def blob(field: int, data: bytes | str) -> bytes:
    """A length-delimited field."""
    raw = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def float32(field: int, value: float) -> bytes:
    return varint(field << 3 | 5) + struct.pack("<f", value)


def stamp(seconds: float) -> bytes:
    whole = int(seconds)
    return number(1, whole) + number(2, round((seconds - whole) * 1e9))


# TensorBoard


def tf_record(payload: bytes) -> bytes:
    """Checksums are left at zero: the reader does not look at them."""
    return struct.pack("<QI", len(payload), 0) + payload + b"\0\0\0\0"


def event(time: float, step: int | None, *values: bytes) -> bytes:
    out = double(1, time)
    if step is not None:
        out += number(2, step)
    return tf_record(out + blob(5, b"".join(blob(1, v) for v in values)))


def scalar(tag: str, value: float) -> bytes:
    return blob(1, tag) + float32(2, value)


def tensor_scalar(tag: str, value: float) -> bytes:
    """As TensorFlow 2 writes one: metadata first, the value in a tensor."""
    return (
        blob(1, tag)
        + blob(9, b"\x0a\x09\x0a\x07scalars")
        + blob(8, number(1, 1) + blob(4, struct.pack("<f", value)))
    )


def text(tag: str, value: str) -> bytes:
    return blob(1, tag) + blob(8, number(1, 7) + blob(8, value))


def events(path: Path, *records: bytes, time: float = 1.79e9) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tf_record(double(1, time) + blob(3, "brain.Event:2")) + b"".join(records))
    return path


def event_log(path: Path, steps: Mapping[int, Mapping[str, float]], start: float = 1.79e9) -> Path:
    """An event per scalar, as PyTorch's writer makes them; a step every 10 s."""
    records = [
        event(start + 10 * i + n / 1000, step, scalar(tag, value))
        for i, (step, tags) in enumerate(steps.items())
        for n, (tag, value) in enumerate(tags.items())
    ]
    return events(path, *records, time=start)


# wandb and SwanLab


def framed(records: Iterable[bytes], ident: bytes = b":W&B", magic: int = 0xBEE1) -> bytes:
    """The log with its records cut at the borders of blocks."""
    out = bytearray(ident + struct.pack("<HB", magic, 0))
    for record in records:
        first = True
        rest = record
        while True:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += b"\0" * left
                left = 32768
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if not rest else 2) if first else (4 if not rest else 3)
            out += (
                struct.pack("<IHB", zlib.crc32(piece, zlib.crc32(bytes((kind,)))), len(piece), kind) + piece
            )
            first = False
            if not rest:
                break
    return bytes(out)


def items(values: Mapping[str, Any], field: int) -> bytes:
    """Keys with `>` are nested."""
    out = b""
    for key, value in values.items():
        name = b"".join(blob(2, part) for part in key.split(">")) if ">" in key else blob(1, key)
        held = value if isinstance(value, bytes) else json.dumps(value).encode()
        out += blob(field, name + blob(16, held))
    return out


def history(values: Mapping[str, Any]) -> bytes:
    return blob(2, items(values, 1))


def run_record(run_id: str, config: Mapping[str, Any], host: str = "node7") -> bytes:
    return blob(17, blob(1, run_id) + blob(3, "project") + blob(4, items(config, 1)) + blob(13, host))


def stats(time: float, values: Mapping[str, float]) -> bytes:
    return blob(7, blob(2, stamp(time)) + items(values, 3))


def output_raw(time: float, line: str) -> bytes:
    return blob(13, blob(2, stamp(time)) + blob(3, line))


def wandb_log(path: Path, *records: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(framed(records))
    return path
