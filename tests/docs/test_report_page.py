"""The examples of the report's page run as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from rollprof.render.report.model import Section


def page(root: Path) -> str:
    return (root / "docs" / "report.md").read_text(encoding="utf-8")


def test_the_examples_run(root: Path, tmp_path: Path) -> None:
    (tmp_path / "sample_logs").mkdir()
    shutil.copy(root / "sample_logs" / "straggler_512.jsonl", tmp_path / "sample_logs")
    blocks = re.findall(r"^```python\n(.*?)^```", page(root), re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_its_picture_is_there_and_small(root: Path) -> None:
    picture = root / "docs" / "images" / "report.png"
    assert "images/report.png" in page(root)
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert picture.stat().st_size < 400_000


def test_it_names_the_sections(root: Path) -> None:
    from rollprof.render.report import (
        against,
        honesty,
        in_flight,
        lengths,
        phases,
        prompts,
        waiting,
        what_if,
    )

    titles = set()
    for module in (against, honesty, in_flight, lengths, phases, prompts, waiting, what_if):
        source = Path(module.__file__ or "").read_text(encoding="utf-8")
        titles |= set(re.findall(r'Section\(\s*"[a-z-]+",\s*"([^"]+)"', source))
    assert len(titles) >= 10
    assert {t.split(",")[0] for t in titles} <= set(re.findall(r"^\| ([^|]+?) \|", page(root), re.MULTILINE))
    assert Section.__doc__
