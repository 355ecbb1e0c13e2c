"""Time and memory of every command on ten thousand to ten million rollouts: a table and a plot."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measure import Usage, measure

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
PER_STEP, PER_PROMPT = 1000, 8
CAP = 8192
COMMANDS: Mapping[str, Sequence[str]] = {
    "analyze": (),
    "report --html": ("--html", "--force"),
    "check": ("--max-idle", "0.99"),
    "whatif": (),
}
"""After the dataset is made: what each is called with besides it."""


def make_table(file: Path, rollouts: int, seed: int = 0) -> None:
    """A Parquet file of rollouts, one row group per step: lognormal lengths that follow their prompt, a cap,
    rewards, and the step's times."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed)
    groups = PER_STEP // PER_PROMPT
    writer = None
    for step in range(1, max(1, rollouts // PER_STEP) + 1):
        prompt = np.repeat(rng.integers(0, 20 * groups, groups), PER_PROMPT)
        hard = np.repeat(rng.random(groups), PER_PROMPT)
        length = np.exp(5.5 + hard + rng.normal(0, 0.6, PER_STEP)).astype(np.int32).clip(1, CAP)
        seconds = 2 + 0.01 * float(length.max()) * (1 + 0.02 * rng.normal())
        columns = {
            "step": np.full(PER_STEP, step),
            "prompt_id": prompt,
            "response_tokens": length,
            "reward": (rng.random(PER_STEP) > hard).astype(float),
            "generate_s": np.full(PER_STEP, seconds),
            "step_s": np.full(PER_STEP, 1.5 * seconds),
            "gpus": np.full(PER_STEP, 8),
        }
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


@dataclass(frozen=True)
class Measured:
    """One command on one size."""

    command: str
    rollouts: int
    usage: Usage


def measured(sizes: Sequence[int] = SIZES) -> list[Measured]:
    """Every command on every size, and the conversion before it."""
    found = []
    for rollouts in sizes:
        with tempfile.TemporaryDirectory() as folder:
            source, dataset = Path(folder) / "rollouts.parquet", str(Path(folder) / "dataset")
            make_table(source, rollouts)
            rollprof = [sys.executable, "-m", "rollprof"]
            convert = [*rollprof, "convert", str(source), "-o", dataset, "--quiet"]
            found.append(Measured("convert", rollouts, measure(convert)))
            for name, options in COMMANDS.items():
                page = ("-o", str(Path(folder) / "report.html")) if "--html" in options else ()
                command = [*rollprof, name.split()[0], dataset, *options, *page, "--quiet"]
                found.append(Measured(name, rollouts, measure(command)))
    return found


def table(found: Sequence[Measured]) -> str:
    """A Markdown table: wall time, processor time and peak memory by size and command."""
    sizes = sorted({m.rollouts for m in found})
    lines = ["| | " + " | ".join(f"{n:,} rollouts" for n in sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
    for name in dict.fromkeys(m.command for m in found):
        cells = []
        for n in sizes:
            (one,) = (m.usage for m in found if (m.command, m.rollouts) == (name, n))
            peak = "" if one.peak_pss_mb is None else f", {one.peak_pss_mb:.0f} MB"
            cells.append(f"{one.seconds:.1f} s ({one.cpu_s:.1f} s{peak})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


COLOURS = ("#3c5a73", "#c2410c", "#87a0b8", "#8a8270", "#2f855a")
WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT, TOP = 640, 360, 60, 40, 110, 16


def plot(found: Sequence[Measured]) -> str:
    """An SVG with both axes in powers of ten; a dashed line shows what is linear in rollouts."""
    x = [math.log10(m.rollouts) for m in found]
    y = [math.log10(max(m.usage.seconds, 0.1)) for m in found]
    low, high = math.floor(min(y)), math.ceil(max(y))

    def at(rollouts: float, seconds: float) -> tuple[float, float]:
        across = (math.log10(rollouts) - min(x)) / max(max(x) - min(x), 1e-9)
        up = (math.log10(max(seconds, 0.1)) - low) / (high - low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    text = '<text x="{:.0f}" y="{:.0f}" font-size="12" text-anchor="{}" fill="{}">{}</text>'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        "<title>Wall time of each command against the number of rollouts</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
    ]
    for power in range(low, high + 1):
        left, level = at(10 ** min(x), 10**power)
        parts.append(f'<path d="M{left:.0f} {level:.0f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(text.format(left - 6, level + 4, "end", "#555", f"{10.0**power:g} s"))
    for rollouts in sorted({m.rollouts for m in found}):
        across, _ = at(rollouts, 1)
        parts.append(text.format(across, HEIGHT - BOTTOM + 18, "middle", "#555", f"{rollouts:,}"))
    start, end = 10 ** max(x) * 10 ** (low - high + 1), 10 ** max(x)
    (x1, y1), (x2, y2) = (
        at(max(start, 10 ** min(x)), 10 ** (high - 1) * max(start, 10 ** min(x)) / end),
        at(end, 10 ** (high - 1)),
    )
    parts.append(f'<path d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" stroke="#999" stroke-dasharray="4 4"/>')
    taken: list[float] = []
    for name, colour in zip(dict.fromkeys(m.command for m in found), COLOURS, strict=False):
        points = [at(m.rollouts, m.usage.seconds) for m in found if m.command == name]
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        level = points[-1][1] + 4
        while any(abs(level - other) < 14 for other in taken):
            level += 2
        taken.append(level)
        parts.append(text.format(points[-1][0] + 8, level, "start", colour, name))
    return "\n".join([*parts, "</svg>"]) + "\n"
