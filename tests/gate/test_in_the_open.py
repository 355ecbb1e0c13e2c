"""The GitHub Action and the snippets of docs/ci.md, run as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import junitparser
import pytest
import yaml

Made = Callable[..., Path]


@pytest.fixture(scope="module")
def action(root: Path) -> dict[str, Any]:
    return yaml.safe_load((root / "action.yml").read_text())


def step(action: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (s for s in action["runs"]["steps"] if s["name"] == name)
    return found


def run_step(
    action: dict[str, Any], name: str, inputs: dict[str, str], folder: Path
) -> tuple[int, str, dict[str, str]]:
    """Exit code, what it prints, and its outputs: the script with its environment, as the runner does it."""
    known = {n: spec.get("default", "") for n, spec in action["inputs"].items()} | inputs
    one = step(action, name)
    env = {
        variable: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda m: known[m[1]], value)
        for variable, value in one["env"].items()
    }
    output, summary = folder / "output", folder / "summary.md"
    output.touch()
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("ROLLPROF_", "GITHUB_"))}
    github = {
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(folder),
        "RUNNER_TEMP": str(folder),
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", one["run"]],
        env=plain | env | github,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
    return done.returncode, done.stdout + done.stderr, outputs


@pytest.mark.parametrize(("limit", "code"), [("0.99", 0), ("0.01", 1)])
def test_the_action_checks_annotates_and_reports(
    action: dict[str, Any], made: Made, tmp_path: Path, limit: str, code: int
) -> None:
    (tmp_path / "rollprof.toml").write_text(f"[check.rules]\nstep_idle = {{ max = {limit} }}\n")
    inputs = {
        "run": f"{made(steps=12)}\n",
        "rules": "--min-steps=2\n\n--max=step_s=1000\r\n",
        "python": sys.executable,
    }
    rc, printed, outputs = run_step(action, "Check the run", inputs, tmp_path)
    assert rc == code, printed
    assert outputs["exit-code"] == str(code)
    assert ("::error file=rollprof.toml,line=2," in printed) is bool(code)
    assert "### rollprof check" in (tmp_path / "summary.md").read_text()
    reports = Path(outputs["reports"])
    assert json.loads((reports / "rollprof.json").read_text())["exit_code"] == code
    assert junitparser.JUnitXml.fromfile(str(reports / "rollprof.xml")).tests == 2
    assert (reports / "rollprof.prom").read_text().endswith("# EOF\n")
    assert "<html" in (reports / "rollprof.html").read_text()[:2000]


def test_what_inputs_hold_is_never_run(action: dict[str, Any], tmp_path: Path) -> None:
    inputs = {
        "run": "$(touch pwned)",
        "rules": "--max-idle=0.3; touch pwned\n`touch pwned`",
        "python": sys.executable,
    }
    rc, printed, _ = run_step(action, "Check the run", inputs, tmp_path)
    assert rc == 2, printed
    assert not (tmp_path / "pwned").exists()
    for one in action["runs"]["steps"]:
        assert "${{" not in one.get("run", "")


def test_every_input_and_output_is_used(action: dict[str, Any]) -> None:
    text = json.dumps(action["runs"])
    for name in action["inputs"]:
        assert f"inputs.{name}" in text, name
    for output in action["outputs"].values():
        used = re.search(r"steps\.check\.outputs\.([a-z-]+)", output["value"])
        assert used is not None
        assert f"{used[1]}=" in step(action, "Check the run")["run"]


def test_the_reports_are_kept_even_if_the_check_fails(action: dict[str, Any]) -> None:
    last = action["runs"]["steps"][-1]
    assert last["if"].startswith("always()")
    assert last["uses"].startswith("actions/upload-artifact@")


def test_the_installed_step_asks_pip_for_the_action_itself(action: dict[str, Any], tmp_path: Path) -> None:
    """With a pip that only says what it was asked for."""
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\necho "asked: $*"\n')
    fake.chmod(0o755)
    one = step(action, "Install rollprof")
    for install, wanted in (("action", "/the/action"), ("rollprof==0.1.0", "rollprof==0.1.0")):
        env = {
            "PATH": os.environ["PATH"],
            "PYTHON": str(fake),
            "INSTALL": install,
            "ACTION_PATH": "/the/action",
        }
        done = subprocess.run(["bash", "-ec", one["run"]], env=env, capture_output=True, text=True)
        assert done.stdout.split()[-1] == wanted


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "ci.md").read_text()


def snippets(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def run_shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    bin_folder = folder / "bin"
    bin_folder.mkdir(exist_ok=True)
    for name, text in (
        ("rollprof", f'exec "{sys.executable}" -m rollprof "$@"'),
        ("srun", "exit ${SRUN_CODE:-0}"),
    ):
        (bin_folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin_folder / name).chmod(0o755)
    env = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=env, capture_output=True, text=True, timeout=120
    )


@pytest.fixture
def job(made: Made, tmp_path: Path) -> Path:
    """A folder in which outputs/grpo is a run that wastes more than 30 % of its GPU time."""
    (tmp_path / "outputs").mkdir()
    (tmp_path / "outputs" / "grpo").symlink_to(made(steps=12, tail=1.2))
    return tmp_path


def test_shell_snippets_end_as_they_say(page: str, job: Path) -> None:
    scripts = [s for s in snippets(page, "sh") if "outputs/grpo" in s and "sbatch" not in s]
    assert len(scripts) == 4
    for script in scripts:
        done = run_shell(script, job)
        assert "step_idle" in done.stdout, (script, done)
        assert (done.returncode == 1) or "too slow" in done.stdout, (script, done)
        assert done.stderr == "", done


def test_the_gitlab_snippet_runs(page: str, job: Path) -> None:
    (document,) = [d for s in snippets(page, "yaml") if "rollprof" in (d := yaml.safe_load(s))]
    gitlab = document["rollprof"]
    done = run_shell(gitlab["script"][-1], job)
    assert done.returncode == 1, done
    reports = gitlab["artifacts"]["reports"]
    assert junitparser.JUnitXml.fromfile(str(job / reports["junit"])).failures == 1
    assert (job / reports["metrics"]).read_text().endswith("# EOF\n")


def test_the_rules_of_the_page_are_rules(page: str, tmp_path: Path) -> None:
    from rollprof.config import nearest_file
    from rollprof.gate.configured import from_file

    (text,) = snippets(page, "toml")
    (tmp_path / "rollprof.toml").write_text(text)
    assert len(from_file(nearest_file(tmp_path)).rules) == 4


def test_the_github_snippet_names_inputs_of_the_action(page: str, action: dict[str, Any]) -> None:
    (document,) = [d for s in snippets(page, "yaml") if isinstance(d := yaml.safe_load(s), list)]
    assert set(document[0]["with"]) <= set(action["inputs"])
