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

SLOW = (
    "cli/test_report.py",
    "compare/test_compare_command.py",
    "docs/test_report_page.py",
    "gate/test_exit_codes.py",
    "gate/test_in_the_open.py",
    "whatif/test_run.py",
    "whatif/test_show.py",
)
"""Files whose tests start whole processes or replay whole runs; CI runs them with `-m slow`."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow files before they are selected by their marks."""
    for item in items:
        if item.path.is_relative_to(ROOT / "tests") and str(item.path.relative_to(ROOT / "tests")) in SLOW:
            item.add_marker(pytest.mark.slow)


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
