"""Peak memory of `rollprof convert`, summed over all its processes, as the dump grows."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from measure import measure
from rollout_maker import make_file

SIZES = (100, 500, 1000, 4000)


def section(share: float = 1.0) -> str:
    """A Markdown table: size of the dump, time and peak memory."""
    lines = ["| dump | wall time | peak memory |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in SIZES:
            file = Path(folder) / "dump.jsonl"
            size = make_file(file, megabytes * share) / 1e6
            target = str(Path(folder) / "dataset")
            command = [sys.executable, "-m", "rollprof", "convert", str(file), "-o", target, "--quiet"]
            used = measure(command)
            peak = "not known here" if used.peak_pss_mb is None else f"{used.peak_pss_mb:.0f} MB"
            lines.append(f"| {size:,.0f} MB | {used.seconds:.1f} s | {peak} |")
            file.unlink()
    return "\n".join(lines) + "\n"
