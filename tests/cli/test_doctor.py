"""`rollprof doctor` as people run it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import jsonschema

Rollprof = Callable[..., "CompletedProcess[str]"]


def test_text(rollprof: Rollprof, root: Path, tmp_path: Path) -> None:
    done = rollprof("doctor", str(root / "sample_logs" / "openrlhf"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("OpenRLHF >=0.10.2")
    assert "def reward_func(queries, prompts, labels, **kwargs):" in done.stdout
    assert list(tmp_path.iterdir()) == []  # no dataset is left behind


def test_json_fits_the_printed_schema(rollprof: Rollprof, root: Path) -> None:
    schema = json.loads(rollprof("schema", "--json").stdout)["x-rollprof-doctor"]
    done = rollprof("doctor", str(root / "sample_logs" / "straggler_512.jsonl"), "--json")
    jsonschema.validate(json.loads(done.stdout), schema)


def test_several_runs_are_no_error(rollprof: Rollprof, root: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        text = (root / "sample_logs" / "straggler_512.jsonl").read_text()
        (tmp_path / f"{name}.jsonl").write_text(text.replace('"reward": 1', f'"reward": {len(name)}'))
    done = rollprof("doctor", "a.jsonl", "b.jsonl")
    assert done.returncode == 0
    assert "2 runs" in done.stdout
    assert rollprof("analyze", "a.jsonl", "b.jsonl").returncode == 2
    chosen = rollprof("doctor", "a.jsonl", "b.jsonl", "--run", "b.jsonl", "--json")
    assert json.loads(chosen.stdout)["run"] == "b.jsonl"
    unknown = rollprof("doctor", "a.jsonl", "b.jsonl", "--run", "c.jsonl")
    assert (unknown.returncode, unknown.stdout) == (2, "")


def test_nothing_recognised_is_described_and_fails(rollprof: Rollprof, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"foo": 1}\n')
    done = rollprof("doctor", "x.jsonl")
    assert done.returncode == 2
    assert "keys: foo" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there(rollprof: Rollprof) -> None:
    done = rollprof("doctor", "nowhere.log")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_anonymize_one_file(rollprof: Rollprof, root: Path, tmp_path: Path) -> None:
    log = root / "sample_logs" / "straggler_512.jsonl"
    done = rollprof("doctor", str(log), "--anonymize", "sample.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    assert "look through it" in done.stderr
    first = json.loads(log.read_text().splitlines()[0])
    masked = json.loads((tmp_path / "sample.jsonl").read_text().splitlines()[0])
    assert masked.keys() == first.keys()
    assert masked["prompt"] != first["prompt"]
    assert rollprof("doctor", str(log), "--anonymize", "sample.jsonl").returncode == 2  # it exists
    assert rollprof("doctor", str(log), "--anonymize", "sample.jsonl", "--force").returncode == 0
    assert rollprof("analyze", "sample.jsonl").returncode == 0


def test_anonymize_a_folder(rollprof: Rollprof, root: Path, tmp_path: Path) -> None:
    refused = rollprof("doctor", str(root / "sample_logs" / "verl"), "--anonymize", "s.log")
    assert refused.returncode == 2
    assert "s.log.zip" in refused.stderr
    done = rollprof("doctor", str(root / "sample_logs" / "verl"), "--anonymize", "s.zip")
    assert done.returncode == 0
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        assert {"console.log", "metrics.jsonl", "rollouts/12.jsonl"} <= set(archive.namelist())
