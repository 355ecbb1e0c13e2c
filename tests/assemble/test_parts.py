"""Reruns on logs that grew, shrank or were written anew: as a cold conversion, from the new bytes only."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof import api
from rollprof.assemble.build import BuildOptions, build, prepare
from rollprof.parallel import parts as parts_module
from rollprof.parallel import pool
from rollprof.parallel.tasks import ChunkTask
from rollprof.schema.store import Dataset
from rollprof.sources.opening import last_line_end

OPTIONS = api.OpenOptions(workers=1)


@pytest.fixture(autouse=True)
def _small_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollprof.assemble.build.WORTH", 0)


def lines(count: int, start: int = 0, length: int = 30) -> bytes:
    return b"".join(
        json.dumps(
            {
                "step": (start + i) // 8,
                "prompt": f"Was ist {(start + i) // 4}? Käse",
                "response": "ä" * (1 + (start + i) * 7 % length),
                "reward": (start + i) % 3 / 2,
            },
            ensure_ascii=False,
        ).encode()
        + b"\n"
        for i in range(count)
    )


def dump_of(step: int) -> bytes:
    """A step's rollouts as verl dumps them."""
    row = {"input": "Käse?", "output": "ä" * step, "gts": "1", "score": 1.0, "step": step}
    return 8 * (json.dumps(row) + "\n").encode()


def dataset(path: Path, target: Path, *, follow: bool = False, keep: bool = True) -> Dataset:
    plan = prepare([str(path)], BuildOptions(follow=follow))
    return build(plan, str(target), keep_parts=keep, workers=1)


def content(found: Dataset) -> tuple[Any, ...]:
    meta = {k: v for k, v in found.meta.items() if k != "options"}
    tables = [
        t.collect().to_dicts()
        for t in (found.rollouts, found.steps, found.metrics, found.engines, found.gpus)
    ]
    return json.dumps(meta, sort_keys=True), *map(repr, tables), json.dumps(found.ledger.as_dict())


def converted(monkeypatch: pytest.MonkeyPatch) -> list[ChunkTask]:
    """The tasks that are converted from now on."""
    seen: list[ChunkTask] = []
    real = pool.convert_chunk

    def recording(task: ChunkTask) -> Any:
        seen.append(task)
        return real(task)

    monkeypatch.setattr(pool, "convert_chunk", recording)
    monkeypatch.setattr(parts_module, "convert_chunk", recording)
    return seen


def test_only_new_bytes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, target = tmp_path / "run.jsonl", tmp_path / "data"
    log.write_bytes(lines(2000))
    dataset(log, target)
    size = log.stat().st_size
    with log.open("ab") as file:
        file.write(lines(3, 2000))
    seen = converted(monkeypatch)
    warm = dataset(log, target)
    assert [(t.lo, t.hi) for t in seen] == [(size, log.stat().st_size)]
    seen.clear()
    assert content(dataset(log, target)) == content(warm)
    assert seen == []
    assert content(dataset(log, tmp_path / "cold", keep=False)) == content(warm)
    assert len(list((target / "parts").iterdir())) == 1


