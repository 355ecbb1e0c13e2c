"""Files made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rollprof.sources.records import SniffedFile
from rollprof.sources.tree import sniff


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., SniffedFile]:
    """`make(content, name="run.log")` writes a file and looks at it."""

    def write(content: str | bytes, name: str = "run.log") -> SniffedFile:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return sniff(str(path), name)

    return write
