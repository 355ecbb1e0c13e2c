"""Starting up is cheap: heavy packages are loaded by the command that needs them, and not before."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("polars", "plotly", "scipy", "pyarrow", "numpy", "pandas", "duckdb")
MARK = "loaded:"


def loaded(code: str) -> set[str]:
    """Top-level packages in memory after `code`, in a fresh interpreter."""
    tail = (
        f"\nimport sys, json\nprint({MARK!r} + json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    )
    done = subprocess.run([sys.executable, "-c", code + tail], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.rpartition(MARK)[2]))


def run_cli(*arguments: str) -> str:
    """Code that runs the command line to its end."""
    return (
        f"import sys\nsys.argv = ['rollprof', *{list(arguments)!r}]\n"
        "from rollprof.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
    )


def test_importing_the_package_costs_nothing() -> None:
    assert loaded("import rollprof; rollprof.__version__") & {*HEAVY, "rich", "typer", "msgspec"} == set()


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("analyze", "--help")])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert loaded(run_cli(*arguments)) & set(HEAVY) == set()


def test_conversion_workers_load_neither_polars_nor_scipy() -> None:
    code = (
        "import rollprof.parallel.convert\n"
        "import rollprof.adapters.registry as registry\n"
        "from importlib.metadata import entry_points\n"
        "for entry in entry_points(group='rollprof.adapters'):\n"
        "    if entry.value.startswith('rollprof.'):\n"
        "        entry.load()\n"
    )
    assert loaded(code) & {"polars", "scipy", "plotly", "pandas", "rich", "typer", "duckdb"} == set()


def test_the_probe_sees_what_is_loaded() -> None:
    assert "polars" in loaded("import polars")
