"""How fast `rollprof convert` reads rollout dumps, beside DuckDB's JSON reader on the same files.

    python benchmarks/convert_speed.py --mb 500

Prints a Markdown table. Both read the same dumps and write a Parquet file with the prompt hashed and the
lengths measured; they take turns, and the median of the runs counts. Absolute speeds are those of the
machine: the ratio is the figure to quote. DuckDB stops at the first damaged line; rollprof does not.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import Usage, measure
from rollout_maker import make

DUCKDB = """
import sys, duckdb
source, target = sys.argv[1:]
duckdb.sql(f'''
    COPY (SELECT step, hash(input) AS prompt_id, length(input) AS prompt_chars,
                 length(output) AS response_chars, score AS reward, acc AS correct
          FROM read_json('{source}/*.jsonl', format = 'newline_delimited', maximum_object_size = 67108864))
    TO '{target}' (FORMAT parquet, COMPRESSION zstd)''')
"""


def commands(data: Path, scratch: Path) -> dict[str, list[str]]:
    """What is timed. rollprof is run as its users run it: the console script of this interpreter."""
    rollprof = [str(Path(sys.executable).parent / "rollprof"), "convert", str(data)]
    return {
        "rollprof convert": [*rollprof, "-o", str(scratch / "dataset"), "--quiet"],
        "DuckDB read_json": [sys.executable, "-c", DUCKDB, str(data), str(scratch / "duckdb.parquet")],
    }


def table(megabytes: float, usage: dict[str, list[Usage]]) -> str:
    """A Markdown table of the medians; the ratio is to DuckDB."""
    seconds = {name: statistics.median(u.seconds for u in runs) for name, runs in usage.items()}
    lines = ["| reader | wall time | speed | peak memory (PSS) | speed ratio |", "|---|---|---|---|---|"]
    for name, runs in usage.items():
        peaks = [u.peak_pss_mb for u in runs if u.peak_pss_mb is not None]
        memory = f"{max(peaks):.0f} MB" if peaks else "not known here"
        ratio = seconds["DuckDB read_json"] / seconds[name]
        speed = megabytes / seconds[name]
        lines.append(f"| {name} | {seconds[name]:.2f} s | {speed:.0f} MB/s | {memory} | {ratio:.2f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description="Time rollprof convert beside DuckDB's read_json.")
    parser.add_argument("--mb", type=float, default=200, help="size of the dumps, 10^6 bytes (default 200)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument(
        "--data", type=Path, help="use this folder of dumps, and make them there if it is new"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        data = options.data or scratch / "rollouts"
        if not data.exists():
            make(data, options.mb)
        size = sum(path.stat().st_size for path in data.glob("*.jsonl")) / 1e6
        usage: dict[str, list[Usage]] = {}
        for _ in range(options.runs):
            for name, command in commands(data, scratch).items():
                usage.setdefault(name, []).append(measure(command))
        print(f"{size:.0f} MB of rollout dumps, {os.cpu_count()} cores, median of {options.runs}\n")
        print(table(size, usage))


if __name__ == "__main__":
    main()
