"""`analyze --follow` on a file that a writer grows, dies over in the middle of a line, and takes up again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rollprof import api
from rollprof.schema.store import load

WRITER = """
import json, os, sys, time
start, count, half = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "half"
with open("run.jsonl", "ab", buffering=0) as log:
    if start:
        log.write(b"\\n")
    for i in range(start, start + count):
        answer = "\\u00e4" * (1 + i * 7 % 50)
        row = {"step": i // 8, "prompt": f"q{i // 4}", "response": answer, "reward": i % 3 / 2}
        line = json.dumps(row, ensure_ascii=False).encode()
        log.write(line[: len(line) // 2])
        log.write(line[len(line) // 2 :] + b"\\n")
    if half:
        log.write(line[: len(line) // 2])
        print("half", flush=True)
        time.sleep(600)
"""
PATIENCE_S = 60.0

Rollprof = Callable[..., "subprocess.CompletedProcess[str]"]


def writer(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rollprof", "analyze", "--follow", "run.jsonl", *arguments]
        process = subprocess.Popen(
            [*command, "--interval", "0.1"],
            cwd=tmp_path,
            env={k: v for k, v in os.environ.items() if not k.startswith("ROLLPROF_")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.slow
def test_a_writer_grows_a_file_dies_in_a_line_and_resumes(
    tmp_path: Path, follower: Callable[..., subprocess.Popen[str]]
) -> None:
    process = follower()
    first = writer(tmp_path, "0", "40", "half")
    try:
        assert line(first).strip() == "half"
        while "40 rollouts" not in (said := line(process)):
            assert "rollouts" in said
        assert load(tmp_path / ".rollprof").ledger.clean  # the half line waits
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()
    assert writer(tmp_path, "40", "24", "whole").wait() == 0
    while "64 rollouts" not in (said := line(process)):
        assert "rollouts" in said
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 130
    found = load(tmp_path / ".rollprof")
    assert found.ledger.lines == 65
    assert not found.ledger.clean  # what the dead writer left is a line of its own now
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".rollprof.")]
    cold = api.convert(
        [str(tmp_path / "run.jsonl")], options=api.OpenOptions(output=str(tmp_path / "cold"), reuse=False)
    )
    assert cold.rollouts.collect().equals(found.rollouts.collect())
    assert cold.steps.collect().equals(found.steps.collect())
    assert cold.ledger.as_dict() == found.ledger.as_dict()


@pytest.mark.slow
def test_whoever_reads_meanwhile_finds_a_whole_dataset(
    tmp_path: Path, follower: Callable[..., subprocess.Popen[str]]
) -> None:
    log = tmp_path / "run.jsonl"
    rows = [json.dumps({"step": i // 8, "response": "a" * (i % 30 + 1)}) + "\n" for i in range(400)]
    log.write_text("".join(rows[:8]))
    process = follower("-o", "data")
    assert "rollouts" in line(process)
    reads = 0
    for i in range(8, 80, 8):
        with log.open("a") as file:
            file.write("".join(rows[i : i + 8]))
        until = time.monotonic() + 0.3
        while time.monotonic() < until:
            load(tmp_path / "data")
            reads += 1
    assert reads > 20
    process.kill()  # not even this leaves it broken
    process.wait()
    load(tmp_path / "data")


@pytest.mark.slow
def test_it_waits_for_what_is_not_there_yet_and_says_so_once(
    tmp_path: Path, follower: Callable[..., subprocess.Popen[str]]
) -> None:
    process = follower("--json")
    assert process.stderr is not None
    assert process.stderr.readline() == "rollprof: waiting: nothing to read yet\n"
    assert writer(tmp_path, "0", "16", "whole").wait() == 0
    counts = 0
    while counts < 16:
        counts = json.loads(line(process))["run"]["rollouts"]
    assert counts == 16


@pytest.mark.slow
def test_options_that_cannot_work_are_refused(rollprof: Rollprof, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"step": 1, "response": "a"}\n')
    for arguments, said in (
        (("run.jsonl", "--interval", "3"), "--interval acts only with --follow"),
        (("run.jsonl", "--follow", "--interval", "0"), "at least 0.1 seconds"),
        (("--follow",), "no run given to follow"),
        (("-", "--follow"), "can be read only once"),
    ):
        done = rollprof("analyze", *arguments)
        assert done.returncode == 2, done
        assert said in done.stderr
