"""Wall time and peak memory of a command with all its child processes, from Linux's own books."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PERIOD_S = 0.05


@dataclass(frozen=True)
class Usage:
    """`seconds` of wall time; `peak_pss_mb`: largest sum over all processes at one moment, 10^6 bytes;
    `cpu_s`: seconds of processor time of all of them.

    Proportional set size counts a page shared by n processes once in total, unlike resident size. None
    where the system does not tell.
    """

    seconds: float
    peak_pss_mb: float | None
    cpu_s: float = 0.0


def measure(command: Sequence[str]) -> Usage:
    """Run `command` to its end; raises CalledProcessError when it fails."""
    before = _cpu_of_children()
    started = time.perf_counter()
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # as users run it
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=plain) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, sum(_pss(pid) for pid in _family(process.pid)))
            time.sleep(PERIOD_S)
        seconds = time.perf_counter() - started
        errors = process.stderr.read().decode() if process.stderr else ""
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, stderr=errors)
    return Usage(seconds, peak / 1e6 if peak else None, _cpu_of_children() - before)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = [
            int(child)
            for path in Path(f"/proc/{pid}/task").glob("*/children")
            for child in path.read_text().split()
        ]
    except OSError:  # it has just ended
        return
    for child in children:
        yield from _family(child)


def _pss(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * 1024
