"""trackio's and mlflow's databases, mlflow's file store, exports of a wandb history."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import fingerprint
from rollprof.sources.records import GpuSample
from rollprof.sources.sinks import read_sink, sink_of
from rollprof.sources.sniffing import sniff
from rollprof.sources.tree import find_files

STAMP = "2026-11-30T20:59:22.750000+00:00"
EPOCH = 1796072362.75


def trackio(path: Path, *, wal: bool = False) -> sqlite3.Connection:
    """A project with two runs; with `wal`, all rows stand in the write-ahead log of an open database."""
    db = sqlite3.connect(path)
    if wal:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute(
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, "
        "step INTEGER, metrics TEXT)"
    )
    db.execute("CREATE TABLE configs (run_id TEXT, run_name TEXT, config TEXT)")
    db.execute("CREATE TABLE system_metrics (run_id TEXT, timestamp TEXT, metrics TEXT)")
    for i, (run, values) in enumerate(
        [
            ("r1", '{"train/loss": 0.5, "lens": [1, 2], "up": "NaN"}'),
            ("r2", '{"train/loss": 0.25}'),
            ("r1", "not json"),
            ("r1", '{"train/loss": 0.125, "done": true}'),
        ]
    ):
        held = values.encode() if i == 0 else values
        db.execute("INSERT INTO metrics VALUES (?,?,?,?,?,?)", (i + 1, run, STAMP, f"name-{run}", i, held))
    db.execute("INSERT INTO configs VALUES ('r1', 'name-r1', ?)", (json.dumps({"n": 8, "hf_token": "x"}),))
    gpu = json.dumps({"gpu/0/utilization": 50.0, "cpu/utilization": 3.0})
    db.execute("INSERT INTO system_metrics VALUES ('r1', ?, ?)", (STAMP, gpu))
    db.commit()
    return db


def test_trackio_s_runs_in_order_with_settings_and_gpus(tmp_path: Path) -> None:
    trackio(tmp_path / "p.db").close()
    file = sniff(str(tmp_path / "p.db"), "p.db")
    assert sink_of(file) == "trackio"
    ledger = Ledger()
    one, two = read_sink(file, ledger)
    assert (one.run_id, one.name, one.own_steps) == ("trackio:r1", "name-r1", True)
    assert [(r.step, r.key, r.time) for r in one.records] == [
        (0, "train/loss", EPOCH),
        (0, "up", EPOCH),
        (3, "train/loss", EPOCH),
        (3, "done", EPOCH),
    ]
    assert math.isnan(one.records[1].value)
    assert one.config == {"n": 8}
    assert one.gpus == [GpuSample(EPOCH, "", "0", 0.5, None, None)]
    assert [r.value for r in two.records] == [0.25]
    assert ledger.skipped == 1


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_rows_in_the_write_ahead_log_of_a_read_only_folder_are_read(tmp_path: Path) -> None:
    alive = trackio(tmp_path / "alive.db", wal=True)
    folder = tmp_path / "copied"
    folder.mkdir()
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(tmp_path / f"alive.db{suffix}", folder / f"p.db{suffix}")
    alive.close()
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    folder.chmod(0o555)
    try:
        (file,) = find_files([str(folder)])  # the log and its index are no files of their own
        assert [len(run.records) for run in read_sink(file, Ledger())] == [4, 1]
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    finally:
        folder.chmod(0o755)


def test_a_growing_log_beside_a_database_changes_its_fingerprint(tmp_path: Path) -> None:
    (tmp_path / "p.db").write_bytes(b"x")
    before = fingerprint(str(tmp_path / "p.db"))
    (tmp_path / "p.db-wal").write_bytes(b"more")
    assert fingerprint(str(tmp_path / "p.db")) != before


def test_a_damaged_database_is_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    trackio(tmp_path / "p.db").close()
    data = (tmp_path / "p.db").read_bytes()
    (tmp_path / "p.db").write_bytes(data[:100] + b"\xaa" * 5000)
    file = sniff(str(tmp_path / "p.db"), "p.db")
    assert sink_of(file) is None
    assert "unreadable database" in file.metadata["problem"]


def test_mlflow_s_database(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "mlflow.db")
    db.execute(
        "CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER, "
        "is_nan INTEGER)"
    )
    db.execute("CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT)")
    db.execute("CREATE TABLE runs (run_uuid TEXT, name TEXT)")
    rows = [
        ("loss", 0.5, 2000, "u1", 2, 0),
        ("loss", 0.75, 1000, "u1", 1, 0),
        ("bad", 0.0, 1000, "u1", 1, 1),
        ("system/gpu_0_utilization_percentage", 25.0, 1500, "u1", 0, 0),
        ("system/gpu_0_power_usage_watts", 90.0, 1500, "u1", 0, 0),
    ]
    db.executemany("INSERT INTO metrics VALUES (?,?,?,?,?,?)", rows)
    params = [
        ("n", "8"),
        ("x", "1e-3"),
        ("flag", "True"),
        ("none", "None"),
        ("word", "grpo"),
        ("api_key", "s"),
    ]
    db.executemany("INSERT INTO params VALUES (?,?,'u1')", params)
    db.execute("INSERT INTO runs VALUES ('u1', 'fast')")
    db.commit()
    db.close()
    file = sniff(str(tmp_path / "mlflow.db"), "mlflow.db")
    assert sink_of(file) == "mlflow"
    (run,) = read_sink(file, Ledger())
    assert (run.run_id, run.name) == ("mlflow:u1", "fast")
    assert [(r.step, r.key, r.time) for r in run.records] == [
        (1, "loss", 1.0),
        (1, "bad", 1.0),
        (2, "loss", 2.0),
    ]
    assert math.isnan(run.records[1].value)
    assert run.config == {"n": 8, "x": 1e-3, "flag": True, "none": None, "word": "grpo"}
    assert run.gpus == [GpuSample(1.5, "", "0", 0.25, None, 90.0)]


def store(root: Path) -> Path:
    run = root / "mlruns" / "0" / "abc123"
    for name, text in {
        "meta.yaml": "artifact_uri: file:///x\nrun_id: abc123\nrun_name: quick\nstatus: 3\n",
        "metrics/loss": "1000 0.5 1\n2000 0.25 2\n",
        "metrics/completions/mean length": "1000 7.0 1\nhalf a li\n",
        "params/num_generations": "8",
        "params/hub_token": "<HUB_TOKEN>",
        "tags/mlflow.user": "somebody",
    }.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(text)
    return run


def test_a_run_in_mlflow_s_file_store_is_one_file(tmp_path: Path) -> None:
    folder = store(tmp_path)
    (file,) = find_files([str(tmp_path)])
    assert file.name == "mlruns/0/abc123/meta.yaml"
    assert sink_of(file) == "mlflow_run"
    assert set(file.columns) == {"loss", "completions/mean length"}
    ledger = Ledger()
    (run,) = read_sink(file, ledger)
    assert (run.run_id, run.name, run.config) == ("mlflow:abc123", "quick", {"num_generations": 8})
    assert [(r.step, r.key, r.value, r.time) for r in run.records] == [
        (1, "completions/mean length", 7.0, 1.0),
        (1, "loss", 0.5, 1.0),
        (2, "loss", 0.25, 2.0),
    ]
    assert run.records[0].offset == run.records[1].offset != run.records[2].offset  # one row
    (problem,) = ledger.problems
    assert (problem.file, problem.offset) == ("mlruns/0/abc123/metrics/completions/mean length", 11)
    before = fingerprint(file.path)
    (folder / "metrics" / "loss").write_text("1000 0.5 1\n2000 0.25 2\n3000 0.125 3\n")
    assert fingerprint(file.path) != before


def test_exports_of_a_history_as_csv_json_lines_and_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {"_step": 0, "_timestamp": 10.5, "train/loss": 0.5, "train/global_step": 1.0, "name": "a"},
        {"_step": 1, "_timestamp": None, "train/loss": None, "train/global_step": 2.0, "name": "b"},
    ]
    (tmp_path / "h.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    lines = [",".join(rows[0]), "0,10.5,0.5,1.0,a", "1,,,2.0,b", "torn,"]
    (tmp_path / "h.csv").write_text("\r\n".join(lines))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "h.parquet")
    for name in ("h.csv", "h.jsonl", "h.parquet"):
        file = sniff(str(tmp_path / name), name)
        assert sink_of(file) == "history"
        (run,) = read_sink(file, Ledger())
        assert [(r.step, r.key, r.value, r.time) for r in run.records] == [
            (0, "train/loss", 0.5, 10.5),
            (0, "train/global_step", 1.0, 10.5),
            (1, "train/global_step", 2.0, None),
        ], name


def test_a_chart_s_csv_has_a_column_per_run(tmp_path: Path) -> None:
    header = '"training/global_step","my - run - critic/score/mean","my - run - critic/score/mean__MIN"'
    header += ',"my - run - critic/score/mean__MAX","b - critic/score/mean","b - critic/score/mean__MIN"'
    (tmp_path / "chart.csv").write_text(
        f'{header}\n"1","0.5","0.5","0.5","0.25","0.25"\n"2","0.75","","","",""\n'
    )
    file = sniff(str(tmp_path / "chart.csv"), "chart.csv")
    assert sink_of(file) == "history"
    one, two = read_sink(file, Ledger())
    assert (one.name, two.name, one.own_steps) == ("my - run", "b", False)
    assert [(r.step, r.key, r.value) for r in one.records] == [
        (1, "critic/score/mean", 0.5),
        (2, "critic/score/mean", 0.75),
    ]


def test_any_other_csv_is_text(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text(
        "index, timestamp, utilization.gpu [%]\n0, 2020/11/12 13:48:11.412, 99 %\n"
    )
    assert sink_of(sniff(str(tmp_path / "g.csv"), "g.csv")) is None


def test_damage_anywhere_in_a_database_is_survived(tmp_path: Path) -> None:
    trackio(tmp_path / "good.db").close()
    good = (tmp_path / "good.db").read_bytes()
    path = tmp_path / "p.db"
    chance = random.Random(7)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(chance.choice((1, 5, 50))):
            data[chance.randrange(100, len(data))] = chance.randrange(256)
        path.write_bytes(data)
        file = sniff(str(path), "p.db")
        if sink_of(file):
            read_sink(file, Ledger())
