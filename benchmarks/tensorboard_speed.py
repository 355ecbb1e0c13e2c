"""How fast TensorBoard scalars are read: rollprof's reader beside TensorBoard's own, in the same run.

    python benchmarks/tensorboard_speed.py --scalars 200000 --tensorboard-python VENV/bin/python

TensorBoard (`pip install tensorboard`) stands in an environment of its own: rollprof does not depend on it.
Without `--tensorboard-python`, it is looked for in the environment that runs this. Each reader reads the file
in a process of its own, by turns, and the CPU seconds that it took for the reading alone are compared. Both
must have seen the same points.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

TAGS = 40

OURS = """
import json, sys, time, zlib
from rollprof.schema.ledger import Ledger
from rollprof.sources.sniffing import sniff
from rollprof.sources.tfevents import read_events
file = sniff(sys.argv[1], "events")
start = time.process_time()
records = read_events(file, Ledger())[0].records
spent = time.process_time() - start
points = sorted((r.key, r.step, r.value, r.time) for r in records)
print(json.dumps([spent, len(points), zlib.crc32(repr(points).encode())]))
"""

THEIRS = """
import json, sys, time, zlib
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
start = time.process_time()
found = []
for event in EventFileLoader(sys.argv[1]).Load():
    for value in event.summary.value:
        found.append((value.tag, event.step, value.tensor.float_val[0], event.wall_time))
spent = time.process_time() - start
print(json.dumps([spent, len(found), zlib.crc32(repr(sorted(found)).encode())]))
"""


def varint(number: int) -> bytes:
    """A number as protocol buffers write it."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def masked_crc(data: bytes, table: list[int]) -> bytes:
    """TFRecord's checksum: CRC32C, rotated and shifted."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc_table() -> list[int]:
    """CRC32C of each byte."""
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


def make_events(path: Path, scalars: int, *, start: float = 1.79e9) -> None:
    """An event file as PyTorch's SummaryWriter writes it: one event per scalar, checksums included."""
    table = crc_table()

    def record(payload: bytes) -> bytes:
        size = struct.pack("<Q", len(payload))
        return size + masked_crc(size, table) + payload + masked_crc(payload, table)

    with path.open("wb") as file:
        file.write(record(b"\x09" + struct.pack("<d", start) + b"\x1a\x0dbrain.Event:2"))
        for i in range(scalars):
            step, tag = i // TAGS + 1, f"train/metric_group/name_of_metric_{i % TAGS}".encode()
            value = b"\x0a" + varint(len(tag)) + tag + b"\x15" + struct.pack("<f", (i * 7919 % 10007) / 97)
            summary = b"\x0a" + varint(len(value)) + value
            event = b"\x09" + struct.pack("<d", start + i / 100) + b"\x10" + varint(step)
            file.write(record(event + b"\x2a" + varint(len(summary)) + summary))


def read(python: str, code: str, path: Path) -> tuple[float, int, int]:
    """(CPU seconds, points, checksum of all points) of one reader."""
    done = subprocess.run([python, "-c", code, str(path)], check=True, capture_output=True, text=True)
    seconds, points, checksum = json.loads(done.stdout.splitlines()[-1])
    return seconds, points, checksum


def compare(path: Path, tensorboard_python: str, rounds: int) -> tuple[float, float]:
    """Median CPU seconds of (rollprof, EventFileLoader). Raises SystemExit where their points differ."""
    ours, theirs = [], []
    for _ in range(rounds):
        mine, other = read(sys.executable, OURS, path), read(tensorboard_python, THEIRS, path)
        if mine[1:] != other[1:]:
            raise SystemExit(f"the readers disagree: {mine[1]} and {other[1]} points")
        ours.append(mine[0])
        theirs.append(other[0])
    return median(ours), median(theirs)


def main() -> None:
    """Print a Markdown table; exit status 1 where rollprof takes more than a tenth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scalars", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tensorboard-python", default=sys.executable)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.out.tfevents.1790000000.host.1.0"
        make_events(path, given.scalars)
        ours, theirs = compare(path, given.tensorboard_python, given.rounds)
    print(f"| {given.scalars:,} scalars | CPU seconds | ratio |\n|---|--:|--:|")
    print(f"| rollprof | {ours:.2f} | {ours / theirs:.3f} |")
    print(f"| EventFileLoader | {theirs:.2f} | 1 |")
    raise SystemExit(ours > theirs / 10)


if __name__ == "__main__":
    main()