def test_the_bytes_that_are_read_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By everything that opens the log, the look at its head and ends included."""
    log, target = tmp_path / "run.jsonl", tmp_path / "data"
    log.write_bytes(lines(40_000, length=200))
    dataset(log, target)
    with log.open("ab") as file:
        file.write(lines(10, 40_000))
    dataset(log, target)

    def read_by_this_process() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    if not Path("/proc/self/io").exists():
        pytest.skip("no count of bytes here")
    with log.open("ab") as file:
        file.write(lines(10, 40_010))
    before = read_by_this_process()
    dataset(log, tmp_path / "cold", keep=False)
    cold = read_by_this_process() - before
    before = read_by_this_process()
    dataset(log, target)
    warm = read_by_this_process() - before
    assert cold - warm > 0.8 * log.stat().st_size, (cold, warm, log.stat().st_size)


def test_parts_grow_in_number_with_the_bytes_not_with_the_reruns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts_module, "LARGEST", 20_000)
    log, target = tmp_path / "run.jsonl", tmp_path / "data"
    log.write_bytes(lines(600, length=200))
    for start in range(600, 900, 10):
        dataset(log, target)
        with log.open("ab") as file:
            file.write(lines(10, start, length=200))
    warm = dataset(log, target)
    assert 2 <= len(list((target / "parts").iterdir())) <= 2 + log.stat().st_size // 10_000
    assert content(dataset(log, tmp_path / "cold", keep=False)) == content(warm)


def test_a_file_written_anew_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, target = tmp_path / "run.jsonl", tmp_path / "data"
    log.write_bytes(lines(400))
    dataset(log, target)
    seen = converted(monkeypatch)
    for fresh in (lines(400, 40)[: log.stat().st_size], lines(100), lines(900, 8)):
        log.write_bytes(fresh)
        os.utime(log, ns=(0, log.stat().st_mtime_ns + 10**9))
        seen.clear()
        warm = dataset(log, target)
        assert seen[0].lo == 0
        assert content(dataset(log, tmp_path / "cold", keep=False)) == content(warm)


def test_a_new_and_a_deleted_file_among_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump, target = tmp_path / "dump", tmp_path / "data"
    dump.mkdir()
    for step in (2, 4):
        (dump / f"{step}.jsonl").write_bytes(dump_of(step))
    dataset(dump, target)
    (dump / "1.jsonl").write_bytes(dump_of(1))
    seen = converted(monkeypatch)
    warm = dataset(dump, target)
    names = {t.file.name for t in seen if t.hi is not None}
    assert names == {"1.jsonl"}
    assert content(dataset(dump, tmp_path / "cold", keep=False)) == content(warm)
    (dump / "2.jsonl").unlink()
    warm = dataset(dump, target)
    assert content(dataset(dump, tmp_path / "cold2", keep=False)) == content(warm)
    assert len(list((target / "parts").iterdir())) == 2


def test_damaged_parts_are_read_again(tmp_path: Path) -> None:
    log, target = tmp_path / "run.jsonl", tmp_path / "data"
    log.write_bytes(lines(400))
    cold = content(dataset(log, target))
    generator = random.Random(5)
    for _ in range(12):
        (part,) = (target / "parts").iterdir()
        data = bytearray(part.read_bytes())
        data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        part.write_bytes(data[: generator.choice((len(data), len(data) // 2))])
        assert content(dataset(log, target)) == cold


def test_a_half_line_waits_while_following_and_counts_at_the_end(tmp_path: Path) -> None:
    log, target = tmp_path / "run.jsonl", tmp_path / "data"
    whole = lines(40)
    log.write_bytes(whole + b'{"step": 5, "response": "K\xc3')
    waiting = dataset(log, target, follow=True)
    assert waiting.ledger.clean
    assert waiting.ledger.read == 40
    ended = api.convert([str(log)], options=api.OpenOptions(output=str(target)))
    assert not ended.ledger.clean
    assert ended.ledger.lines == 41


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_schedule_of_growth_ends_as_a_cold_conversion(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Cut anywhere, killed in the middle of a line and resumed, and written anew."""
    folder = tmp_path_factory.mktemp("growth")
    log, target = folder / "run.jsonl", folder / "data"
    log.write_bytes(lines(40))
    text = lines(60, 40)
    for turn in range(data.draw(st.integers(1, 5))):
        kind = data.draw(st.sampled_from(("append", "append", "kill", "truncate", "anew")))
        cut = data.draw(st.integers(1, len(text)))
        if kind == "truncate":
            with log.open("r+b") as file:
                file.truncate(max(2000, log.stat().st_size - cut))
        elif kind == "anew":
            log.write_bytes(lines(45, 3 * turn))
        else:
            with log.open("ab") as file:
                file.write(text[:cut] + (b"\n" if kind == "kill" else b""))
            text = text[cut:] + lines(60, 100 + 60 * turn)
        os.utime(log, ns=(0, (turn + 1) * 10**9))
        dataset(log, target, follow=data.draw(st.booleans()))
    assert content(dataset(log, target)) == content(dataset(log, folder / "cold", keep=False))


def test_where_the_last_whole_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"a\n" + b"b" * 200_000)
    assert last_line_end(str(file), 0, 200_002) == 2
    assert last_line_end(str(file), 2, 200_002) == 2
    assert last_line_end(str(file), 0, 1) == 0
    file.write_bytes(b"a\nb\n")
    assert last_line_end(str(file), 0, 4) == 4


@pytest.mark.slow
def test_the_corpus_comes_out_of_its_parts_as_it_went_in(corpus: Path, tmp_path: Path) -> None:
    compared = 0
    for number, entry in enumerate(
        sorted(e for kind in corpus.iterdir() if kind.is_dir() for e in kind.iterdir())
    ):
        target = tmp_path / f"warm{number}"
        try:
            cold = content(dataset(entry, target))
        except api.RollprofError:
            continue
        assert content(dataset(entry, target)) == cold, entry
        assert content(dataset(entry, tmp_path / f"cold{number}", keep=False)) == cold, entry
        compared += 1
    assert compared > 25
