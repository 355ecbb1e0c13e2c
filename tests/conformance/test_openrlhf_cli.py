"""OpenRLHF's own command line writes a log, and the adapter reads from it what it prints.

Needs an environment with OpenRLHF (sample_logs/make_openrlhf.py says how to make one), named by
ROLLPROF_OPENRLHF_PYTHON: torch and Ray are too heavy to bring for every run. Three minutes per mode.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rollprof.adapters.openrlhf import ADAPTER
from rollprof.assemble import merge
from rollprof.schema.ledger import Ledger
from rollprof.sources.tree import sniff

pytestmark = [pytest.mark.conformance, pytest.mark.slow]

STEPS = 4


@pytest.fixture(scope="module")
def python() -> str:
    found = os.environ.get("ROLLPROF_OPENRLHF_PYTHON")
    if not found:
        pytest.skip("no environment with OpenRLHF (set ROLLPROF_OPENRLHF_PYTHON)")
    return found


@pytest.mark.parametrize("mode", ["sync", "filter", "async", "partial"])
def test_reads_its_own_log(root: Path, tmp_path: Path, python: str, mode: str) -> None:
    made = str(root / "sample_logs" / "make_openrlhf.py")
    command = [python, made, "--mode", mode, "--steps", str(STEPS), "--out", str(tmp_path)]
    subprocess.run(command, check=True, timeout=1500)
    file, ledger = sniff(str(tmp_path / "train.log"), "train.log"), Ledger()
    claim = ADAPTER.claim(file)
    assert claim is not None
    (part,) = ADAPTER.read(file, claim, ledger)
    merged = merge.merge([part])
    reading = ADAPTER.interpret(merge.evidence(merged, {}, {}))
    rows: dict[int, dict[str, Any]] = {r["step"]: dict(r) for r in reading.steps if r["split"] == "train"}
    assert rows
    asynchronous = mode in ("async", "partial")
    assert reading.facts["mode"].value == ("async" if asynchronous else "sync")
    for step, row in rows.items():
        values = merged.metrics[step]
        assert row["generate_s"] == values["timing/generation"]
        assert row["response_tokens_mean"] == values["rollout/response_length_mean"]
        if "group_s_max" in row:
            assert 0 <= row["generate_s"] - row["group_s_max"] < 1.5
    assert any("group_s_max" in row for row in rows.values())
    assert ("buffered_steps" in reading.facts) == (mode == "partial")
    assert ("sampling_pass_rate" in reading.facts) == (mode == "filter")
