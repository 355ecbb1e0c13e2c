"""Prometheus' formats: the text that a target serves, and the JSON that `query_range` answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import damage_of, open_bytes
from rollprof.sources.records import SniffedFile
from rollprof.sources.splitting import TOO_LONG, physical_lines

TEXT, RANGE = "text", "range"

_LINE = re.compile(
    r"(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})?\s+(?P<value>[^\s]+)(?:\s+(?P<time>-?\d+))?(?:\s+#.*)?$"
)
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"\s*,?\s*')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
_ESCAPED = re.compile(r'\\[\\"n]')
_LARGEST = 1 << 30


class Point(NamedTuple):
    """One value of one series. `time` in epoch seconds, None where a scrape does not say."""

    name: str
    labels: Mapping[str, str]
    value: float
    time: float | None
    offset: int


def form_of(file: SniffedFile) -> str | None:
    """`text` or `range` where this is one of the two."""
    head = file.head.decode("utf-8", "replace")
    if file.kind == "text":
        lines = [line for line in head.splitlines()[:200] if line.strip()]
        typed = any(line.startswith(("# TYPE ", "# HELP ")) for line in lines)
        values = sum(_LINE.match(line) is not None for line in lines if not line.startswith("#"))
        return TEXT if typed and values else None
    if file.kind in ("json_document", "json_lines") and '"resultType"' in head and '"matrix"' in head:
        return RANGE
    return None


def read_scrapes(file: SniffedFile, ledger: Ledger) -> Iterator[Point]:
    """Points of one or more scrapes in the order of the file."""
    offset = 0
    with open_bytes(file.path, file.compression) as stream:
        for offset, raw, _ in physical_lines(stream):
            if raw is None:
                ledger.skip(file.name, offset, TOO_LONG)
                continue
            line = raw.decode("utf-8", "replace").strip()
            found = _LINE.match(line) if line and not line.startswith("#") else None
            if found is None:
                if line and not line.startswith("#"):
                    ledger.skip(file.name, offset, "no metric and value")
                else:
                    ledger.read += 1
                continue
            try:
                value = float(found["value"])
            except ValueError:
                ledger.skip(file.name, offset, "no metric and value")
                continue
            ledger.read += 1
            time = None if found["time"] is None else int(found["time"]) / 1000
            yield Point(found["name"], _labels(found["labels"] or ""), value, time, offset)
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, offset, damage)


def read_range(file: SniffedFile, ledger: Ledger) -> Iterator[Point]:
    """Points of the answers to `query_range`: one JSON document, or one a line.

    Raises InputProblem for a file that is no such JSON from its first byte on.
    """
    with open_bytes(file.path, file.compression) as stream:
        text = stream.read(_LARGEST)
    answers = [(0, text)]
    if file.kind == "json_lines":
        answers, at = [], 0
        for line in text.split(b"\n"):
            answers.append((at, line))
            at += len(line) + 1
    read = 0
    for offset, answer in answers:
        if not answer.strip():
            continue
        try:
            found = msgspec.json.decode(answer)
            series = found["data"]["result"]
        except (ValueError, TypeError, KeyError, RecursionError):
            ledger.skip(file.name, offset, "no answer of query_range")
            continue
        read += 1
        ledger.read += 1
        yield from _series(series, file.name, offset, ledger)
    if not read:
        raise InputProblem(f"{file.name}: damaged JSON, no answer of query_range in it")


def _series(series: Any, name: str, offset: int, ledger: Ledger) -> Iterator[Point]:
    for one in series if isinstance(series, list) else []:
        labels = one.get("metric") if isinstance(one, Mapping) else None
        if not isinstance(labels, Mapping) or not isinstance(one.get("values"), list):
            ledger.note(name, offset, "a series without values")
            continue
        plain = {str(k): str(v) for k, v in labels.items()}
        metric = plain.pop("__name__", "")
        lost = 0
        for pair in one["values"]:
            try:
                time, value = float(pair[0]), float(pair[1])
            except (TypeError, ValueError, IndexError, KeyError):
                lost += 1
                continue
            yield Point(metric, plain, value, time, offset)
        if lost:
            ledger.note(name, offset, f"{lost} values of {metric or 'a series'} are no numbers")


def _labels(text: str) -> dict[str, str]:
    return {m[1]: _ESCAPED.sub(lambda e: _ESCAPES[e.group()], m[2]) for m in _LABEL.finditer(text)}
