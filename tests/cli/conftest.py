"""rollprof as people run it: in a process of its own, in an empty folder, with a plain environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Done = subprocess.CompletedProcess[str]
Rollprof = Callable[..., Done]
CHANGERS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "PYTHONIOENCODING", "GITHUB_ACTIONS")


def plain_environment() -> dict[str, str]:
    """The environment without what changes the output."""
    return {k: v for k, v in os.environ.items() if k not in CHANGERS and not k.startswith("ROLLPROF_")}


@pytest.fixture
def rollprof(tmp_path: Path) -> Rollprof:
    """`rollprof(*arguments, env=..., cwd=..., input=..., patch=...)`.

    `patch` is Python code that runs before `main()`: to make something go wrong on purpose.
    """

    def run(
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        patch: str = "",
        **more: Any,
    ) -> Done:
        start = f"{patch}\nimport sys\nfrom rollprof.cli.app import main\nsys.exit(main())"
        command = [sys.executable, *(["-c", start] if patch else ["-m", "rollprof"]), *arguments]
        return subprocess.run(
            command,
            env={**plain_environment(), **(env or {})},
            cwd=cwd or tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            **more,
        )

    return run
