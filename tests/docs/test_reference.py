"""The reference pages say what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from rollprof.analyzers.registry import REGISTRY
from rollprof.schema.tables import TABLES


def test_pages_are_up_to_date(root: Path) -> None:
    command = [sys.executable, str(root / "docs" / "make_reference.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"run python docs/make_reference.py\n{done.stdout}{done.stderr}"


def test_pages_name_every_figure_and_column(root: Path) -> None:
    figures = (root / "docs" / "figures.md").read_text(encoding="utf-8")
    assert [name for name in REGISTRY if f"`{name}`" not in figures] == []
    dataset = (root / "docs" / "dataset.md").read_text(encoding="utf-8")
    assert [c.name for table in TABLES for c in table if f"| `{c.name}` |" not in dataset] == []


def test_tables_have_as_many_cells_in_every_row(root: Path) -> None:
    for page in ("figures.md", "dataset.md"):
        lines = (root / "docs" / page).read_text(encoding="utf-8").split("\n")
        width = 0
        for line in lines:
            cells = line.replace("\\|", "").count("|") if line.startswith("|") else 0
            assert not (width and cells) or cells == width, line
            width = cells


def test_every_page_of_the_index_exists(root: Path) -> None:
    for index in (
        root / "docs" / "README.md",
        root / "benchmarks" / "README.md",
        root / "sample_logs" / "README.md",
    ):
        for link in re.findall(r"\]\(([^)#]+)\)", index.read_text(encoding="utf-8")):
            assert (index.parent / link).exists(), f"{index}: {link}"
