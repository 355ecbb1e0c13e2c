"""Files made on the spot, and what is known of every line of a log."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

AsFile = Callable[..., SniffedFile]


@pytest.fixture(scope="session")
def as_file(tmp_path_factory: pytest.TempPathFactory) -> AsFile:
    """Bytes -> a file on disk, looked at. Session-wide, so that property tests can use it."""
    folder = tmp_path_factory.mktemp("files")
    number = itertools.count()

    def make(data: bytes, name: str = "log", *, kind: str | None = None) -> SniffedFile:
        path: Path = folder / f"{next(number) % 8}-{name}"
        path.write_bytes(data)
        file = sniff(str(path), name)
        if kind is not None:
            file = SniffedFile(file.path, name, file.size, kind, file.compression)  # type: ignore[arg-type]
        return file

    return make
