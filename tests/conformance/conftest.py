"""verl's wheels, brought once per machine into a folder for temporary files."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

CACHE = Path(tempfile.gettempdir()) / "rollprof-conformance-wheels"


@pytest.fixture(scope="session")
def tool() -> Callable[[str], ModuleType]:
    """Imports a module of tests/tools by name."""
    return importlib.import_module


@pytest.fixture(scope="session")
def wheel_of(tool: Callable[[str], ModuleType]) -> Callable[[str], Path]:
    """The wheel of a release; the test is skipped when the package index cannot be reached."""
    writers = tool("verl_writers")
    refused: dict[str, str] = {}

    def fetch(version: str) -> Path:
        if refused and not list(CACHE.glob(f"verl-{version}-*.whl")):
            pytest.skip(f"no package index: {next(iter(refused.values()))}")
        try:
            found: Path = writers.download(version, CACHE)
        except writers.NotReached as problem:
            refused[version] = str(problem)
            pytest.skip(f"verl {version} cannot be had from the package index: {problem}")
        return found

    return fetch
