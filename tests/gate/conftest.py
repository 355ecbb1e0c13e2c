"""Runs made from a decode model, and rollprof on them, in this process and in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))
from run_fixtures import CHANGERS, Done, Rollprof, made, rollprof

__all__ = ["made", "outside", "rollprof"]


@pytest.fixture
def outside(tmp_path: Path) -> Rollprof:
    """The same in a process of its own; `patch` is Python that runs before, to make something go wrong."""

    def run(*arguments: object, patch: str = "") -> Done:
        start = f"{patch}\nimport sys\nfrom rollprof.cli.app import main\nsys.exit(main())"
        command = [sys.executable, *(["-c", start] if patch else ["-m", "rollprof"]), *map(str, arguments)]
        plain = {
            k: v
            for k, v in os.environ.items()
            if k not in CHANGERS and not k.startswith(("ROLLPROF_", "GITHUB_"))
        }
        return subprocess.run(
            command, env=plain, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=120
        )

    return run
