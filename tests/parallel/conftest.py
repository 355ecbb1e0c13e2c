"""Files made on the spot, and mappers put in the place of adapters."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rollprof.adapters import registry
from rollprof.parallel import convert
from rollprof.sources.records import SniffedFile
from rollprof.sources.sniffing import sniff

from .rollout_tasks import ADAPTER_SOURCE, Mapper

AsFile = Callable[..., SniffedFile]


@pytest.fixture
def as_file(tmp_path: Path) -> AsFile:
    """Rows or bytes -> a file on disk, looked at."""

    def make(content: bytes | list[dict[str, Any]], name: str = "1.jsonl") -> SniffedFile:
        path = tmp_path / name
        if not isinstance(content, bytes):
            content = b"".join(json.dumps(row).encode() + b"\n" for row in content)
        path.write_bytes(content)
        return sniff(str(path), name)

    return make


@pytest.fixture
def use_mapper(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Lets every file be mapped by the given mapper (by Mapper() from the start)."""

    def use(mapper: Any) -> None:
        monkeypatch.setattr(convert, "mapper_for", lambda task: mapper)

    use(Mapper())
    return use


@pytest.fixture
def installed_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An adapter called "fake", installed as packages are: found here and in worker processes."""
    place = tmp_path / "site"
    info = place / "fake-1.0.dist-info"
    info.mkdir(parents=True)
    (place / "fake_rollprof_adapter.py").write_text(ADAPTER_SOURCE)
    (info / "entry_points.txt").write_text("[rollprof.adapters]\nfake = fake_rollprof_adapter:ADAPTER\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(place))
    registry._targets.cache_clear()
    yield
    registry._targets.cache_clear()
    sys.modules.pop("fake_rollprof_adapter", None)
