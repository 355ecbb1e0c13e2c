"""Reports of a verdict, each read back by what reads it: junitparser, a JSON reader, the rules of formats."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import junitparser
import pytest

from rollprof.gate.rules import Limit, Place, Rule
from rollprof.gate.verdict import Outcome, Policy, Verdict
from rollprof.render.verdict import FORMATS, render
from rollprof.render.verdict.markdown import escape

Rollprof = Callable[..., "subprocess.CompletedProcess[str]"]
Made = Callable[..., Path]

PLACE = Place("/repo/ci/rollprof.toml:7", "/repo/ci/rollprof.toml", 7)
HOSTILE = "\x1b[31m]]></error>|`::error::%0A\r\nx\x00 <b>@team</b> \ud800"


def outcome(figure: str, status: str, value: float | None, limit: float = 0.5, **more: object) -> Outcome:
    level = more.pop("level", "error")
    rule = Rule(figure, "max", Limit(limit, f"{limit}"), PLACE, "run", level)  # type: ignore[arg-type]
    interval = None if value is None else (value - 0.01, value + 0.01)
    known = {"value": value, "interval": interval, "basis": "logged", "steps": 12, **more}
    return Outcome(rule, figure, status, "fraction", **known)  # type: ignore[arg-type]


MIXED = Verdict(
    (
        outcome("step_idle", "broken", 0.61, worst=(9, 0.7)),
        outcome("slot_idle", "holds", 0.4),
        outcome("engine_idle", "unknown", None, why=f"not in this log {HOSTILE}", enable=HOSTILE),
        outcome("tail_time_share", "undecided", 0.5, limit=0.502),
        outcome("truncated_share", "broken", 0.9, level="warn", note=HOSTILE),
        outcome("useless_token_share", "skipped", None, why="not in this log"),
    ),
    Policy(),
    12,
)


def test_junit_is_read_back() -> None:
    (suite,) = junitparser.JUnitXml.fromstring(render(MIXED, "junit", root="/repo").encode())
    assert (suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) == ("rollprof", 6, 1, 1, 1)
    cases = {case.name.split()[0]: case for case in suite}
    kinds = {name: [type(r).__name__ for r in case.result] for name, case in cases.items()}
    assert kinds == {
        "step_idle": ["Failure"],
        "slot_idle": [],
        "engine_idle": ["Error"],
        "tail_time_share": [],
        "truncated_share": [],
        "useless_token_share": ["Skipped"],
    }
    failure = cases["step_idle"].result[0]
    assert failure.message == "run 61.0 % > max 50.0 %"
    assert "ci/rollprof.toml:7" in failure.text
    assert cases["step_idle"]._elem.get("file") == "ci/rollprof.toml"
    assert "undecided: run" in cases["tail_time_share"].system_out
    assert "warning: run" in cases["truncated_share"].system_out


def test_junit_fails_what_the_exit_code_fails() -> None:
    strict = Verdict(MIXED.outcomes, Policy(error_on_warning=True), 12)
    (suite,) = junitparser.JUnitXml.fromstring(render(strict, "junit").encode())
    assert suite.failures == 3


def test_github_annotates_the_line_of_the_rule_worst_first() -> None:
    lines = render(MIXED, "github", root="/repo").splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::warning", "::error", "::warning"]
    assert lines[0].startswith("::error file=ci/rollprof.toml,line=7,title=rollprof%3A step_idle broken::")
    assert "run 61.0 %25 > max 50.0 %25" in lines[0]
    for line in lines:  # one command a line, whatever the log held
        assert line.count("::") >= 2
        assert re.fullmatch(r"::(error|warning) file=[^:,]+,line=7,title=[^:,]+::[^\r\n\x00\x1b]+", line)


def test_github_shows_ten() -> None:
    many = Verdict(tuple(outcome("step_idle", "broken", 0.5 + i / 100) for i in range(1, 15)), Policy(), 12)
    lines = render(many, "github").splitlines()
    assert sum(line.startswith("::") for line in lines) == 10
    assert "run 64.0 %25" in lines[0]
    assert lines[-1] == "rollprof: 4 more in the other reports"


def test_github_is_silent_when_all_is_well() -> None:
    assert render(Verdict((outcome("slot_idle", "holds", 0.4),), Policy(), 12), "github") == ""


SAMPLE = re.compile(
    r'(rollprof_[a-z_]+)\{([a-z]+="[^"\\]*"(?:,[a-z]+="[^"\\]*")*)\} (-?\d+\.\d+(?:e[+-]\d+)?)'
)


def test_openmetrics_keeps_its_grammar() -> None:
    lines = render(MIXED, "openmetrics").splitlines()
    assert lines[-1] == "# EOF"
    family, seen = "", set()
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert family not in seen  # one block a family
            seen.add(family)
        elif not line.startswith(f"# HELP {family} "):
            sample = SAMPLE.fullmatch(line)
            assert sample is not None, line
            assert sample[1] == family
            assert (family, sample[2]) not in seen  # one sample a series
            seen.add((family, sample[2]))
    assert 'rollprof_broken{figure="step_idle",aggregate="run",kind="max"} 1.0' in lines
    assert not any("engine_idle" in line for line in lines if line.startswith("rollprof_broken"))


def test_json_is_stable() -> None:
    text = render(MIXED, "json")
    document = json.loads(text)
    assert (document["format"], document["exit_code"], document["failed"]) == (1, 1, True)
    assert document["counts"] == {"broken": 2, "holds": 1, "skipped": 1, "undecided": 1, "unknown": 1}
    assert [rule["figure"] for rule in document["rules"]] == [o.figure for o in MIXED.outcomes]
    assert document["rules"][0]["place"] == {"file": PLACE.file, "line": 7, "text": PLACE.words}
    assert text == json.dumps(document, indent=2, sort_keys=True) + "\n"


def test_markdown_shows_what_the_log_held_literally() -> None:
    rows = [line for line in render(MIXED, "markdown").splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 6
    for row in rows:
        assert re.sub(r"\\.", "", row).count("|") == 6
        assert not re.search(r"(?<!\\)[<@]", row)
    assert rows[2].startswith("| ❌ broken | `step_idle` | run 61.0 %")
    assert escape("a_b*[x](y) <i>") == r"a\_b\*\[x\](y) \<i\>"


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_in_a_report_commands_the_terminal(form: str) -> None:
    text = render(MIXED, form)
    if form != "json":  # which escapes them
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    text.encode()


def test_all_at_once_each_to_its_own_file(rollprof: Rollprof, made: Made, tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text("[check.rules]\n\nstep_idle = { max = 0.01 }\n")
    reports = [part for f in FORMATS if f != "text" for part in ("--report", f"{f}=out/report.{f}")]
    done = rollprof("check", made(steps=12), *reports)
    assert done.returncode == 1, done
    assert done.stdout.startswith("broken    step_idle")  # text, since nothing else goes to the screen
    assert "rollprof.toml:3" in done.stdout
    files = {f: (tmp_path / "out" / f"report.{f}").read_text() for f in FORMATS if f != "text"}
    assert json.loads(files["json"])["failed"] is True
    assert files["github"].startswith("::error file=rollprof.toml,line=3,")
    assert junitparser.JUnitXml.fromstring(files["junit"].encode()).failures == 1
    assert files["openmetrics"].endswith("# EOF\n")
    assert "| ❌ broken | `step_idle` |" in files["markdown"]
    again = rollprof("check", made(steps=12), *reports)
    assert again.returncode == 1
    assert (tmp_path / "out" / "report.markdown").read_text() == files["markdown"]  # replaced, not grown


def test_the_summary_of_a_github_job_is_appended_to(rollprof: Rollprof, made: Made, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# mine\n")
    env = {"GITHUB_STEP_SUMMARY": str(summary)}
    done = rollprof(
        "check",
        made(steps=12),
        "--max-idle",
        "1",
        "--report",
        f"markdown={summary}",
        "--report",
        "github",
        env=env,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert summary.read_text().startswith("# mine\n### rollprof check\n")


def test_json_alone_is_all_of_standard_output(rollprof: Rollprof, made: Made) -> None:
    done = rollprof("check", made(steps=12), "--max-idle", "1", "--report", "json")
    assert json.loads(done.stdout)["exit_code"] == 0


def test_colour_only_where_it_is_asked_for(rollprof: Rollprof, made: Made) -> None:
    run = made(steps=12)
    assert "\x1b" not in rollprof("check", run, "--max-idle", "1").stdout
    assert "\x1b[32m" in rollprof("check", run, "--max-idle", "1", env={"FORCE_COLOR": "1"}).stdout
