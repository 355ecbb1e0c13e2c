"""Conversion tasks on all cores, results in task order, a bounded number of them under way.

Workers are fresh interpreters that load only what conversion needs. They do not import the program that
started them, so that neither a script without a main guard nor its heavy imports get in the way.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO, BinaryIO, cast

from rollprof.errors import RollprofError
from rollprof.parallel import wire
from rollprof.parallel.convert import convert_chunk
from rollprof.parallel.parts import Parts
from rollprof.parallel.tasks import ChunkResult, ChunkTask
from rollprof.parallel.wire import WorkerFailed
from rollprof.parallel.worker import CHILD_ENVIRONMENT

LITTLE = 8 << 20
"""Bytes of input below which starting processes costs more than it saves."""

AHEAD = 2
"""Tasks per worker that may be under way or done before their turn."""

PATIENCE_S = 5.0

Outcome = ChunkResult | RollprofError
Results = Generator[ChunkResult, None, None]


def run_chunks(
    tasks: Sequence[ChunkTask],
    workers: int | None = None,
    on_done: Callable[[int], None] | None = None,
    parts: Parts | None = None,
) -> Iterator[ChunkResult]:
    """Convert the tasks; results come in task order. `workers` default: one per core.

    `on_done(bytes)` is called for each chunk when its result comes out. Raises the first error in task
    order, WorkerFailed where a worker died; workers are killed when the iterator is closed, runs out or
    is interrupted. With `parts`, whose plan the tasks are, only what they do not hold is converted.
    """
    fresh = tasks if parts is None else parts.fresh(tasks)
    count = _workers(fresh, workers)
    results = _here(fresh) if count <= 1 else _in_workers(fresh, count)
    with contextlib.closing(results):
        every = results if parts is None else parts.woven(tasks, results)
        for index, result in enumerate(_settled(tasks, every)):
            if on_done is not None:
                on_done(tasks[index].weight)
            yield result


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _workers(tasks: Sequence[ChunkTask], asked: int | None) -> int:
    work = sum(task.weight for task in tasks)
    if work < LITTLE or not sys.executable:
        return 1
    return max(1, min(asked or available_cores(), len(tasks), 1 + work // LITTLE))


def _settled(tasks: Sequence[ChunkTask], results: Iterator[ChunkResult]) -> Iterator[ChunkResult]:
    """Turns the remarks of all chunks of a file into one note each, in the ledger of its last chunk."""
    counted: dict[str, tuple[int, int]] = {}
    for index, result in enumerate(results):
        for text, remark in result.remarks.items():
            count, offset = counted.get(text, (0, remark.offset))
            counted[text] = (count + remark.count, offset)
        path = tasks[index].file.path
        if index + 1 == len(tasks) or tasks[index + 1].file.path != path:
            for text, (count, offset) in counted.items():
                times = f" ({count:,} times)" if count > 1 else ""
                result.ledger.note(tasks[index].file.name, offset, text + times)
            counted = {}
        yield result


def _here(tasks: Sequence[ChunkTask]) -> Results:
    for task in tasks:
        yield convert_chunk(task)


def _in_workers(tasks: Sequence[ChunkTask], count: int) -> Results:
    todo: SimpleQueue[int | None] = SimpleQueue()
    done: SimpleQueue[tuple[int, Outcome]] = SimpleQueue()
    crew: list[_Worker] = []
    try:
        crew += [_Worker(tasks, todo, done) for _ in range(count)]
        waiting: dict[int, Outcome] = {}
        sent = 0
        for turn in range(len(tasks)):
            while sent < min(len(tasks), turn + AHEAD * count):
                todo.put(sent)
                sent += 1
            while turn not in waiting:
                index, outcome = done.get()
                waiting[index] = outcome
            outcome = waiting.pop(turn)
            if isinstance(outcome, RollprofError):
                raise outcome
            yield outcome
    finally:
        for worker in crew:
            worker.kill()
        for _ in crew:
            todo.put(None)
        for worker in crew:
            worker.join()


@dataclass(slots=True)
class _Process:
    """A worker process and the ends of its pipes."""

    popen: subprocess.Popen[bytes]
    errors: IO[bytes]

    @property
    def tasks(self) -> BinaryIO:
        return cast(BinaryIO, self.popen.stdin)

    @property
    def results(self) -> BinaryIO:
        return cast(BinaryIO, self.popen.stdout)

    def end(self) -> None:
        self.popen.kill()
        self.popen.wait()
        for stream in (self.tasks, self.results, self.errors):
            with contextlib.suppress(OSError):
                stream.close()

    def why(self) -> str:
        """What is known of its death."""
        code = self.popen.wait()
        self.errors.seek(0)
        last = self.errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{how}, {last[:200]}" if last else how


class _Worker:
    """A thread that feeds one worker process."""

    def __init__(
        self,
        tasks: Sequence[ChunkTask],
        todo: SimpleQueue[int | None],
        done: SimpleQueue[tuple[int, Outcome]],
    ) -> None:
        self._tasks = tasks
        self._todo = todo
        self._done = done
        self._killed = False
        self._process = _start()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def kill(self) -> None:
        """Ends the process at once; its thread follows."""
        self._killed = True
        self._process.popen.kill()

    def join(self) -> None:
        """Waits for the thread of a killed process."""
        self._thread.join(PATIENCE_S)

    def _serve(self) -> None:
        try:
            while (index := self._todo.get()) is not None and not self._killed:
                outcome = self._convert(self._tasks[index])
                self._done.put((index, outcome))
        finally:
            self._process.end()

    def _convert(self, task: ChunkTask) -> Outcome:
        try:
            frame = wire.encode_task(task)
        except UnicodeEncodeError:  # a path that is no UTF-8 does not travel
            return _local(task)
        answer = None
        with contextlib.suppress(OSError, ValueError):  # a dead process: told by the missing answer
            wire.write_frame(self._process.tasks, frame)
            answer = wire.read_frame(self._process.results)
        if answer is None:
            return self._death(task)
        try:
            return wire.decode_reply(answer, task)
        except RollprofError as error:
            return error

    def _death(self, task: ChunkTask) -> RollprofError:
        why = self._process.why()
        if not self._killed:  # the others' tasks still want a worker
            self._process.end()
            self._process = _start()
        return WorkerFailed(
            f"{task.file.name}: the process that converted it ended unexpectedly ({why})",
            hint="if memory ran out, use fewer workers",
        )


def _local(task: ChunkTask) -> Outcome:
    try:
        return convert_chunk(task)
    except RollprofError as error:
        return error
    except Exception as error:
        return WorkerFailed(f"{task.file.name}: internal error while converting it: {error}")


def _start() -> _Process:
    errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
    path = os.pathsep.join(p or os.getcwd() for p in sys.path)  # noqa: PTH109
    popen = subprocess.Popen(
        [sys.executable, "-P", "-m", "rollprof.parallel.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **CHILD_ENVIRONMENT, "PYTHONPATH": path},
    )
    return _Process(popen, errors)
