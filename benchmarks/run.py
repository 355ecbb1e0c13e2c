"""Every number of docs/performance.md, by one command.

    python benchmarks/run.py            # the tables, to standard output
    python benchmarks/run.py --write    # also docs/performance.md, its plot, and the table in README.md

Needs the `dev` extra, 6 GB of disk and about a quarter of an hour; `--share 0.1` tries it with a tenth.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import memory
import reader_speed
import scaling

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- performance:begin -->", "<!-- performance:end -->"
PLOT = ROOT / "docs" / "images" / "scaling.svg"
PACKAGES = ("rollprof", "polars", "pyarrow", "msgspec", "duckdb", "pandas")

TEXT = """<!-- Written by benchmarks/run.py; run it again instead of editing. -->

# Performance

{machine}. Times are of whole processes, interpreter and imports included; memory is the proportional set size
summed over all processes. Compare ratios: they were taken by turns on the same machine.

## From JSON lines to a dataset

`rollprof convert` reads, mends, hashes, measures and writes Parquet; the others only read, and stop at the
first damaged line.

{readers}
## Memory does not grow with the dump

{memory}
## From ten thousand to ten million rollouts

Wall time (processor time, peak memory). `whatif` replays a stated sample of steps of a long run.

{scaling}

![Wall time of each command against the number of rollouts, on two logarithmic axes](images/scaling.svg)
"""


def machine() -> str:
    """Processor, cores, Python and the packages' versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name or platform.machine()}, {cores} cores; Python {platform.python_version()}, {packages}"


def short(readers: Sequence[reader_speed.Read], found: Sequence[scaling.Measured]) -> str:
    """What the README says of it: a dump beside its peers, and what a long run takes."""
    long = readers[0]
    lines = [f"| {long.megabytes:.0f} MB of JSON lines | wall time | peak memory |", "|---|---|---|"]
    names = (reader_speed.OURS, "DuckDB read_json", "polars read_ndjson", "pandas read_json")
    lines += [f"| {name} | {long.seconds(name):.1f} s | {long.memory(name)} |" for name in names]
    lines += ["", "| | " + " | ".join(f"{n:,} rollouts" for n in sizes_of(found)) + " |"]
    lines.append("|---" * (len(sizes_of(found)) + 1) + "|")
    for command in ("analyze", "report --html", "whatif"):
        times = [m.usage.seconds for m in found if m.command == command]
        lines.append(f"| {command} | " + " | ".join(f"{t:.1f} s" for t in times) + " |")
    return "\n".join(lines)


def sizes_of(found: Sequence[scaling.Measured]) -> list[int]:
    """The sizes measured, small to large."""
    return sorted({m.rollouts for m in found})


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Measure what docs/performance.md says.")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md and its plot")
    parser.add_argument("--runs", type=int, default=3, help="runs of each reader (default 3)")
    parser.add_argument("--share", type=float, default=1.0, help="share of the full sizes (default 1)")
    options = parser.parse_args(arguments)
    sizes = sorted({max(1000, int(n * options.share)) for n in scaling.SIZES})
    found = scaling.measured(sizes)
    readers = reader_speed.measured(options.runs, options.share)
    page = TEXT.format(
        machine=machine(),
        readers="\n".join(map(reader_speed.section, readers)),
        memory=memory.section(options.share),
        scaling=scaling.table(found),
    )
    sys.stdout.write(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
        PLOT.write_text(scaling.plot(found), encoding="utf-8")
        before, rest = README.read_text(encoding="utf-8").split(BEGIN)
        after = rest.split(END)[1]
        README.write_text(f"{before}{BEGIN}\n{short(readers, found)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
