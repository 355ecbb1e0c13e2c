"""Runs made from a decode model, and rollprof on them, for the fixtures of several folders."""

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
CHANGERS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM")


def tool(name: str) -> ModuleType:
    """A module of tests/tools."""
    path = Path(__file__).resolve().parent / f"{name}.py"
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
def rollprof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Rollprof:
    """`rollprof(*arguments, env=...)` in an empty folder and a plain environment, in this process."""
    from rollprof.cli.app import main

    monkeypatch.chdir(tmp_path)
    for name in [*os.environ]:
        if name.startswith(("ROLLPROF_", "GITHUB_")) or name in CHANGERS:
            monkeypatch.delenv(name)

    def run(*arguments: object, env: Mapping[str, str] | None = None) -> Done:
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = main([*map(str, arguments)])
        out, err = capsys.readouterr()
        return Done([*map(str, arguments)], code, out, err)

    return run
