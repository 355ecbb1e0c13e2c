"""What travels between processes arrives as it was."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from rollprof.errors import ConfigProblem, InputProblem
from rollprof.parallel import wire
from rollprof.parallel.convert import convert_chunk
from rollprof.parallel.wire import WorkerFailed
from rollprof.sources.records import SniffedFile

from .rollout_tasks import rows_of, task

AsFile = Callable[..., SniffedFile]


@pytest.fixture(autouse=True)
def small_mapper(use_mapper: Callable[[object], None]) -> None:
    """Mapper()."""


def test_tasks(as_file: AsFile) -> None:
    file = as_file([{"output": "é", "step": 1, "n": {"a": [1, None, 2.5]}}])
    one = task(file, lo=3, hi=9, source=2, columns={"reward": "score"}, keep_text=True, hints={"x": "y"})
    assert wire.decode_task(wire.encode_task(one)) == one


def test_results(as_file: AsFile) -> None:
    one = task(
        as_file([{"output": "x", "step": 2**70}, {"foo": 1}, {"output": ""}, {"output": "é", "step": 3}])
    )
    result = convert_chunk(one)
    again = wire.decode_reply(wire.encode_result(result), one)
    assert (again.task, again.ipc, again.rows) == (one, result.ipc, 2)
    assert (again.totals, again.remarks) == (result.totals, result.remarks)
    assert list(again.totals) == [(None, "train"), (3, "train")]
    assert again.ledger.as_dict() == result.ledger.as_dict()
    assert rows_of(again) == rows_of(result)


def test_errors(as_file: AsFile) -> None:
    one = task(as_file([{}]))
    for error in (InputProblem("no é", hint="do"), ConfigProblem("x")):
        with pytest.raises(type(error)) as raised:
            wire.decode_reply(wire.encode_error(error), one)
        assert (raised.value.message, raised.value.hint) == (error.message, error.hint)
    for other in (KeyError("x"), ValueError("\ud800")):
        with pytest.raises(WorkerFailed, match=r"1\.jsonl: internal error"):
            wire.decode_reply(wire.encode_error(other), one)


def test_frames() -> None:
    stream = io.BytesIO()
    for data in (b"", b"abc", b"x" * 100_000):
        wire.write_frame(stream, data)
    whole = stream.getvalue()
    stream.seek(0)
    assert [wire.read_frame(stream) for _ in range(4)] == [b"", b"abc", b"x" * 100_000, None]
    assert wire.read_frame(io.BytesIO(whole[:12])) == b""
    assert wire.read_frame(io.BytesIO(whole[8:17])) is None
