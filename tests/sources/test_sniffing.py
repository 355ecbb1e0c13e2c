"""Files told by their content."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from rollprof.errors import InputProblem
from rollprof.sources.records import SniffedFile
from rollprof.sources.skeleton import clipped, skeleton
from rollprof.sources.sniffing import HEAD, keys_of, sniff

from .rollout_lines import LINES, ROWS, WHOLE

AsFile = Callable[..., SniffedFile]

BAR = b"\rTraining Progress:   1%|\xe2\x96\x8f         | 1/435 [01:10<8:00:00, 64.47s/it]"
KINDS = {
    "json_lines": [
        WHOLE,
        LINES[0],
        b"\xef\xbb\xbf" + WHOLE,
        b"\n\n" + WHOLE,
        b"\0" * 4096 + WHOLE,
        LINES[0][:50] + b"\n" + WHOLE,  # the first line is broken
        b"Traceback (most recent call last):\n" + WHOLE,
        b"null\n" + WHOLE,
        LINES[0][:50],  # killed inside its first record
        LINES[0][:50] + b"\n",
        b'{"a": NaN}\n',
        b"{}\n",
        b'{"input": "' + b"x" * (2 * HEAD) + b'", "score": 1}\n' + WHOLE,
        b'{"input": "x' * 20_000,  # nothing but damage, and no end of line
        gzip.compress(WHOLE),
        zstandard.compress(WHOLE),
    ],
    "json_document": [
        json.dumps(ROWS).encode(),
        json.dumps(ROWS, indent=2).encode(),
        json.dumps(ROWS[0], indent=1).encode(),
        b"[\n" + b",\n".join(LINES) + b"\n]",
        b"\n".join(json.dumps(row, indent=4).encode() for row in ROWS),
        b"[]",
        b'[{"input": "' + b"x" * (2 * HEAD) + b'"}]',
        b'{\n  "input": "' + b"x" * (2 * HEAD) + b'"\n}\n',
        b"  [ { } ]",
    ],
    "text": [
        b"step:1 - a:1.0\n",
        b"[2024-09-05 09:14:29,066] [INFO] started\n",
        b"{'actor_rollout_ref': {'actor': 1},\n 'x': 2}\n",
        b"\x1b[36m(TaskRunner pid=1)\x1b[0m step:1 - a:1.0\n" * 50,
        BAR * 200,
        b'{"ready": true}\n' + b"step:1 - a:1.0\n" * 50,
        b"[1, 2]\n[3, 4]\n",
        "因此我们可以得到\n".encode() * 300,
        "é".encode("latin-1") + b"t" * 100,
        b"text before a hole\n" + b"\0" * 4096 + b"text after it\n",
        b"loss,reward\n1,2\n",
    ],
    "binary": [
        bytes(range(256)) * 40,
        b"SQLite format 3\0" + b"\0" * 100,
        b"PK\x03\x04" + b"abc" * 100,
        b"\x80\x04\x95" + b"abc" * 100,
        b"\xff\xfes\0t\0e\0p\0",
        (80).to_bytes(8, "little") + b'{"__metadata__": {"format": "pt"}}' + b" " * 60,
        b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x2b" * 50,
    ],
    "empty": [b"", b"\n", b" \r\n\t\n", b"\xef\xbb\xbf", b"\0" * 100],
}


@pytest.mark.parametrize(
    ("kind", "number"), [(kind, i) for kind, samples in KINDS.items() for i in range(len(samples))]
)
def test_kinds(as_file: AsFile, kind: str, number: int) -> None:
    assert as_file(KINDS[kind][number]).kind == kind


def test_what_is_known_of_a_file(as_file: AsFile) -> None:
    file = as_file(WHOLE, "dump.1.jsonl")
    assert (file.name, file.stem, file.size, file.compression) == ("dump.1.jsonl", "dump", len(WHOLE), "none")
    assert Path(file.path).is_absolute()
    assert [row["step"] for row in file.objects] == [row["step"] for row in ROWS]
    assert keys_of(file) == ("input", "output", "gts", "score", "step")
    packed = as_file(gzip.compress(WHOLE))
    assert (packed.compression, packed.objects) == ("gz", file.objects)
    text = as_file(b"step:1\n" * 20_000)
    assert len(text.head) == HEAD


def test_keys_of_a_first_line_of_50_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(json.dumps({"input": "y" * 50_000_000, "score": 1.0, "step": 3}).encode() + b"\n")
    file = sniff(str(path), "x")
    assert file.kind == "json_lines"
    (first,) = file.objects
    assert (first["score"], first["step"], len(first["input"])) == (1.0, 3, 500)
    assert len(file.head) + sum(map(len, map(str, file.objects))) < HEAD


def test_keys_of_a_document_longer_than_the_head(as_file: AsFile) -> None:
    file = as_file(
        json.dumps(
            {"log_history": [{"step": i, "loss": 0.5} for i in range(9000)], "z": 1}, indent=1
        ).encode()
    )
    assert keys_of(file) == ("log_history", "z")
    assert file.objects[0]["log_history"][0] == {"step": 0, "loss": 0.5}


def test_keys_of_a_record_that_was_cut(as_file: AsFile) -> None:
    assert as_file(b'{"step": 3, "input": "abc", "extra": {"n": 1}, "output": "and so').objects == (
        {"step": 3, "input": "abc", "extra": {"n": 1}, "output": ""},
    )


def test_skeletons_and_clips() -> None:
    assert skeleton(b'{"a": [1, 2], "b": [1, ') == {"a": [1, 2], "b": []}
    assert skeleton(b'{"a": nul') == {}
    assert skeleton(b"no object") == {}
    deep: dict[str, object] = {}
    for _ in range(50):
        deep = {"d": deep}
    assert len(json.dumps(clipped(deep))) < 100
    assert clipped({"t": "x" * 9999, "l": list(range(9999))}) == {"t": "x" * 500, "l": list(range(20))}


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputProblem, match="No such file"):
        sniff(str(tmp_path / "gone"), "gone")
    with pytest.raises(InputProblem, match="cannot read the folder"):
        sniff(str(tmp_path), "folder")
