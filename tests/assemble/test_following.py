"""Looks at a run that is being written: what each finds, when the next comes, what is left unread."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rollprof.assemble.build import BuildOptions
from rollprof.assemble.following import NOTHING_YET, Look, follow
from rollprof.errors import InputProblem
from rollprof.sources import opening
from rollprof.sources.opening import open_bytes, up_to


def rows(first: int, last: int) -> str:
    return "".join(json.dumps({"step": i, "response": "a" * (i + 1)}) + "\n" for i in range(first, last))


def test_looks_slow_down_while_nothing_changes_and_a_change_brings_them_back(tmp_path: Path) -> None:
    log, pauses = tmp_path / "run.jsonl", []
    looks = follow(
        [str(log)], BuildOptions(follow=True), str(tmp_path / "d"), interval=50, sleep=pauses.append
    )
    assert next(looks) == Look(None, NOTHING_YET, 0, 0)
    log.write_text(rows(0, 4))
    found = next(looks)
    assert found.dataset is not None
    assert found.files == 1
    assert found.size == log.stat().st_size
    for _ in range(20):
        assert next(looks).dataset is None
    with log.open("a") as file:
        file.write(rows(4, 6))
    found = next(looks)
    assert found.dataset is not None
    assert found.dataset.rollouts.collect().height == 6
    log.unlink()
    assert next(looks).problem == NOTHING_YET
    assert pauses[1] == 50
    assert pauses[2] == 62.5
    assert max(pauses) == 250
    assert pauses[-1] == 50


def test_a_half_line_of_metrics_waits_as_well(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    whole = "".join(
        json.dumps({"step": s, "data": {"response_length/mean": 10.0 + s, "timing_s/gen": 4.5}}) + "\n"
        for s in (1, 2)
    )
    log.write_text(whole + '{"step": 3, "data": {"response_length/mean": 1')
    looks = follow([str(log)], BuildOptions(follow=True), str(tmp_path / "d"), sleep=lambda _: None)
    first = next(looks).dataset
    assert first is not None
    assert first.steps.collect()["step"].to_list() == [1, 2]
    assert first.ledger.clean
    with log.open("a") as file:
        file.write('3.0, "timing_s/gen": 4.5}}\n')
    second = next(looks).dataset
    assert second is not None
    assert second.steps.collect()["response_tokens_mean"].to_list() == [11.0, 12.0, 13.0]


def test_several_runs_are_not_waited_for(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(rows(0, 9))
    looks = follow([str(tmp_path)], BuildOptions(follow=True), str(tmp_path / ".d"), sleep=lambda _: None)
    with pytest.raises(InputProblem, match="2 runs there"):
        next(looks)


def test_bytes_beyond_an_end_are_not_seen(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(b"0123456789" * (opening.EDGE // 5))
    path = str(file)
    with up_to({path: 15}), open_bytes(path) as stream:
        assert stream.read(5) == b"01234"
        assert stream.read() == b"5678901234"
        assert stream.seek(-2, 2) == 13
        assert stream.read() == b"34"
    with open_bytes(path) as stream:
        assert len(stream.read()) == file.stat().st_size
