"""Runs made from a decode model, and rollprof in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

Done = subprocess.CompletedProcess[str]
Rollprof = Callable[..., Done]


def tool(name: str) -> ModuleType:
    """A module of tests/tools."""
    path = Path(__file__).resolve().parent.parent / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`made(**what)`: the dataset of a run made as MadeRun says, the same one for the same words."""
    from rollprof import api

    run = tool("made_run").MadeRun
    folder = tmp_path_factory.mktemp("made")
    known: dict[tuple[tuple[str, object], ...], Path] = {}

    def make(**what: object) -> Path:
        key = tuple(sorted(what.items()))
        if key not in known:
            name = f"run{len(known)}"
            logs = run(**what).write(folder / name)
            options = api.OpenOptions(output=str(folder / f"{name}.rollprof"), workers=1)
            known[key] = Path(api.convert([str(logs)], options=options).path)
        return known[key]

    return make


@pytest.fixture
def rollprof(tmp_path: Path) -> Rollprof:
    """`rollprof(*arguments, env=..., cwd=..., patch=...)` as people run it; `patch` is Python run before."""

    def run(
        *arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None, patch: str = ""
    ) -> Done:
        start = f"{patch}\nimport sys\nfrom rollprof.cli.app import main\nsys.exit(main())"
        command = [sys.executable, *(["-c", start] if patch else ["-m", "rollprof"]), *map(str, arguments)]
        drop = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")
        plain = {
            k: v
            for k, v in os.environ.items()
            if k not in drop and not k.startswith(("ROLLPROF_", "GITHUB_"))
        }
        return subprocess.run(
            command,
            env={**plain, **(env or {})},
            cwd=cwd or tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
        )

    return run
