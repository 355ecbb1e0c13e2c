"""Logs of nvidia-smi in all their forms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rollprof.adapters import registry
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import GpuSample
from rollprof.sources.sniffing import sniff

T0 = datetime(2024, 9, 8, 13, 3, 31, 500000, tzinfo=UTC).timestamp()
STAMP = "2024/09/08 13:03:31.500"


def read(path: Path, lines: Sequence[str]) -> tuple[list[GpuSample], Ledger]:
    path.write_text("".join(f"{line}\n" for line in lines))
    os.utime(path, (T0 + 60, T0 + 60))
    file, adapter, ledger = sniff(str(path), path.name), registry.load("nvidia_smi"), Ledger()
    claim = adapter.claim(file)
    assert claim is not None
    (part,) = adapter.read(file, claim, ledger)
    assert part.hints["engine.local_clock"] == "1"
    return part.gpus, ledger


TAIL = "utilization.gpu [%], memory.used [MiB], power.draw [W]"


@pytest.mark.parametrize(
    ("header", "row", "gpu"),
    [
        (f"index, timestamp, {TAIL}", f"3, {STAMP}, 35 %, 1000 MiB, 70.5 W", "3"),
        (f"timestamp, uuid, {TAIL}", f"{STAMP}, GPU-abc, 35 %, 1000 MiB, 70.5 W", "GPU-abc"),
        (f"timestamp, {TAIL.replace('draw', 'draw.instant')}", f"{STAMP}, 35 %, 1000 MiB, 70.5 W", "0"),
        (f"timestamp, pci.bus_id, {TAIL}", f"{STAMP}, 00000000:31:00.0, 35, 1000, 70.5", "00000000:31:00.0"),
    ],
)
def test_every_header(tmp_path: Path, header: str, row: str, gpu: str) -> None:
    (sample,), ledger = read(tmp_path / "gpu.csv", [header, row])
    assert sample == (pytest.approx(T0), "", gpu, 0.35, pytest.approx(1048.576), 70.5)
    assert (ledger.read, ledger.skipped) == (2, 0)


def test_no_header_is_told_by_form_and_said(tmp_path: Path) -> None:
    (sample,), ledger = read(tmp_path / "gpu.csv", [f"{STAMP}, 1, 35 %, 70.5 W"])
    assert sample == (pytest.approx(T0), "", "1", 0.35, None, 70.5)
    assert ledger.notes == 1


def test_a_header_again_and_values_that_are_not_there(tmp_path: Path) -> None:
    header = "index, timestamp, utilization.gpu [%], power.draw [W]"
    rows = [f"0, {STAMP}, [N/A], [Not Supported]", header, f"0, {STAMP}, 5 %, 60 W"]
    samples, ledger = read(tmp_path / "gpu.csv", [header, *rows])
    assert [(s.utilization, s.power_w) for s in samples] == [(None, None), (0.05, 60.0)]
    assert ledger.skipped == 0


def test_damaged_rows_are_skipped(tmp_path: Path) -> None:
    rows = [f"0, {STAMP}, 5 %", "0, 2024/09/08 13:0", f"0, {STAMP}, 700 %", "0, soon, 5 %"]
    samples, ledger = read(tmp_path / "gpu.csv", ["index, timestamp, utilization.gpu [%]", *rows])
    assert len(samples) == 1
    assert ledger.skipped == 3


def test_dmon_with_date_and_time(tmp_path: Path) -> None:
    lines = [
        "#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem",
        "#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %",
        " 20240908   13:03:31      0     70     40      -     35      2",
        " 20240908   13:03:31      1      -     40      -      -      2",
    ]
    samples, ledger = read(tmp_path / "dmon.log", lines)
    assert [(s.time, s.gpu, s.utilization, s.power_w) for s in samples] == [
        (T0 - 0.5, "0", 0.35, 70.0),
        (T0 - 0.5, "1", None, None),
    ]
    assert ledger.skipped == 0


def test_dmon_without_a_clock_says_what_would_bring_one(tmp_path: Path) -> None:
    samples, ledger = read(
        tmp_path / "dmon.log", ["# gpu    pwr     sm", "# Idx      W      %", "    0     70     35"]
    )
    assert samples == []
    assert "-o DT" in ledger.problems[0].reason


def test_dmon_with_a_time_alone_runs_past_midnight(tmp_path: Path) -> None:
    lines = [
        "#Time        gpu     sm",
        "#HH:MM:SS    Idx      %",
        " 23:59:59      0      1",
        " 00:00:01      0      1",
    ]
    samples, _ = read(tmp_path / "dmon.log", lines)
    assert samples[1].time - samples[0].time == 2


@pytest.mark.parametrize(
    ("name", "rows"), [("nvidia_smi_query_1s.csv", 8), ("nvidia_smi_query_index_5s.csv", 5)]
)
def test_logs_found_in_public(corpus: Path, name: str, rows: int) -> None:
    file, adapter, ledger = sniff(str(corpus / "other" / name), name), registry.load("nvidia_smi"), Ledger()
    claim = adapter.claim(file)
    assert claim is not None
    (part,) = adapter.read(file, claim, ledger)
    assert (len(part.gpus), ledger.skipped) == (rows, 0)
