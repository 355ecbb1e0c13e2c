"""Workers: order, what they load, what happens when one dies, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rollprof.errors import EXIT_INTERNAL, InputProblem, RollprofError
from rollprof.parallel import pool
from rollprof.parallel.pool import run_chunks
from rollprof.parallel.tasks import ChunkTask, ConvertOptions, plan
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

from .rollout_tasks import claim, rows_of

AsFile = Callable[..., SniffedFile]
pytestmark = pytest.mark.usefixtures("installed_adapter")


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes also for little work."""
    monkeypatch.setattr(pool, "LITTLE", 1)


def rows(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"input": f"p{i}", "output": "w" * i, "score": i, "step": i, **more} for i in range(1, count + 1)]


def tasks_for(as_file: AsFile, *contents: Any, **hints: str) -> list[ChunkTask]:
    inputs = [(as_file(content, f"{i}.jsonl"), claim(**hints), i) for i, content in enumerate(contents)]
    return plan(inputs, ConvertOptions(), workers=2)


def split(task: ChunkTask, parts: int) -> list[ChunkTask]:
    cuts = [task.file.size * i // parts for i in range(parts)]
    return [replace(task, lo=a, hi=b, weight=1) for a, b in zip(cuts, [*cuts[1:], None], strict=True)]


def pids(results: list[Any]) -> set[int]:
    return {int(row["engine"].split()[0]) for r in results for row in rows_of(r)}


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.usefixtures("eager")
def test_processes_give_what_one_gives_in_order(as_file: AsFile) -> None:
    (whole,) = tasks_for(as_file, rows(200))
    done: list[int] = []
    results = list(run_chunks(split(whole, 12), 2, done.append))
    assert [row["step"] for r in results for row in rows_of(r)] == list(range(1, 201))
    assert sum(r.ledger.read for r in results) == 200
    assert done == [1] * 12
    assert os.getpid() not in pids(results)
    here = list(run_chunks([whole], 1))
    assert pids(here) == {os.getpid()}
    totals = {key: value for r in results for key, value in r.totals.items()}
    assert totals == here[0].totals
    assert all(r.task is t for r, t in zip(here, [whole], strict=True))


@pytest.mark.usefixtures("eager")
def test_workers_load_only_what_they_need(as_file: AsFile) -> None:
    import polars  # noqa: F401 (here it is loaded: workers must not care)

    tasks = split(tasks_for(as_file, rows(60))[0], 4)
    engines = {row["engine"] for r in run_chunks(tasks, 2) for row in rows_of(r)}
    assert {engine.partition(" ")[2] for engine in engines} == {""}


def test_little_work_stays_here(as_file: AsFile) -> None:
    results = list(run_chunks(tasks_for(as_file, rows(20), rows(20)), 2))
    assert pids(results) == {os.getpid()}


@pytest.mark.usefixtures("eager")
def test_what_an_adapter_prints_does_no_harm(as_file: AsFile, capfd: pytest.CaptureFixture[str]) -> None:
    results = list(run_chunks(tasks_for(as_file, rows(9, order="print"), rows(9)), 2))
    assert [r.rows for r in results] == [9, 9]
    assert capfd.readouterr().out == ""


@pytest.mark.usefixtures("eager")
def test_a_dead_worker_names_its_file(as_file: AsFile) -> None:
    results = run_chunks(tasks_for(as_file, rows(9), rows(9, order="die"), rows(9)), 2)
    assert next(results).rows == 9
    with pytest.raises(
        RollprofError, match=r"^1\.jsonl: the process .* ended unexpectedly \(signal 9\)$"
    ) as problem:
        list(results)
    assert problem.value.exit_code == EXIT_INTERNAL


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("workers", [1, 2])
def test_errors_of_ours_cross_over_as_they_are(as_file: AsFile, workers: int) -> None:
    with pytest.raises(InputProblem, match=r"^this mapper refuses$") as problem:
        list(run_chunks(tasks_for(as_file, rows(9), rows(9), order="refuse"), workers))
    assert problem.value.hint == "ask another"


@pytest.mark.usefixtures("eager")
def test_an_internal_error_in_a_worker_is_one_line(as_file: AsFile) -> None:
    with pytest.raises(
        RollprofError, match=r"^0\.jsonl: internal error .*ZeroDivisionError: a bug$"
    ) as problem:
        list(run_chunks(tasks_for(as_file, rows(9), rows(9), order="break"), 2))
    assert problem.value.exit_code == EXIT_INTERNAL


@pytest.mark.usefixtures("eager")
def test_workers_end_with_the_iterator(as_file: AsFile) -> None:
    tasks = split(tasks_for(as_file, rows(60))[0], 6)
    results = run_chunks(tasks, 2)
    children = pids([next(results), next(results), next(results)])
    results.close()  # type: ignore[attr-defined]
    assert children
    assert not any(alive(pid) for pid in children)


@pytest.mark.usefixtures("eager")
def test_only_so_many_tasks_are_under_way(as_file: AsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    encode = pool.wire.encode_task
    monkeypatch.setattr(pool.wire, "encode_task", lambda task: (sent.append(task.lo), encode(task))[1])
    results = run_chunks(split(tasks_for(as_file, rows(60))[0], 20), 2)
    next(results)
    time.sleep(0.7)
    assert len(sent) <= 2 * pool.AHEAD + 1
    results.close()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("eager")
def test_a_path_that_is_no_utf8(tmp_path: Path) -> None:
    from rollprof.sources.tree import find_files

    path = os.fsencode(tmp_path) + b"/dump/caf\xe9.jsonl"
    (tmp_path / "dump").mkdir()
    with open(path, "wb") as out:  # noqa: PTH123 (bytes)
        out.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows(9)))
    (file,) = find_files([str(tmp_path / "dump")])
    task = ChunkTask(file, claim(), 0, ConvertOptions(), weight=9)
    assert [r.rows for r in run_chunks([task, task], 2)] == [9, 9]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("workers", [1, 2])
