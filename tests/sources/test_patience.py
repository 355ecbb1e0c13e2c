"""Input made to be slow: no reader takes much longer for damage than for size.

The sizes are such that work that grows with the square of the input would take minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from rollprof.schema.ledger import Ledger
from rollprof.sources.console import read_console
from rollprof.sources.documents import read_json_document
from rollprof.sources.lines import read_json_lines
from rollprof.sources.records import SniffedFile

AsFile = Callable[..., SniffedFile]
N, M = 60_000, 10_000
ESCAPE = b"\x1b"

CONSOLE = {
    "prefixes": b"(A pid=1) x" * N,
    "nested prefixes": b"(A pid=1) " * N,
    "parentheses": b"x(" * N * 4 + b" pid=",
    "escapes": ESCAPE + b"[" + (ESCAPE + b"]") * N,
    "colours": (ESCAPE + b"[36m(") * N,
    "bars": b"T:  1%|=| 1/2 [00:01<00:01, 1it/s]" * N,
    "carriage returns": b"a\r" * N,
    "colons": b"\r" + b": " * N + b"[",
    "digits": b"\r" + b"1" * N + b"[",
    "repeats": b" [repeated 2x across cluster]" * N,
}
LINES = {
    "glued": b'{"a":1}' * N,
    "openings": b'{"a":' * N,
    "halves": b'{"a": "x' * N,
    "junk": b'x{"a":1}y' * N,
    "quotes": b'{"' + b'\\"' * N,
}
DOCUMENTS = {
    "openings": b'{"a":' * M,
    "halves": b'{"a": "x\n' * M,
    "unclosed": b'{\n "a":1,\n' * M,
    "broken": b'[{"a":1,,"b":2},\n' * M,
    "broken on one line": b'{"a":1,,"b":2},' * M,
    "nested": b'[{"a":1},\n' + b'{"b":[{"c":1},{"c":2}],,},\n' * M,
    "never closed": b'[{"a":1,"b":2},\n{"z":[ \n' + b'{"c":{"d":1}},' * M,
}


@pytest.fixture
def watch() -> Iterator[None]:
    """CPU time, so that a busy machine does not matter."""
    start = time.process_time()
    yield
    assert time.process_time() - start < 12


@pytest.mark.parametrize("case", CONSOLE)
def test_console(as_file: AsFile, watch: None, case: str) -> None:
    ledger = Ledger()
    for _ in read_console(as_file(CONSOLE[case] + b"\n", kind="text"), ledger):
        pass
    assert ledger.lines == 1


@pytest.mark.parametrize("case", LINES)
def test_json_lines(as_file: AsFile, watch: None, case: str) -> None:
    ledger = Ledger()
    for _ in read_json_lines(as_file(LINES[case], kind="json_lines"), ledger):
        pass
    assert ledger.lines == 1


@pytest.mark.parametrize("case", DOCUMENTS)
def test_json_documents(as_file: AsFile, watch: None, case: str) -> None:
    ledger = Ledger()
    data = DOCUMENTS[case]
    for _ in read_json_document(as_file(data, kind="json_document"), ledger):
        pass
    assert ledger.lines == data.count(b"\n") + (not data.endswith(b"\n"))
