"""From a log on disk to what is on the screen.

Most of it runs `main()` in this process, which pays for the heavy imports once; what needs a process of its
own (a terminal, a pipe, Ctrl-C) gets one.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rollprof.render.json_schema import SCHEMA

Done = subprocess.CompletedProcess[str]
Rollprof = Callable[..., Done]


@pytest.fixture
def rollprof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Rollprof:
    """`rollprof(*arguments, env=...)` in an empty folder and a plain environment, in this process."""
    from rollprof.cli.app import main

    monkeypatch.chdir(tmp_path)
    for name in [*os.environ]:
        if name.startswith("ROLLPROF_") or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
            monkeypatch.delenv(name)

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> Done:
        capsys.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = main(arguments)
        out, err = capsys.readouterr()
        return Done(list(arguments), code, out, err)

    return run


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """The worked example of the definitions: 512 responses, 500 done at 2 s and 12 at 30 s."""
    copy = tmp_path_factory.mktemp("log") / "straggler_512.jsonl"
    copy.write_bytes((root / "sample_logs" / "straggler_512.jsonl").read_bytes())
    return copy


def failed(done: Done) -> str:
    assert done.returncode == 2, done
    assert (done.stdout, done.stderr.count("\n")) == ("", 1), done
    return done.stderr


def figures(done: Done) -> Any:
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document["figures"]


def test_the_worked_example(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    done = rollprof("analyze", str(log))
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"slot_idle +[█▏]+ +91\.15 %  measured", done.stdout)
    assert "93.33 % of" in " ".join(done.stdout.split())
    assert "\x1b" not in done.stdout
    assert done.stdout.count("\n") <= 40
    assert max(map(len, done.stdout.split("\n"))) <= 80
    assert (tmp_path / ".rollprof" / "rollouts.parquet").is_file()
    assert (tmp_path / ".rollprof" / ".gitignore").is_file()


def test_json_says_the_same_and_report_repeats_it(rollprof: Rollprof, log: Path) -> None:
    analyzed = rollprof("analyze", str(log), "--json")
    found = figures(analyzed)
    assert found["slot_idle"]["value"] == pytest.approx(1 - (500 * 2 + 12 * 30) / (512 * 30), abs=1e-12)
    assert found["slot_idle"]["basis"] == "measured"
    assert found["tail_time_share"]["value"] == pytest.approx(28 / 30, abs=1e-12)
    assert rollprof("report", "--json").stdout == analyzed.stdout
    assert rollprof("analyze", str(log), "--json").stdout == analyzed.stdout
    assert rollprof("report", ".rollprof", "--json").stdout == analyzed.stdout


def test_report_to_a_file(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    assert rollprof("convert", str(log), "-o", "ds", "-q").returncode == 0
    assert rollprof("report", "ds", "-o", "r.txt").returncode == 0
    text = (tmp_path / "r.txt").read_text(encoding="utf-8")
    assert "GPU-idle fraction" in text
    assert "r.txt exists (--force replaces it)" in failed(rollprof("report", "ds", "-o", "r.txt"))
    assert rollprof("report", "ds", "--json", "-o", "r.txt", "--force").returncode == 0
    json.loads((tmp_path / "r.txt").read_text(encoding="utf-8"))


def test_convert_writes_the_dataset_and_prints_nothing(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    done = rollprof("convert", str(log), "-o", "ds")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("rollprof: ds written")
    before = (tmp_path / "ds" / "rollouts.parquet").stat().st_ino
    assert rollprof("convert", str(log), "-o", "ds", "--quiet").stderr == ""
    assert (tmp_path / "ds" / "rollouts.parquet").stat().st_ino != before  # always reads


def test_a_directory_of_something_else_is_left_alone(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    assert "mine" in failed(rollprof("convert", str(log), "-o", "mine"))
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "flag",
    [
        ("--config", "gpus=8"),
        ("--from", "verl"),
        ("-o", "other"),
        ("--keep-text",),
        ("--map", "reward=r"),
        ("--tz", "UTC"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    rollprof: Rollprof, log: Path, flag: tuple[str, ...]
) -> None:
    assert rollprof("convert", str(log), "-o", "ds", "-q").returncode == 0
    assert f"ds is a dataset: {flag[0]} acts only while logs are read" in failed(
        rollprof("analyze", "ds", *flag)
    )


def test_settings_name_the_last_run(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text('output = "kept"\n')
    assert rollprof("analyze", str(log)).returncode == 0
    assert (tmp_path / "kept" / "rollouts.parquet").is_file()
    assert not (tmp_path / ".rollprof").exists()
    assert rollprof("report").returncode == 0


def test_settings_reach_the_figures(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text("gpu_hour_cost = 2.0\nconfig = { gpus = 512 }\n")
    found = figures(rollprof("analyze", str(log), "--json"))
    assert found["cost_lost"]["value"] == pytest.approx(2 * found["gpu_hours_lost"]["value"])
    dearer = figures(rollprof("analyze", str(log), "--json", "--gpu-hour-cost", "4"))
    assert dearer["cost_lost"]["value"] == pytest.approx(2 * found["cost_lost"]["value"])


def test_standard_input(tmp_path: Path, log: Path) -> None:
    command = [sys.executable, "-m", "rollprof", "analyze", "-", "--json"]
    with log.open("rb") as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert figures(done)["slot_idle"]["value"] == pytest.approx(0.911458, abs=1e-6)


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "run.log"), ("nothing to see here\n" * 5, "run.log"), ('{"a": 1}\n', "run.log")],
)
def test_nothing_usable_is_2(rollprof: Rollprof, tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "run.log").write_text(content)
    assert words in failed(rollprof("analyze", "run.log"))
    assert not (tmp_path / ".rollprof").exists()


def test_a_missing_file_is_2(rollprof: Rollprof) -> None:
    assert "absent.jsonl" in failed(rollprof("analyze", "absent.jsonl"))


def test_what_was_skipped_is_said(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    lines = log.read_bytes().split(b"\n")
    lines[7] = b"\x1b[31m" + lines[7][:40]
    (tmp_path / "cut.jsonl").write_bytes(b"\n".join(lines))
    done = rollprof("analyze", "cut.jsonl", "--verbose")
    assert "1 skipped (cut.jsonl at byte" in done.stdout
    assert "What was wrong with the input" in done.stdout
    assert "\x1b" not in done.stdout


def test_colours(rollprof: Rollprof, log: Path) -> None:
    rollprof("convert", str(log), "-o", "ds", "-q")
    plain = rollprof("report", "ds").stdout
    colored = rollprof("report", "ds", env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert rollprof("report", "ds", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout == plain
    wide = rollprof("report", "ds", env={"COLUMNS": "140"}).stdout
    assert 80 < max(map(len, wide.split("\n"))) <= 140


def test_demo(rollprof: Rollprof, tmp_path: Path) -> None:
    done = rollprof("demo")
    assert done.returncode == 0, done.stderr
    assert "GPU-idle fraction" in done.stdout
    assert done.stdout.count("\n") <= 40
    assert "rollprof report rollprof-demo/.rollprof --verbose" in done.stderr
    found = figures(rollprof("demo", "--json", "--quiet"))
    assert found["slot_idle"]["basis"] == "measured"
    assert 0.5 < found["slot_idle"]["value"] < 0.95
    (tmp_path / "rollprof-demo" / "rollouts.jsonl").write_text("mine\n")
    assert "holds something else" in failed(rollprof("demo"))
    assert rollprof("demo", "--force", "-q").returncode == 0


def test_demo_agrees_with_an_independent_count(rollprof: Rollprof, tmp_path: Path) -> None:
    found = figures(rollprof("demo", "--json", "-q"))
    steps: dict[int, list[float]] = {}
    for line in (tmp_path / "rollprof-demo" / "rollouts.jsonl").read_text().splitlines():
        row = json.loads(line)
        steps.setdefault(row["step"], []).append(row["completed_at"] - row["started_at"])
    slots = sum(len(s) * max(s) for s in steps.values())
    assert found["slot_idle"]["value"] == pytest.approx(1 - sum(map(sum, steps.values())) / slots, abs=1e-9)


def on_a_terminal(command: list[str], folder: Path, columns: int) -> str:
    """What a terminal of `columns` x 40 is sent by stdout and stderr of a command."""
    leader, follower = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "LINES")}
    environment = {**kept, "COLUMNS": str(columns), "LINES": "40", "TERM": "xterm-256color"}
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, cwd=folder, env=environment
    )
    os.close(follower)
    sent = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        sent += piece
    os.close(leader)
    assert process.wait(timeout=120) == 0
    return sent.decode()


@pytest.mark.parametrize("columns", [80, 140])
def test_on_a_terminal(rollprof: Rollprof, log: Path, tmp_path: Path, columns: int) -> None:
    sent = on_a_terminal([sys.executable, "-m", "rollprof", "analyze", "-q", str(log)], tmp_path, columns)
    assert "\x1b[" in sent
    plain = re.sub(r"\x1b\[[0-9;]*m", "", sent).replace("\r\n", "\n")
    assert plain == rollprof("report", env={"COLUMNS": str(columns)}).stdout
    assert plain.count("\n") <= 40


def test_ctrl_c_leaves_nothing_behind(tmp_path: Path, log: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "rollprof", "analyze", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdin is not None
    process.stdin.write(log.read_bytes()[:1000])
    process.stdin.flush()
    time.sleep(1.5)  # it is waiting for the rest
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"rollprof: interrupted\n")
    assert list(tmp_path.iterdir()) == []
