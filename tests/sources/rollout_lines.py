"""Twenty rollouts as a framework logs them, and the ways in which such files get spoiled."""

from __future__ import annotations

import json
from typing import Any

ROWS: list[dict[str, Any]] = [
    {
        "input": f"user\nQuestion {i // 2}: what is {i} + 2²? " + "x" * (50 + i),
        "output": "Let x = \\frac{1}{2}\n" + "word " * (20 + 7 * i) + '因此 "42" {done}',
        "gts": "7",
        "score": float(i % 2),
        "step": 1 + i // 4,
    }
    for i in range(20)
]
LINES = [json.dumps(row, ensure_ascii=False).encode() for row in ROWS]
WHOLE = b"\n".join(LINES) + b"\n"
SPOILED = 10
"""Index of the row that is spoiled."""


def with_row(replacement: bytes | None) -> bytes:
    """The file with row 10 replaced (left out for None)."""
    middle = [] if replacement is None else [replacement]
    return b"\n".join([*LINES[:SPOILED], *middle, *LINES[SPOILED + 1 :]]) + b"\n"


def changed(**values: Any) -> bytes:
    """Row 10 with other values, as Python's json.dumps writes it."""
    return json.dumps({**ROWS[SPOILED], **values}).encode()


def in_output(raw: bytes) -> bytes:
    """Row 10 with raw bytes in the middle of its output."""
    return LINES[SPOILED].replace(b'"output": "Let', b'"output": "Let ' + raw, 1)


def physical_lines(data: bytes) -> int:
    """Lines as `wc -l` counts them, and one more for a rest without a line end."""
    return data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


# name -> (bytes, rows, lines repaired, lines skipped)
CASES: dict[str, tuple[bytes, int, int, int]] = {
    "whole": (WHOLE, 20, 0, 0),
    "no_final_newline": (WHOLE[:-1], 20, 0, 0),
    "crlf": (b"\r\n".join(LINES) + b"\r\n", 20, 0, 0),
    "blank_lines": (b"\n\n".join(LINES) + b"\n\n \t\n", 20, 0, 0),
    "byte_order_mark": (b"\xef\xbb\xbf" + WHOLE, 20, 1, 0),
    "nan": (with_row(changed(score=float("nan"))), 20, 0, 0),
    "infinity": (with_row(changed(score=float("-inf"))), 20, 0, 0),
    "large_integer": (with_row(changed(step=2**70)), 20, 0, 0),
    "enormous_integer": (with_row(changed(step=10**3999)), 20, 0, 0),
    "overflowing_float": (with_row(LINES[10].replace(b'"score": 0.0', b'"score": 1e999')), 20, 0, 0),
    "escaped_lone_surrogate": (with_row(changed(output="a\ud800b")), 20, 0, 0),
    "escaped_nul": (with_row(changed(output="a\x00b")), 20, 0, 0),
    "line_separators": (with_row(in_output("a\u2028b\u2029c\x85d".encode())), 20, 0, 0),
    "repeated_key": (with_row(LINES[10][:-1] + b', "score": 99.0}'), 20, 0, 0),
    "raw_lone_surrogate": (with_row(in_output(b"\xed\xa0\x80")), 20, 1, 0),
    "invalid_utf8": (with_row(in_output(b"\xff\xfe")), 20, 1, 0),
    "raw_tab": (with_row(in_output(b"\t")), 20, 1, 0),
    "raw_nul": (with_row(in_output(b"\0")), 20, 1, 0),
    "nuls_before_a_line": (with_row(b"\0" * 500 + LINES[10]), 20, 1, 0),
    "nuls_after_a_line": (with_row(LINES[10] + b"\0" * 500), 20, 1, 0),
    "two_on_one_line": (WHOLE.replace(LINES[10] + b"\n", LINES[10], 1), 20, 1, 0),
    "three_on_one_line": (with_row(LINES[10] + b" " + LINES[10] + b"," + LINES[10]), 22, 1, 0),
    "text_before_a_record": (with_row(b"Traceback (most recent call last): " + LINES[10]), 20, 1, 0),
    "text_after_a_record": (with_row(LINES[10] + b"Killed"), 20, 1, 0),
    "half_then_whole": (with_row(LINES[10][:60] + LINES[10]), 20, 1, 0),
    "half_line": (with_row(LINES[10][:40]), 19, 0, 1),
    "half_line_before_nested": (with_row(b'{"input": "x", "extra": {"calls": 3}, "out'), 19, 0, 1),
    "rest_of_a_line": (with_row(b'and so on", "extra": {"calls": 3}, "score": 1.0}'), 19, 0, 1),
    "rest_that_ends_nested": (with_row(b'and so on", "extra": {"calls": 3}}'), 19, 0, 1),
    "closed_too_early": (with_row(b'{"input": "x"}, "output": "y", "score": 1.0}'), 19, 0, 1),
    "log_text": (with_row(b"Traceback (most recent call last):"), 19, 0, 1),
    "null": (with_row(b"null"), 19, 0, 1),
    "list": (with_row(b"[1, 2]"), 19, 0, 1),
    "number": (with_row(b"17"), 19, 0, 1),
    "nul_line": (with_row(b"\0" * 40), 19, 0, 1),
    "deep": (with_row(b'{"input": ' + b"[" * 200_000), 19, 0, 1),
    "truncated_tail": (WHOLE[: -len(LINES[-1]) // 2], 19, 0, 1),
    "empty": (b"", 0, 0, 0),
    "only_newline": (b"\n", 0, 0, 0),
}
