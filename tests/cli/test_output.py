"""Where results go, and when they have colour."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from rollprof.cli import output
from rollprof.cli.progress import ProgressBar
from rollprof.errors import UsageProblem


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "colored"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "0"}, False),
        (Terminal(), {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colour(stream: io.StringIO, environ: dict[str, str], colored: bool) -> None:
    assert output.wants_color(stream, environ) is colored


def test_a_pipe_is_80_columns_wide_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert output.screen(io.StringIO(), {}).width == 80
    monkeypatch.setenv("COLUMNS", "140")
    assert output.screen(io.StringIO(), {"COLUMNS": "140"}).width == 140


@pytest.mark.parametrize(
    ("encoding", "speaks"), [("utf-8", True), ("ascii", False), ("latin-1", False), ("?", False)]
)
def test_unicode(encoding: str, speaks: bool) -> None:
    class Stream(io.StringIO):
        pass

    stream = Stream()
    monkey = type("Encoded", (), {"encoding": encoding})()
    assert output.speaks_unicode(monkey) is speaks
    assert not output.speaks_unicode(stream)  # StringIO has no encoding


def test_notes_are_one_clean_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.note("bad\nfile \x1b[31mred")
    assert capsys.readouterr().err == "rollprof: bad file red\n"


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "r.json"
    output.write_file(str(file), "one\n", force=False)
    assert file.read_bytes() == b"one\n"
    with pytest.raises(UsageProblem, match="exists"):
        output.write_file(str(file), "two\n", force=False)
    output.write_file(str(file), "two\n", force=True)
    assert file.read_text() == "two\n"

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        output.write_file(str(file), "three\n", force=True)
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
    assert file.read_text() == "two\n"


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="is a directory"):
        output.write_file(str(tmp_path), "x", force=True)


class Clock:
    """A clock that the test turns."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("rollprof.cli.progress.monotonic", clock)
    return clock


def run_bar(clock: Clock, seconds: float, *, quiet: bool = False) -> None:
    bar = ProgressBar(quiet=quiet)
    bar.start(1000, "reading \x1b[31mrollouts")
    for _ in range(10):
        clock.now += seconds / 10
        bar.advance(100)
    bar.finish()


def test_progress_shows_rate_and_time_left(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    run_bar(clock, 20.0)
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "reading rollouts" in shown
    assert "0.7/1.0 kB" in shown
    assert "50 bytes/s" in shown
    assert "00:06" in shown  # 300 bytes at 50 a second


@pytest.mark.parametrize(("seconds", "quiet"), [(0.9, False), (20.0, True)])
def test_no_progress_for_short_or_quiet_work(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, seconds: float, quiet: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    run_bar(clock, seconds, quiet=quiet)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_no_progress_into_a_pipe(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    run_bar(clock, 20.0)
    assert capsys.readouterr().err == ""
