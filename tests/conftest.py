"""Fixtures that every test folder shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A shared machine stalls now and then: how long an example takes is measured elsewhere.
settings.register_profile("rollprof", deadline=None)
settings.load_profile("rollprof")

ROOT = Path(__file__).resolve().parent.parent


def corpus_path() -> Path | None:
    """The optional folder of logs found in the wild or written by the frameworks, or None."""
    path = Path(os.environ.get("ROLLPROF_CORPUS", ROOT.parent / "shared" / "corpus"))
    return path if path.is_dir() else None


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The corpus folder; skips the test when it is not there."""
    path = corpus_path()
    if path is None:
        pytest.skip("no corpus (set ROLLPROF_CORPUS)")
    return path


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's root folder."""
    return ROOT
