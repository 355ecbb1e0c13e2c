"""Files found: order, names, what is passed over, what leads nowhere."""

from __future__ import annotations

import io
import os
import sys
import threading
from pathlib import Path

import pytest

from rollprof.errors import InputProblem
from rollprof.sources.tree import find_files, natural_key

from .rollout_lines import WHOLE


def grow(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(WHOLE)
    return root


def names(*arguments: str | Path) -> list[str]:
    return [file.name for file in find_files([str(a) for a in arguments])]


def test_numbers_in_names_count_as_numbers(tmp_path: Path) -> None:
    grow(tmp_path, "10.jsonl", "2.jsonl", "1.jsonl", "step_100/x", "step_9/y", "step_9/x")
    assert names(tmp_path) == ["1.jsonl", "2.jsonl", "10.jsonl", "step_9/x", "step_9/y", "step_100/x"]


def test_natural_order_is_an_order() -> None:
    odd = ["", "1", "01", "a1", "a", "1a", "²", "٣", "a/1", "a/b", "10", "9", "-1"]
    ordered = sorted(odd, key=natural_key)
    assert all(sorted(odd[i:] + odd[:i], key=natural_key) == ordered for i in range(len(odd)))


def test_hidden_files_and_datasets_inside_are_passed_over(tmp_path: Path) -> None:
    grow(tmp_path, "a.jsonl", ".hidden", ".git/config", ".rollprof/rollouts.parquet", "run/b.jsonl")
    grow(tmp_path, "out/rollouts.parquet", "out/steps.parquet", "out/ledger.json")
    assert names(tmp_path) == ["a.jsonl", "run/b.jsonl"]
    assert names(tmp_path / ".git") == ["config"]  # asked for by name


def test_links_are_followed_once(tmp_path: Path) -> None:
    grow(tmp_path, "dump/1.jsonl", "else/2.jsonl")
    (tmp_path / "dump" / "again").symlink_to(tmp_path / "dump", target_is_directory=True)
    (tmp_path / "dump" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dump" / "other").symlink_to(tmp_path / "else", target_is_directory=True)
    (tmp_path / "dump" / "dead").symlink_to(tmp_path / "nowhere")
    found = find_files([str(tmp_path / "dump")])
    assert sorted(Path(f.path).name for f in found) == ["1.jsonl", "2.jsonl"]


def test_names_are_what_the_user_would_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, "logs/a/1.jsonl", "logs/b/1.jsonl", "x.log")
    monkeypatch.chdir(tmp_path)
    assert names("logs") == ["a/1.jsonl", "b/1.jsonl"]
    assert names("./x.log", "logs/a/1.jsonl") == ["x.log", "logs/a/1.jsonl"]
    assert names(tmp_path / "x.log") == ["x.log"]
    assert names("logs/*/1.jsonl") == ["logs/a/1.jsonl", "logs/b/1.jsonl"]
    assert names("logs/a", "logs/b") == ["a/1.jsonl", "b/1.jsonl"]  # two "1.jsonl" are told apart


def test_a_file_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, "logs/1.jsonl")
    monkeypatch.chdir(tmp_path)
    assert names("logs/1.jsonl", "logs", "logs/*", tmp_path / "logs") == ["logs/1.jsonl"]


def test_globs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, "logs/10.jsonl", "logs/9.jsonl", "logs/deep/1.jsonl", "logs/x.txt")
    monkeypatch.chdir(tmp_path)
    assert names("logs/*.jsonl") == ["logs/9.jsonl", "logs/10.jsonl"]
    assert names("logs/**/*.jsonl") == ["logs/9.jsonl", "logs/10.jsonl", "logs/deep/1.jsonl"]
    with pytest.raises(InputProblem, match=r"^logs/\*\.csv: no file matches$"):
        names("logs/*.csv")


def test_brackets_in_a_real_name_are_no_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, "run[1]/1.jsonl", "a*b.log")
    monkeypatch.chdir(tmp_path)
    assert names("run[1]", "a*b.log") == ["1.jsonl", "a*b.log"]


@pytest.mark.parametrize("argument", ["gone", "gone/x.jsonl", "s3://bucket/run", "hf://datasets/x"])
def test_what_leads_nowhere_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputProblem) as problem:
        names(argument)
    assert argument in problem.value.message


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("sftp://me:secret@host/run", "sftp://***@host/run"),
        ("sftp://me:secret@host/run@2", "sftp://***@2"),
        ("ssh://me:se@cret@host/x", "ssh://***@host/x"),
        ("ssh://me:sec/ret@host/x", "ssh://***@host/x"),
        ("https://b.s3/x?X-Amz-Signature=secret", "https://b.s3/x?***"),
        ("https://me:sec?ret@b.s3/x?a=secret", "https://***@b.s3/x?***"),
        ("s3://bucket/run", "s3://bucket/run"),
    ],
)
def test_secrets_in_an_address_are_not_repeated(argument: str, shown: str) -> None:
    with pytest.raises(InputProblem) as problem:
        names(argument)
    assert problem.value.message == f"cannot read {shown}: not a local path"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        buffer = io.BytesIO(WHOLE)

    monkeypatch.setattr(sys, "stdin", Fake())
    (file,) = find_files(["-"])
    assert (file.name, file.kind, file.size) == ("standard-input", "json_lines", len(WHOLE))
    Path(file.path).unlink()


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(WHOLE))
    writer.start()
    (file,) = find_files([str(pipe)])
    writer.join()
    assert (file.kind, len(file.objects)) == ("json_lines", 20)
    Path(file.path).unlink()


def test_pipes_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    grow(tmp_path, "1.jsonl")
    os.mkfifo(tmp_path / "pipe")
    assert names(tmp_path) == ["1.jsonl"]


def test_what_cannot_be_read_comes_back_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path, "1.jsonl", "2.jsonl")
    real = Path.open

    def refuse(self: Path, *args: object, **kwargs: object) -> object:
        if self.name == "1.jsonl":
            raise PermissionError(13, "Permission denied")
        return real(self, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    first, second = find_files([str(tmp_path)])
    assert (first.kind, second.kind) == ("binary", "json_lines")
    assert "Permission denied" in first.metadata["problem"]


def test_a_folder_that_cannot_be_listed_comes_back_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path, "ok/1.jsonl", "locked/2.jsonl")
    real = Path.iterdir

    def refuse(self: Path) -> object:
        if self.name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "iterdir", refuse)
    locked, found = find_files([str(tmp_path)])
    assert (locked.name, locked.kind, found.name) == ("locked", "binary", "ok/1.jsonl")
    assert "cannot read the folder" in locked.metadata["problem"]


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    with open(path, "wb") as file:  # noqa: PTH123 (bytes)
        file.write(WHOLE)
    (found,) = find_files([str(tmp_path)])
    assert found.name == "caf\ufffd.jsonl"
    assert os.fsencode(found.path) == path


def test_many_files_stay_light(tmp_path: Path) -> None:
    grow(tmp_path, *(f"{i}.jsonl" for i in range(201)))
    files = find_files([str(tmp_path)])
    assert len(files) == 201
    assert max(len(f.objects) for f in files) == 4
    assert max(len(f.head) for f in files) <= 4096
