"""The worker process: `python -m rollprof.parallel.worker` converts the tasks that come on its standard
input and sends results to its standard output, until the input ends.

It dies with its parent, because then its input ends too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys

from rollprof.parallel import wire
from rollprof.parallel.convert import convert_chunk
from rollprof.sources.arrow import without_pandas

CHILD_ENVIRONMENT = {
    # As many processes as cores are at work already.
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # gives memory back between batches
}


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    tasks = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as results:
        os.dup2(2, 1)  # whatever an adapter prints must not mix with the results
        without_pandas()
        gc.freeze()
        while (frame := wire.read_frame(tasks)) is not None:
            with contextlib.suppress(BrokenPipeError):
                wire.write_frame(results, _answer(frame))


def _answer(frame: bytes) -> bytes:
    try:
        return wire.encode_result(convert_chunk(wire.decode_task(frame)))
    except Exception as error:
        return wire.encode_error(error)


if __name__ == "__main__":
    main()
