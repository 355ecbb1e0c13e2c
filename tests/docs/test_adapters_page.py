"""The adapter that the documentation shows works as it stands, from a package of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def packages(root: Path, tmp_path: Path) -> Path:
    """A folder of packages that holds the page's adapter, with the metadata that installing would write."""
    text = (root / "docs" / "adapters.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (entry,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    group, target = re.search(r'entry-points\."(.+?)"\]\nmyrl = "(.+?)"', entry).groups()  # type: ignore[union-attr]
    folder = tmp_path / "packages"
    module = folder.joinpath(*target.split(":")[0].split(".")).with_suffix(".py")
    module.parent.mkdir(parents=True)
    module.write_text(code, encoding="utf-8")
    info = folder / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nmyrl = {target}\n")
    return folder


def row(question: str, tokens: object, seconds: float) -> dict[str, object]:
    times = {"t0": 1781427600.0, "t1": 1781427600.0 + seconds}
    return {"iter": 1, "question": question, "n_tok": tokens, **times, "score": 1.0}


def test_the_shown_adapter_reads_a_run(packages: Path, tmp_path: Path) -> None:
    rows = [row("a", 10, 1.0), row("a", 40, 4.0), row("b", "?", 4.0)]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    command = [str(Path(sys.executable).parent / "rollprof"), "analyze", "run.jsonl", "--json"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(packages)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["run"]["framework"] == "myrl"
    assert found["run"]["rollouts"] == 2
    assert found["steps"][0]["response_tokens_max"] == 40
    assert (found["ledger"]["read"], found["ledger"]["skipped"]) == (2, 1)
    assert any("n_tok is not a whole number" in p["reason"] for p in found["ledger"]["problems"])
    # 2 slots for 4 s, of which 1 s + 4 s were used
    assert found["figures"]["slot_idle"]["value"] == pytest.approx(1 - 5 / 8)
    assert found["figures"]["slot_idle"]["basis"] == "measured"
