"""How fast `rollprof convert` makes a dataset of rollout dumps, beside the bare reads of benchmarks/peers.py.

They take turns on the same file, and the median counts. rollprof hashes the prompts, keeps every column and
writes Parquet besides. Absolute speeds are those of the machine: ratios are the figures to quote.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import Usage, measure
from peers import PEERS
from rollout_maker import make_file

FILES = {
    "long": ("lines of some 9 kB of text", 500),
    "short": ("lines of some 0.6 kB", 200),
    "tokens": ("lines of some 30 kB with arrays of tokens", 200),
}
OURS = "rollprof convert"
NAMES = {
    "duckdb": "DuckDB read_json",
    "polars_scan": "polars scan_ndjson, streaming",
    "polars_read": "polars read_ndjson",
    "pandas": "pandas read_json",
}


def commands(file: Path, scratch: Path) -> dict[str, list[str]]:
    """What is timed, by name. rollprof runs as its users run it."""
    convert = [
        sys.executable,
        "-m",
        "rollprof",
        "convert",
        str(file),
        "-o",
        str(scratch / "dataset"),
        "--quiet",
    ]
    peers = str(Path(__file__).resolve().parent / "peers.py")
    return {OURS: convert} | {NAMES[p]: [sys.executable, peers, p, str(file)] for p in PEERS}


def timed(file: Path, runs: int) -> dict[str, list[Usage]]:
    """Each command's runs, by turns."""
    usage: dict[str, list[Usage]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(runs):
            for name, command in commands(file, Path(folder)).items():
                usage.setdefault(name, []).append(measure(command))
    return usage


@dataclass(frozen=True)
class Read:
    """What reading one kind of file took, by command."""

    words: str
    megabytes: float
    usage: Mapping[str, Sequence[Usage]]

    def seconds(self, name: str) -> float:
        """The median of its runs."""
        return statistics.median(u.seconds for u in self.usage[name])

    def memory(self, name: str) -> str:
        """The largest peak of its runs."""
        peaks = [u.peak_pss_mb for u in self.usage[name] if u.peak_pss_mb is not None]
        return f"{max(peaks):.0f} MB" if peaks else "not known here"


def section(read: Read) -> str:
    """A Markdown table of the medians; the ratio is how many times as long as rollprof takes."""
    heads = ("", "wall time", "processor time", "speed", "peak memory", "time to ours")
    lines = [
        f"{read.megabytes:.0f} MB, {read.words}:",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for name, runs in read.usage.items():
        wall = read.seconds(name)
        cpu = statistics.median(u.cpu_s for u in runs)
        speed, ratio = f"{read.megabytes / wall:.0f} MB/s", f"{wall / read.seconds(OURS):.2f}"
        lines.append(f"| {name} | {wall:.2f} s | {cpu:.2f} s | {speed} | {read.memory(name)} | {ratio} |")
    return "\n".join(lines) + "\n"


def measured(runs: int = 3, share: float = 1.0) -> list[Read]:
    """All three kinds of file; `share` of the full sizes."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, (words, megabytes) in FILES.items():
            file = Path(folder) / f"{kind}.jsonl"
            size = make_file(file, megabytes * share, kind=kind) / 1e6
            found.append(Read(words, size, timed(file, runs)))
            file.unlink()
    return found
