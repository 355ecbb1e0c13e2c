"""What the README quotes is measured by tools that are themselves checked."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from statistics import fmean, median
from types import ModuleType
from xml.etree import ElementTree

import pytest

from rollprof import api


@pytest.fixture
def tool(root: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Imports a module of benchmarks/ by name."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    return importlib.import_module


def test_maker_is_deterministic_and_heavy_tailed(tool: object, tmp_path: Path) -> None:
    maker: ModuleType = tool("rollout_maker")  # type: ignore[operator]
    sizes = [maker.make(tmp_path / name, 3) for name in ("a", "b")]
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    data = {name: b"".join((tmp_path / name / f).read_bytes() for f in files) for name in ("a", "b")}
    assert data["a"] == data["b"]
    assert sizes == [len(data["a"])] * 2
    rows = [json.loads(line) for line in data["a"].decode().split("\n") if line]
    lengths = [len(row["output"]) for row in rows]
    assert len(rows) % (maker.PROMPTS * maker.SAMPLES) == 0
    assert max(lengths) == maker.CAP_CHARACTERS
    assert max(lengths) > 5 * median(lengths)
    assert fmean(row["score"] for row in rows if len(row["output"]) == maker.CAP_CHARACTERS) == 0


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is read from /proc")
def test_measure_counts_children(tool: object) -> None:
    measure: ModuleType = tool("measure")  # type: ignore[operator]
    hold = "import time; x = bytearray(60_000_000); x[::4096] = b'x' * len(x[::4096]); time.sleep(.5)"
    parent = f"import subprocess, sys; [subprocess.run([sys.executable, '-c', {hold!r}])]"
    usage = measure.measure([sys.executable, "-c", parent])
    assert usage.peak_pss_mb is not None
    assert 60 < usage.peak_pss_mb < 120
    assert 0.5 < usage.seconds < 20
    with pytest.raises(measure.subprocess.CalledProcessError):
        measure.measure([sys.executable, "-c", "raise SystemExit(3)"])


def test_table_reports_the_ratio_of_medians(tool: object) -> None:
    speed: ModuleType = tool("reader_speed")  # type: ignore[operator]
    usage = {
        speed.OURS: [speed.Usage(s, 300.0, 2 * s) for s in (4.0, 2.0, 9.0)],
        "DuckDB read_json": [speed.Usage(s, None) for s in (1.0, 3.0, 2.0)],
    }
    table = speed.section(speed.Read("of text", 100, usage)).split("\n")
    assert table[0] == "100 MB, of text:"
    assert table[4] == "| rollprof convert | 4.00 s | 8.00 s | 25 MB/s | 300 MB | 1.00 |"
    assert table[5] == "| DuckDB read_json | 2.00 s | 0.00 s | 50 MB/s | not known here | 0.50 |"


@pytest.mark.parametrize("kind", ["long", "short", "tokens"])
def test_peers_and_rollprof_read_the_same(tool: object, tmp_path: Path, kind: str) -> None:
    maker: ModuleType = tool("rollout_maker")  # type: ignore[operator]
    peers: ModuleType = tool("peers")  # type: ignore[operator]
    file = tmp_path / "dump.jsonl"
    maker.make_file(file, 0.5, kind=kind)
    rows = [json.loads(line) for line in file.read_text().split("\n") if line]
    prompts, last = len({row["input"] for row in rows}), max(row["step"] for row in rows)
    characters, score = sum(len(row["output"]) for row in rows), fmean(row["score"] for row in rows)
    for read in peers.PEERS.values():
        found = read(str(file))
        assert found[:2] == (len(rows), characters)
        assert found[2] == pytest.approx(score)
        assert found[3:] == (prompts, last)
    run = api.open_run([str(file)], options=api.OpenOptions(output=str(tmp_path / "dataset"), workers=1))
    ours = run.rollouts.collect()
    assert (ours.height, ours["response_chars"].sum(), ours["prompt_id"].n_unique()) == (
        len(rows),
        characters,
        prompts,
    )


def test_scaling_measures_every_command_and_draws_it(tool: object) -> None:
    scaling: ModuleType = tool("scaling")  # type: ignore[operator]
    found = [
        scaling.Measured(name, n, scaling.Usage(seconds * n / 1000, 200.0, seconds))
        for name, seconds in (("convert", 1.0), ("analyze", 2.0))
        for n in (1000, 10_000)
    ]
    assert (
        scaling.table(found).split("\n")[3] == "| analyze | 2.0 s (2.0 s, 200 MB) | 20.0 s (2.0 s, 200 MB) |"
    )
    svg = ElementTree.fromstring(scaling.plot(found))
    said = [e.text for e in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"1,000", "10,000", "1 s", "10 s", "convert", "analyze"} <= set(said)


def test_event_files_for_the_comparison_are_what_the_reader_sees(tool: object, tmp_path: Path) -> None:
    from rollprof.schema.ledger import Ledger
    from rollprof.sources.sinks import read_sink
    from rollprof.sources.sniffing import sniff

    speed: ModuleType = tool("tensorboard_speed")  # type: ignore[operator]
    path = tmp_path / "e"
    speed.make_events(path, 100)
    assert speed.masked_crc(b"123456789", speed.crc_table()) == 0xC78AB0E5.to_bytes(4, "little")
    ledger = Ledger()
    (run,) = read_sink(sniff(str(path), "e"), ledger)
    assert [r.step for r in run.records] == [i // speed.TAGS + 1 for i in range(100)]
    assert run.records[1].value == pytest.approx(7919 / 97, rel=1e-6)
    assert ledger.clean
    seconds, points, checksum = speed.read(sys.executable, speed.OURS, path)
    assert (points, seconds >= 0, checksum > 0) == (100, True, True)
