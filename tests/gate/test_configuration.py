"""Rules in files and in the environment, and messages that say which key, where, and what was meant."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rollprof.config import nearest_file
from rollprof.errors import ConfigProblem
from rollprof.gate.configured import combined, from_environment, from_file
from rollprof.gate.places import line_of, lines_of

Rollprof = Callable[..., "subprocess.CompletedProcess[str]"]

PROJECT = """\
[project]
name = "x"

[tool.rollprof]
quiet = false

[tool.rollprof.check]
skip-steps = 1
min_steps = 5
max_idle = "40%"

[tool.rollprof.check.rules]
step_idle = { max = 0.30, aggregate = "median", level = "error" }
generate_s = { max = 90, max_increase = "10%", level = "warn" }

[tool.rollprof.check.rules.tokens_per_gpu_s]
min = 400
"""


def read(folder: Path, text: str, name: str = "pyproject.toml") -> object:
    (folder / name).write_text(text)
    return from_file(nearest_file(folder))


def test_rules_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    settings = from_file(nearest_file(tmp_path))
    assert settings.values == {"skip_steps": 1, "min_steps": 5}
    found = [
        (r.figure, r.kind, r.limit.value, r.limit.relative, r.aggregate, r.level, r.place.line)
        for r in settings.rules
    ]
    assert found == [
        ("idle", "max", 0.4, False, None, "error", 10),
        ("step_idle", "max", 0.3, False, "median", "error", 13),
        ("generate_s", "max", 90.0, False, None, "warn", 14),
        ("generate_s", "max_increase", 0.1, True, None, "warn", 14),
        ("tokens_per_gpu_s", "min", 400.0, False, None, "error", 17),
    ]


@pytest.mark.parametrize(
    ("text", "line", "key", "hint"),
    [
        ("[check.rules]\n\nstep_idel = { max = 0.3 }\n", 3, "step_idel", "did you mean step_idle?"),
        ("[check.rules]\nstep_idle = { maxx = 0.3 }\n", 2, "maxx", "did you mean max?"),
        ("[check.rules.step_idle]\nmax = 0.3\naggregat = 'p95'\n", 3, "aggregat", "did you mean aggregate?"),
        ("# rules\n[check]\nmin_step = 3\n", 3, "min_step", "did you mean min_steps?"),
        ("[check]\nstep_idle = 0.3\n", 2, "step_idle", "rules stand in [check.rules]"),
        ("[check]\nrulez.step_idle.max = 0.3\n", 2, "rulez", "did you mean rules?"),
        ("quiet = true\n[chek]\nmax_idle = 0.3\n", 2, "chek", "did you mean check?"),
        ("[check]\nrules = { step_idle = { max = 2 } }\n", 2, "2 is not a share", "2% or 0.02"),
        ("[check.rules]\nstep_idle = {}\n", 2, "no limit", "max, min or max_increase"),
        ("[check.rules]\nstep_idle = { max = true }\n", 2, "number", "0.3"),
        ("[check.rules]\nstep_idle = 0.3\n", 2, "step_idle must be a table", None),
        ("[check.rules]\nstep_idle = { max = 0.3, level = 'fatal' }\n", 2, "fatal", "error or warn"),
        ("[check.rules]\nstep_idle = { max = 0.3, aggregate = 1 }\n", 2, "aggregate must be text", None),
        ("[check]\nstrict = 1\n", 2, "strict must be true or false", None),
        ("[check]\nskip_steps = -1\n", 2, "skip_steps", None),
        ("[check]\nreport = [1]\n", 2, "report", None),
    ],
)
def test_a_wrong_key_is_named_with_file_line_and_the_nearest_right_one(
    tmp_path: Path, rollprof: Rollprof, text: str, line: int, key: str, hint: str | None
) -> None:
    file = tmp_path / "rollprof.toml"
    file.write_text(text)
    done = rollprof("check", "--max-idle", "0.3")
    assert done.returncode == 2, done
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert done.stderr.startswith(f"rollprof: {file}:{line}: ")
    assert key in done.stderr
    assert hint is None or hint in done.stderr


def test_other_commands_leave_rules_alone(tmp_path: Path, rollprof: Rollprof) -> None:
    (tmp_path / "rollprof.toml").write_text("[check.rules]\nstep_idel = { max = 0.3 }\n")
    assert rollprof("analyze", "absent.jsonl").stderr.startswith("rollprof: absent.jsonl")


def test_flags_over_environment_over_file(
    tmp_path: Path, rollprof: Rollprof, made: Callable[..., Path]
) -> None:
    run = made(steps=12)
    (tmp_path / "rollprof.toml").write_text("[check]\nmin_steps = 99\n[check.rules]\nstep_s = { max = 1 }\n")
    assert rollprof("check", run).returncode == 2  # too few steps
    assert rollprof("check", run, env={"ROLLPROF_CHECK_MIN_STEPS": "2"}).returncode == 1
    env = {"ROLLPROF_CHECK_MIN_STEPS": "2", "ROLLPROF_CHECK_MAX": "step_s=1000"}
    assert rollprof("check", run, env=env).returncode == 0
    assert rollprof("check", run, "--max", "step_s=2", env=env).returncode == 1
    idle = rollprof("check", run, env={**env, "ROLLPROF_CHECK_MAX_IDLE": "99%"})
    assert "step_idle" in idle.stdout
    bad = rollprof("check", run, env={"ROLLPROF_CHECK_STRICT": "maybe"})
    assert "ROLLPROF_CHECK_STRICT: strict must be true or false" in bad.stderr
    near = rollprof("check", run, env={**env, "ROLLPROF_CHECK_MIN_STEP": "2"})
    assert "did you mean ROLLPROF_CHECK_MIN_STEPS?" in near.stderr
    assert near.stderr.count("\n") == 1


def test_rules_of_one_figure_and_kind_replace_each_other(tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text("[check.rules]\nstep_s = { max = 1, min = 0.5 }\n")
    layers = combined(
        from_file(nearest_file(tmp_path)), from_environment({"ROLLPROF_CHECK_MAX": "step_s=2,generate_s=3"})
    )
    assert [(r.figure, r.kind, r.limit.value) for r in layers.rules] == [
        ("step_s", "max", 2.0),
        ("step_s", "min", 0.5),
        ("generate_s", "max", 3.0),
    ]


def test_lines_of_every_way_to_write_a_key() -> None:
    text = "a.b = 1\n[t.'u v']\n\"x y\" = { p = 1, q = { r = 2 } }\n[[list]]\nk = '''\nfalse = 1\n'''\n"
    lines = lines_of(text)
    assert [line_of(lines, path) for path in (("a",), ("a", "b"), ("t",), ("t", "u v", "x y", "q"))] == [
        1,
        1,
        2,
        3,
    ]
    assert line_of(lines, ("t", "u v", "absent")) == 2
    assert line_of(lines, ("nowhere",)) == 1


def test_a_relative_baseline_lies_beside_its_file(tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text("[check]\nbaseline = 'b.json'\n")
    assert from_file(nearest_file(tmp_path)).values["baseline"] == str(tmp_path / "b.json")
    with pytest.raises(ConfigProblem, match="baseline must be text"):
        read(tmp_path, "[check]\nbaseline = 1\n", "rollprof.toml")
