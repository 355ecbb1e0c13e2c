"""Opening plain and compressed files, whole and broken; knowing them again; standard input."""

from __future__ import annotations

import builtins
import gzip
import io
import random
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rollprof.errors import InputProblem, MissingExtra
from rollprof.sources.opening import (
    damage_of,
    detect_compression,
    fingerprint,
    open_bytes,
    spool_stdin,
)

TEXT = "".join(f"line {i}: {random.Random(i).random()}\n" for i in range(40_000)).encode()


def unpacked(path: Path, compression: str) -> tuple[bytes, str | None]:
    with open_bytes(str(path), compression) as stream:
        return stream.read(), damage_of(stream)


def saved(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "log.txt"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "compression"),
    [
        (TEXT, "none"),
        (b"", "none"),
        (gzip.compress(TEXT), "gz"),
        (gzip.compress(TEXT[:70]) + gzip.compress(TEXT[70:]), "gz"),
        (gzip.compress(TEXT) + b"\0" * 512, "gz"),
        (zstandard.compress(TEXT), "zst"),
        (zstandard.compress(TEXT[:70]) + zstandard.compress(TEXT[70:]), "zst"),
    ],
)
def test_whole_files(tmp_path: Path, data: bytes, compression: str) -> None:
    path = saved(tmp_path, data)  # the name says nothing, the first bytes do
    assert detect_compression(str(path)) == compression
    assert unpacked(path, compression) == (TEXT if data else b"", None)


@pytest.mark.parametrize(("pack", "compression"), [(gzip.compress, "gz"), (zstandard.compress, "zst")])
def test_a_cut_tail_keeps_what_came_before(tmp_path: Path, pack: Any, compression: str) -> None:
    packed = pack(TEXT)
    for size in (len(packed) - 3, len(packed) // 2, 3):
        got, damage = unpacked(saved(tmp_path, packed[:size]), compression)
        assert TEXT.startswith(got)
        assert len(got) > len(TEXT) * (size / len(packed)) - 300_000
        assert damage is not None
        assert "ends early" in damage


def test_a_cut_gzip_member_after_a_whole_one(tmp_path: Path) -> None:
    data = gzip.compress(TEXT) + gzip.compress(TEXT)[:100]
    got, damage = unpacked(saved(tmp_path, data), "gz")
    assert got.startswith(TEXT)
    assert damage == "gzip stream ends early: the rest is lost"


def test_damage_inside_gzip_keeps_what_came_before(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT))
    middle = len(packed) // 2
    packed[middle : middle + 8] = b"\xff" * 8
    got, damage = unpacked(saved(tmp_path, bytes(packed)), "gz")
    assert damage is not None
    assert "damaged" in damage
    with zlib_stream(bytes(packed[:middle])) as same:
        assert got.startswith(same)
        assert len(same) > len(TEXT) // 3


class zlib_stream:  # noqa: N801
    """What zlib itself gives of a prefix."""

    def __init__(self, packed: bytes) -> None:
        self.data = zlib.decompressobj(31).decompress(packed)

    def __enter__(self) -> bytes:
        return self.data

    def __exit__(self, *_: object) -> None: ...


def test_garbage_after_gzip_is_damage_not_data(tmp_path: Path) -> None:
    got, damage = unpacked(saved(tmp_path, gzip.compress(TEXT) + b"garbage"), "gz")
    assert got == TEXT
    assert damage is not None
    assert damage.startswith("gzip stream is damaged")


def test_a_bomb_unpacks_piece_by_piece(tmp_path: Path) -> None:
    path = saved(tmp_path, gzip.compress(b"\0" * 200_000_000, 9))
    with open_bytes(str(path), "gz") as stream:
        assert stream.read(10) == b"\0" * 10
        raw = stream.raw  # type: ignore[attr-defined]
        assert len(raw._ready) <= 1 << 20


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2000), st.binary(min_size=1, max_size=20), st.sampled_from(["gz", "zst"]))
def test_no_damage_raises(
    tmp_path_factory: pytest.TempPathFactory, where: int, what: bytes, compression: str
) -> None:
    packed = (gzip.compress if compression == "gz" else zstandard.compress)(TEXT[:20_000])
    path = tmp_path_factory.mktemp("d") / "x"
    path.write_bytes(packed[:where] + what + packed[where + len(what) :])
    got, _ = unpacked(path, compression)
    assert isinstance(got, bytes)


def test_zstd_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, zstandard.compress(TEXT))
    real = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "zstandard":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtra) as problem:
        open_bytes(str(path), "zst")
    assert problem.value.hint == 'pip install "rollprof[zstd]"'


def test_fingerprints(tmp_path: Path) -> None:
    def of(data: bytes) -> str:
        return fingerprint(str(saved(tmp_path, data)))

    assert of(TEXT) == of(TEXT)
    different = [
        TEXT,
        TEXT + b"x",
        b"X" + TEXT[1:],
        TEXT[:-1] + b"X",
        b"",
        b"x",
        TEXT[:70_000],
        TEXT[:140_000],
    ]
    assert len({of(data) for data in different}) == len(different)
    assert len(of(b"")) == 32


def test_standard_input_is_kept_for_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        buffer = io.BytesIO(TEXT)

    monkeypatch.setattr(sys, "stdin", Fake())
    path = Path(spool_stdin())
    assert path.read_bytes() == TEXT
    path.unlink()


def test_what_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputProblem, match="No such file"):
        open_bytes(str(tmp_path / "gone"))
    with pytest.raises(InputProblem, match="directory"):
        detect_compression(str(tmp_path))
