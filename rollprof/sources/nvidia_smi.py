"""nvidia-smi's own logs: `--query-gpu=... --format=csv` with or without header and units, and `dmon`.

Times are local, without a zone, and read as UTC. `dmon` prints a clock only with `-o T` or `-o DT`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import damage_of, open_bytes
from rollprof.sources.prefixes import clock
from rollprof.sources.records import GpuSample, SniffedFile
from rollprof.sources.splitting import TOO_LONG, physical_lines

QUERY, DMON = "query", "dmon"

_STAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)?$")
_HEADER = re.compile(r"(?:^|, ?)(?:utilization\.gpu|memory\.used|power\.draw)(?: \[|,|$|\.)")
_DMON = re.compile(r"#\s*(?:Date\s+Time\s+|Time\s+)?gpu\s+\w")
_UUID = re.compile(r"GPU-[0-9a-fA-F-]{8,}$")
_PCI = re.compile(r"[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]$")
_ABSENT = ("[n/a]", "n/a", "[not supported]", "[unknown error]", "-", "", "[insufficient permissions]")
_MIB = 1.048576
"""MB in a MiB."""
_DAY = 86400.0

NAMES = {
    "timestamp": "time",
    "index": "gpu",
    "uuid": "gpu_uuid",
    "gpu_uuid": "gpu_uuid",
    "pci.bus_id": "gpu_bus",
    "gpu_bus_id": "gpu_bus",
    "utilization.gpu": "utilization",
    "memory.used": "memory",
    "power.draw": "power",
    "power.draw.instant": "power",
    "power.draw.average": "power",
}


def form_of(file: SniffedFile) -> str | None:
    """`query` or `dmon` where this is one of the two."""
    if file.kind != "text":
        return None
    for line in file.head.decode("utf-8", "replace").splitlines()[:64]:
        text = line.strip()
        if _DMON.match(text):
            return DMON
        cells = [c.strip() for c in text.split(",")]
        if len(cells) > 1 and (_HEADER.search(text.lower()) or (_stamps(cells) and _bare(cells))):
            return QUERY
    return None


def read_nvidia_smi(file: SniffedFile, form: str, ledger: Ledger) -> Iterator[GpuSample]:
    """The samples of a log in its order. A line that is neither a sample nor a header is skipped."""
    rows = _Query(file, ledger) if form == QUERY else _Dmon(file)
    with open_bytes(file.path, file.compression) as stream:
        for offset, raw, _ in physical_lines(stream):
            if raw is None:
                ledger.skip(file.name, offset, TOO_LONG)
                continue
            text = raw.decode("utf-8", "replace").replace("\0", "").strip("\r \t\ufeff")
            if not text:
                ledger.read += 1
                continue
            found = rows.take(text)
            if isinstance(found, str):
                ledger.skip(file.name, offset, found)
            else:
                ledger.read += 1
                yield from found
        damage = damage_of(stream)
        if damage is not None:
            ledger.note(file.name, offset, damage)


class _Query:
    def __init__(self, file: SniffedFile, ledger: Ledger) -> None:
        self._columns: list[str] = []
        self._ledger, self._file = ledger, file
        self._bare = False

    def take(self, text: str) -> list[GpuSample] | str:
        cells = [c.strip() for c in text.split(",")]
        if _HEADER.search(text.lower()) and not _stamps(cells):
            names = [c.partition(" [")[0].strip().lower() for c in cells]
            self._columns = [NAMES.get(n, "") for n in names]
            return []
        if not self._columns and _bare(cells):
            self._columns = _bare(cells)
            self._ledger.note(
                self._file.name, 0, "no header: columns are told by their time, unit and form of value"
            )
        if not self._columns or len(cells) != len(self._columns):
            return "a damaged row"
        row = {c: v for c, v in zip(self._columns, cells, strict=True) if c}
        time = clock(row["time"].replace("/", "-")) if "time" in row else None
        if time is None:
            return (
                "a row without a time"
                if "time" in row
                else "no timestamp column: add timestamp to --query-gpu"
            )
        used, memory, power = (_value(row.get(c, "")) for c in ("utilization", "memory", "power"))
        if used is not None and not 0 <= used <= 100:
            return "a utilisation beyond 0 to 100 %"
        gpu = next((row[c] for c in ("gpu", "gpu_uuid", "gpu_bus") if c in row), "0")
        share = None if used is None else used / 100
        return [GpuSample(time, "", gpu, share, None if memory is None else memory * _MIB, power)]


class _Dmon:
    def __init__(self, file: SniffedFile) -> None:
        self._columns: list[str] = []
        self._near = Path(file.path).stat().st_mtime
        self._day: float | None = None

    def take(self, text: str) -> list[GpuSample] | str:
        if text.startswith("#"):
            names = text.lstrip("# ").split()
            if "gpu" in [n.lower() for n in names]:
                self._columns = [n.lower() for n in names]
            return []
        cells = text.split()
        if not self._columns or len(cells) != len(self._columns):
            return "a damaged row"
        row = dict(zip(self._columns, cells, strict=True))
        time = self._time(row)
        if time is None:
            return "no time: dmon prints one with -o DT"
        used, power = _value(row.get("sm", "")), _value(row.get("pwr", ""))
        memory = _value(row.get("fb", ""))
        share = None if used is None or not 0 <= used <= 100 else used / 100
        return [GpuSample(time, "", row["gpu"], share, None if memory is None else memory * _MIB, power)]

    def _time(self, row: dict[str, str]) -> float | None:
        if "time" not in row:
            return None
        date, moment = row.get("date", ""), row["time"]
        if len(date) == 8 and date.isdigit():
            return clock(f"{date[:4]}-{date[4:6]}-{date[6:]} {moment}")
        day = datetime.fromtimestamp(self._near, UTC).strftime("%Y-%m-%d")
        time = clock(f"{day} {moment}")
        if time is None:
            return None
        if self._day is None:
            time -= _DAY if time > self._near + 60 else 0.0
        elif time < self._day - _DAY / 2:
            time += _DAY * round((self._day - time) / _DAY)
        self._day = time
        return time


def _stamps(cells: Sequence[str]) -> bool:
    return any(_STAMP.match(c) for c in cells)


def _bare(cells: Sequence[str]) -> list[str]:
    """Columns of a row without a header, told by form; empty where a time or a utilisation is not found.

    The first percentage is the GPU's utilisation (the order in which nvidia-smi's help names them), the first
    memory with a unit what is used; values without units say nothing of themselves.
    """
    columns: list[str] = []
    for c in cells:
        kind = ""
        if _STAMP.match(c):
            kind = "time"
        elif _UUID.match(c):
            kind = "gpu_uuid"
        elif _PCI.match(c):
            kind = "gpu_bus"
        elif c.endswith("%"):
            kind = "utilization"
        elif c.endswith(" W"):
            kind = "power"
        elif c.isdigit() and len(c) <= 3:
            kind = "gpu"
        columns.append(kind if kind not in columns else "")
    return columns if "time" in columns and "utilization" in columns else []


def _value(text: str) -> float | None:
    """The number of a cell, without its unit; None where nvidia-smi has none."""
    if text.lower() in _ABSENT:
        return None
    number = text.split()[0].rstrip("%")
    try:
        found = float(number)
    except ValueError:
        return None
    return found if found == found else None
