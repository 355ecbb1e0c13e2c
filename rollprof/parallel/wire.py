"""Tasks and results as bytes between processes: MessagePack in frames of 8 bytes of length and the data.

Not pickle: what comes in is checked against the types, and nothing in it can run.
"""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

import msgspec

from rollprof import errors
from rollprof.errors import EXIT_INTERNAL, RollprofError
from rollprof.parallel.digests import storable
from rollprof.parallel.tasks import ChunkResult, ChunkTask, Remark, StepTotals
from rollprof.schema.ledger import Ledger

_LENGTH = struct.Struct("<Q")


class WorkerFailed(RollprofError):
    """A conversion worker died, or met an error of rollprof's own."""

    exit_code = EXIT_INTERNAL


class Done(msgspec.Struct, tag=True):
    """A chunk was converted."""

    ipc: bytes
    totals: list[tuple[int | None, str, StepTotals]]
    ledger: dict[str, Any]
    rows: int
    remarks: dict[str, Remark]


class Failed(msgspec.Struct, tag=True):
    """It was not. `kind` names a class of rollprof.errors, "" for any other error."""

    kind: str
    message: str
    hint: str | None


_task = msgspec.msgpack.Decoder(ChunkTask).decode
_reply = msgspec.msgpack.Decoder(Done | Failed).decode
_encode = msgspec.msgpack.Encoder().encode


def encode_task(task: ChunkTask) -> bytes:
    """Raises UnicodeEncodeError for a path that is no UTF-8."""
    return _encode(task)


def decode_task(data: bytes) -> ChunkTask:
    """The task as `encode_task` took it."""
    return _task(data)


def encode_result(result: ChunkResult) -> bytes:
    """The result without its task, which the other side has."""
    totals = [(step, split, sums) for (step, split), sums in result.totals.items()]
    return _encode(Done(result.ipc, totals, result.ledger.as_dict(), result.rows, result.remarks))


def encode_error(error: Exception) -> bytes:
    """An error as the other side will raise it."""
    if isinstance(error, RollprofError):
        hint = None if error.hint is None else storable(error.hint)
        return _encode(Failed(type(error).__name__, storable(error.message), hint))
    return _encode(Failed("", storable(f"{type(error).__name__}: {error}"[:500]), None))


def decode_reply(data: bytes, task: ChunkTask) -> ChunkResult:
    """The result of `task`. Raises the error that its worker met."""
    reply = _reply(data)
    if isinstance(reply, Failed):
        raise _error(reply, task)
    return ChunkResult(
        task=task,
        ipc=reply.ipc,
        totals={(step, split): sums for step, split, sums in reply.totals},
        ledger=Ledger.from_dict(reply.ledger),
        rows=reply.rows,
        remarks=reply.remarks,
    )


def write_frame(stream: BinaryIO, data: bytes) -> None:
    """Sends `data`, whole."""
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame; None at the end of the stream, also inside a frame."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    data = stream.read(size)
    return data if len(data) == size else None


def _error(failed: Failed, task: ChunkTask) -> RollprofError:
    kind = getattr(errors, failed.kind, None) if failed.kind else None
    if isinstance(kind, type) and issubclass(kind, RollprofError):
        return kind(failed.message, hint=failed.hint)
    return WorkerFailed(f"{task.file.name}: internal error while converting it: {failed.message}")
