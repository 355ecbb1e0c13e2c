"""`rollprof report` in each of its forms, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rollprof.cli.app import main
from rollprof.cli.report_file import DEFAULT_FILE, form_of, is_ours
from rollprof.errors import UsageProblem


@dataclass(frozen=True)
class Done:
    """What a command printed and ended with."""

    returncode: int
    stdout: str
    stderr: str


Rollprof = Callable[..., Done]
ROWS = [
    {"step": s, "prompt": f"question {p}", "response": "word " * (5 + 7 * p * s), "reward": float(p % 2)}
    for s in (1, 2)
    for p in range(8)
    for _ in range(2)
]


@pytest.fixture
def rollprof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Rollprof:
    """The command line in this process, in an empty folder: it starts often here."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        code = main(arguments)
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "run.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def test_html_needs_no_argument_after_analyze(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    assert rollprof("analyze", log.name).returncode == 0
    done = rollprof("report", "--html")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{DEFAULT_FILE} written" in done.stderr
    text = (tmp_path / DEFAULT_FILE).read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "question 3" not in text
    assert rollprof("report", "--html").returncode == 0, "its own report is replaced"


def test_the_form_follows_the_extension(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    assert rollprof("analyze", log.name).returncode == 0
    for name, start in (
        ("a.html", "<!DOCTYPE html>"),
        ("a.md", "<!-- rollprof report"),
        ("a.json", "{"),
        ("a.txt", "generic log"),
    ):
        done = rollprof("report", "-o", name, "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    assert is_ours(tmp_path / "a.json")
    printed = rollprof("report", "--json")
    assert printed.stdout == (tmp_path / "a.json").read_text(encoding="utf-8")
    assert rollprof("report", "--markdown").stdout == (tmp_path / "a.md").read_text(encoding="utf-8")
    assert rollprof("report", "--html", "-o", "-").stdout == (tmp_path / "a.html").read_text(encoding="utf-8")


def test_a_file_of_somebody_else_is_left_alone(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    assert rollprof("analyze", log.name).returncode == 0
    for name, content in (("x.html", "<html>mine</html>"), ("x.md", "# mine"), ("x.json", '{"rollprof": 1}')):
        (tmp_path / name).write_text(content)
        done = rollprof("report", "-o", name)
        assert done.returncode == 2
        assert "--force replaces it" in done.stderr
        assert (tmp_path / name).read_text() == content
        assert rollprof("report", "-o", name, "--force").returncode == 0
        assert is_ours(tmp_path / name)
    assert list(tmp_path.glob(".x*")) == []


def test_private_text_only_on_demand(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    assert rollprof("analyze", log.name).returncode == 0
    done = rollprof("report", "--html", "--include-text")
    assert done.returncode == 2
    assert "--keep-text" in done.stderr
    assert rollprof("analyze", log.name, "--keep-text", "-o", "kept").returncode == 0
    assert "question" not in rollprof("report", "kept", "--markdown").stdout
    assert "question 7" in rollprof("report", "kept", "--markdown", "--include-text").stdout
    done = rollprof("report", "kept", "--json", "--include-text")
    assert done.returncode == 2


def test_open_shows_the_file_in_a_browser(
    rollprof: Rollprof, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: bool(shown.append(url)))
    assert rollprof("analyze", log.name).returncode == 0
    done = rollprof("report", "--open")
    assert done.returncode == 0
    assert shown == [(tmp_path / DEFAULT_FILE).as_uri()]
    assert "no browser to be found" in done.stderr


def test_what_cannot_be_meant_is_refused() -> None:
    def form(output: str | None, **flags: bool) -> str:
        return form_of(output, **{"html": False, "markdown": False, "json": False, "opened": False, **flags})

    assert form(None) == form("-") == form("x.txt") == "terminal"
    assert form("x.HTM") == form(None, opened=True) == form("odd", html=True) == "html"
    for output, flags in (
        (None, {"html": True, "json": True}),
        ("x.pdf", {}),
        ("x.md", {"opened": True}),
        (None, {"json": True, "opened": True}),
        ("-", {"opened": True}),
    ):
        with pytest.raises(UsageProblem):
            form(output, **flags)


def test_replays_and_another_run_join_the_report(rollprof: Rollprof, log: Path, tmp_path: Path) -> None:
    longer = tmp_path / "longer.jsonl"
    longer.write_text("".join(json.dumps({**row, "response": row["response"] * 2}) + "\n" for row in ROWS))
    assert rollprof("analyze", log.name).returncode == 0
    done = rollprof("report", "--markdown", "--whatif", "--against", longer.name)
    assert (done.returncode, done.stderr) == (0, "")
    assert "## What if" in done.stdout
    assert "| figure | longer.jsonl | this run |" in done.stdout
    found = json.loads(rollprof("report", "--json", "--whatif").stdout)["whatif"]
    assert {"calibration", "baseline", "policies", "advice"} <= found.keys()
    assert json.loads(rollprof("report", "--json").stdout)["whatif"] is None
    assert rollprof("report", "--html", "--whatif", "--against", longer.name, "-o", "r.html").returncode == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'id="whatif"' in page
    assert 'id="against"' in page


def test_a_refused_replay_costs_its_section_only(rollprof: Rollprof, tmp_path: Path) -> None:
    # two columns of a step: one alone is not taken for a log of steps
    rows = [{"step": s, "step_s": 10.0 + s, "reward_mean": 0.5} for s in range(1, 5)]
    file = tmp_path / "steps.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = rollprof("report", file.name, "--markdown", "--whatif")
    assert done.returncode == 0, done.stderr
    assert "Not replayed: nothing to replay" in done.stdout


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (("--whatif",), "rollprof whatif"),
        (("--against", "x"), "rollprof compare"),
        (("--against", "x", "--json"), "rollprof compare"),
    ],
)
def test_extras_need_a_form_that_holds_them(
    rollprof: Rollprof, log: Path, flags: tuple[str, ...], hint: str
) -> None:
    done = rollprof("report", log.name, *flags)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in done.stderr
