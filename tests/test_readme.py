"""What the README shows is what happens: its commands are run and their output is compared.

In README.md, a ```console block holds commands (`$ rollprof …`) and what they print. A line `...` stands for
any lines. `$ echo $?` shows the exit code of the command before it. Other commands are not run. A block
after `<!-- no-test -->` is left alone. All blocks run in one folder, in order, beside a copy of sample_logs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
ANY = ("...", "…")


@dataclass
class Command:
    """A command of the README, the line it stands on and the output it shows."""

    text: str
    line: int
    output: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """A fenced block; `marks` are the HTML comments directly above it."""

    language: str
    line: int
    lines: tuple[str, ...]
    marks: tuple[str, ...]

    def commands(self) -> Iterator[Command]:
        """The block cut at its prompts; a line that ends in a backslash goes on."""
        current: Command | None = None
        for number, text in enumerate(self.lines, self.line + 1):
            if text.startswith("$ "):
                if current:
                    yield current
                current = Command(text[2:], number)
            elif current and not current.output and current.text.endswith("\\"):
                current.text += "\n" + text.removeprefix("> ")
            elif current:
                current.output.append(text)
        if current:
            yield current


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a Markdown text."""
    found: list[Block] = []
    marks: list[str] = []
    inside: tuple[str, int] | None = None
    body: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if inside is not None:
            if line.strip() == "```":
                found.append(Block(*inside, tuple(body), tuple(marks)))
                inside, marks, body = None, [], []
            else:
                body.append(line)
        elif line.startswith("```"):
            inside = (line[3:].strip(), number)
        elif comment := re.fullmatch(r"<!-- (.+?) -->", line.strip()):
            marks.append(comment.group(1))
        elif line.strip():
            marks = []
    return found


def matches(shown: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether `printed` is what is `shown`, where `...` stands for any lines."""
    if not shown:
        return not printed
    if shown[0].strip() in ANY:
        return any(matches(shown[1:], printed[n:]) for n in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and matches(shown[1:], printed[1:])


def trimmed(text: str | Sequence[str]) -> list[str]:
    """Lines without blanks at their ends and without empty lines at either end."""
    lines = [line.rstrip() for line in (text.split("\n") if isinstance(text, str) else text)]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


BLOCKS = blocks(README.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a newcomer would stand: a folder with the sample logs."""
    path = tmp_path_factory.mktemp("readme")
    shutil.copytree(README.parent / "sample_logs", path / "sample_logs")
    return path


def run(command: str, folder: Path) -> tuple[int, list[str]]:
    """Exit code and what a reader would see, on a terminal of 80 columns without colours."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ROLLPROF_", "FORCE_COLOR"))}
    environment |= {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
    )
    return done.returncode, trimmed(done.stdout.decode("utf-8"))


def test_what_the_readme_shows_is_what_happens(folder: Path) -> None:
    wrong: list[str] = []
    ran = 0
    for block in BLOCKS:
        if block.language != "console" or "no-test" in block.marks:
            continue
        code: int | None = None
        expected = 0
        for command in block.commands():
            where = f"README.md:{command.line}: $ {command.text}"
            if command.text.startswith("rollprof "):
                if code:
                    wrong.append(f"{where}: the command before it ended with {code}, which is not shown")
                code, printed = run(command.text, folder)
                ran += 1
                if not matches(trimmed(command.output), printed):
                    wrong.append(where + "\nprints\n" + "\n".join(printed))
            elif command.text == "echo $?" and code is not None:
                expected = int(trimmed(command.output)[0])
                if code != expected:
                    wrong.append(f"{where}: it was {code}")
                code = None
        if code:
            wrong.append(f"README.md:{block.line}: ends with exit code {code}, which is not shown")
    assert not wrong, "\n\n".join(wrong)
    assert ran, "the README shows no output of rollprof"


@pytest.mark.parametrize("purpose", ["run", "test"])
def test_set_up_is_one_line(purpose: str) -> None:
    marked = [block for block in BLOCKS if f"setup:{purpose}" in block.marks]
    assert len(marked) == 1
    lines = [line for line in marked[0].lines if line.strip()]
    assert len(lines) == 1, lines
    assert "pip install" in lines[0]


def test_no_other_set_up_command() -> None:
    setup = [mark for block in BLOCKS for mark in block.marks if mark.startswith("setup:")]
    assert sorted(setup) == ["setup:run", "setup:test"]


def test_files_the_readme_points_to_exist() -> None:
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", README.read_text(encoding="utf-8"))
    assert [link for link in links if not (README.parent / link).exists()] == []


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a"], ["a", "b"], False),
        (["a", "..."], ["a", "b", "c"], True),
        (["...", "c"], ["a", "b", "c"], True),
        (["a", "...", "c"], ["a", "c"], True),
        (["a", "...", "d"], ["a", "b", "c"], False),
        (["..."], [], True),
        ([], ["a"], False),
    ],
)
def test_matching_of_shown_and_printed_lines(shown: list[str], printed: list[str], same: bool) -> None:
    assert matches(shown, printed) is same


def test_blocks_and_commands_are_found() -> None:
    setup = "<!-- setup:run -->\n\n```sh\npip install .\n```\ntext\n"
    session = "```console\n$ rollprof a \\\n>   b\nout\n\n$ echo $?\n2\n```\n"
    first, second = blocks(setup + session)
    assert (first.language, first.marks, first.lines) == ("sh", ("setup:run",), ("pip install .",))
    one, two = second.commands()
    assert (one.text, one.output, one.line) == ("rollprof a \\\n  b", ["out", ""], 8)
    assert (two.text, two.output) == ("echo $?", ["2"])
    assert second.marks == ()
