"""A line found anywhere in a file, in bounded memory."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

import pytest

from rollprof.sources import searching
from rollprof.sources.records import SniffedFile
from rollprof.sources.tree import search_text

AsFile = Callable[..., SniffedFile]

STEP = re.compile(rb"^step:(\d+) - ", re.MULTILINE)


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
@pytest.mark.parametrize("before", [0, 1, 300_000, 9_000_000])
def test_found_wherever_it_stands(as_file: AsFile, before: int, pack: Callable[[bytes], bytes]) -> None:
    data = (b"INFO loading the model, step:9 - not here\n" * (before // 41 + 1))[:before] + b"\n"
    found = search_text(as_file(pack(data + b"step:34 - a:1\n" + data)), STEP)
    assert found is not None
    assert found.group(1) == b"34"
    assert search_text(as_file(pack(data + data)), STEP) is None


def test_every_cut_of_the_windows(as_file: AsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"some text\nmore\nxstep:1 - no\nstep:27 - a:1\nend"
    file = as_file(data)
    for window in range(1, len(data) + 2):
        monkeypatch.setattr(searching, "WINDOW", window)
        found = search_text(file, STEP)
        assert found is not None
        assert found.group() == b"step:27 - "
        assert search_text(file, re.compile(rb"end\Z")) is not None
        assert search_text(file, re.compile(rb"^tep", re.MULTILINE)) is None


def test_a_line_without_an_end_does_not_fill_memory(as_file: AsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "WINDOW", 1000)
    monkeypatch.setattr(searching, "LONG_LINE", 500)
    monkeypatch.setattr(searching, "OVERLAP", 100)
    file = as_file(b"x" * 5000 + b"needle" + b"x" * 5000)
    assert search_text(file, re.compile(b"needle")) is not None
    assert search_text(file, re.compile(b"^needle|^x{101}n", re.MULTILINE)) is None


def test_empty(as_file: AsFile) -> None:
    assert search_text(as_file(b""), STEP) is None