def test_one_note_per_reason_and_file(as_file: AsFile, workers: int) -> None:
    padded = [*rows(30), *rows(30, output=""), *rows(30), *rows(3, step="x")]
    first, second = tasks_for(as_file, padded, rows(5, output=""))
    ledger = Ledger()
    for result in run_chunks([*split(first, 5), second], workers):
        ledger.merge(result.ledger)
    assert ledger.dropped == 35
    assert {(p.file, p.reason) for p in ledger.problems} == {
        ("0.jsonl", "left out: padding row (30 times)"),
        ("0.jsonl", "step: not a whole number in range, left empty (3 times)"),
        ("1.jsonl", "left out: padding row (5 times)"),
    }
    assert ledger.notes == 3
    offset = next(p.offset for p in ledger.problems if "30 times" in p.reason)
    assert Path(first.file.path).read_bytes()[offset:].startswith(b'{"input": "p1", "output": ""')


SCRIPT = """
    import sys, os
    from rollprof.adapters.base import Claim
    from rollprof.parallel import pool
    from rollprof.parallel.tasks import ChunkTask, ConvertOptions
    from rollprof.sources.sniffing import sniff
    pool.LITTLE = 1
    file = sniff(sys.argv[1], "1.jsonl")
    task = ChunkTask(file, Claim("fake", "rollouts", 1.0, "test"), 0, ConvertOptions(), weight=99)
    # no main guard: workers must not run this script again
    print("started", os.getpid(), flush=True)
    for result in pool.run_chunks([task] * 4, 2):
        print("rows", result.rows, flush=True)
"""


def start_script(tmp_path: Path, path: str) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    return subprocess.Popen(
        [sys.executable, str(script), path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        start_new_session=True,
    )


def children_of(pid: int) -> list[int]:
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def test_a_script_without_a_main_guard(as_file: AsFile, tmp_path: Path) -> None:
    out, err = start_script(tmp_path, as_file(rows(9)).path).communicate(timeout=60)
    assert err == ""
    assert out.count("started") == 1
    assert out.count("rows 9") == 4


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_survives_the_program(as_file: AsFile, tmp_path: Path, how: signal.Signals) -> None:
    # Ctrl-C ends workers at once; when the program is killed they end with the chunk they are at.
    seconds = 60 if how is signal.SIGINT else 1
    process = start_script(tmp_path, as_file(rows(1, order="sleep", seconds=seconds)).path)
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 20
    while len(workers := children_of(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    assert len(workers) == 2
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as the terminal does it
    else:
        process.send_signal(how)
    process.communicate(timeout=20)
    deadline = time.monotonic() + 15
    while any(map(alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, workers))
