"""Every exit code, as the shell sees it; one line on stderr; never a traceback."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Rollprof = Callable[..., "subprocess.CompletedProcess[str]"]
BOOM = "import rollprof.analyzers.registry as r\ndef spec(name): raise {}\nr.spec = spec"


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("rollprof: ")
    return done.stderr.strip()


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("-h",), ("schema",), ("explain",)])
def test_done_is_0(rollprof: Rollprof, arguments: tuple[str, ...]) -> None:
    done = rollprof(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nope",), "No such command 'nope' (rollprof --help)"),
        (("analyz",), "Did you mean 'analyze'?"),
        (("analyze", "--nope"), "No such option: --nope"),
        (("analyze", "--steps"), "--steps"),
        (("analyze", "--steps", "9:1"), "ends before it starts"),
        (("analyze", "--gpu-hour-cost", "cheap"), "--gpu-hour-cost"),
        (("explain", "slot_idel"), "no figure is called slot_idel (did you mean slot_idle"),
        (("explain", "a", "b"), "explain"),
        (("convert",), "Missing argument"),
        (("report",), "no run given"),
        (("analyze",), "no run given, and no dataset in .rollprof (rollprof analyze RUN)"),
    ],
)
def test_bad_usage_is_2(rollprof: Rollprof, arguments: tuple[str, ...], words: str) -> None:
    done = rollprof(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in one_line(done)


def test_no_command_shows_help_and_is_bad_usage(rollprof: Rollprof) -> None:
    done = rollprof()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: rollprof" in done.stderr


def test_bad_configuration_is_2(rollprof: Rollprof, tmp_path: Path) -> None:
    (tmp_path / "rollprof.toml").write_text("# first\ngpu_hour_cots = 2\n")
    done = rollprof("report")
    assert done.returncode == 2
    assert one_line(done).endswith("rollprof.toml:2: unknown key gpu_hour_cots (did you mean gpu_hour_cost?)")


def test_bad_environment_is_2(rollprof: Rollprof) -> None:
    done = rollprof("report", env={"ROLLPROF_SPLIT": "test"})
    assert done.returncode == 2
    assert "ROLLPROF_SPLIT: split must be one of train, eval" in one_line(done)


def test_internal_errors_are_70_and_one_line(rollprof: Rollprof) -> None:
    done = rollprof("explain", "x", patch=BOOM.format("KeyError('lost\\n\\x1b[31m')"))
    assert (done.returncode, done.stdout) == (70, "")
    line = one_line(done)
    assert line.startswith("rollprof: internal error: KeyError: ")
    assert "ROLLPROF_DEBUG=1" in line
    assert "\x1b" not in line


def test_debug_shows_the_traceback(rollprof: Rollprof) -> None:
    boom = BOOM.format("KeyError('lost')")
    done = rollprof("explain", "x", patch=boom, env={"ROLLPROF_DEBUG": "1"})
    assert done.returncode == 70
    assert "Traceback (most recent call last)" in done.stderr
    assert "Traceback" not in rollprof("explain", "x", patch=boom, env={"ROLLPROF_DEBUG": "0"}).stderr


@pytest.mark.parametrize("what", ["MemoryError()", "RecursionError('deep')", "AssertionError()"])
def test_other_internal_errors(rollprof: Rollprof, what: str) -> None:
    done = rollprof("explain", "x", patch=BOOM.format(what))
    assert done.returncode == 70
    one_line(done)


def test_trouble_with_files_is_2(rollprof: Rollprof) -> None:
    done = rollprof(
        "explain", "x", patch=BOOM.format("PermissionError(13, 'Permission denied', '/data/x.jsonl')")
    )
    assert done.returncode == 2
    assert one_line(done) == "rollprof: /data/x.jsonl: Permission denied"


def test_ctrl_c_is_130(tmp_path: Path) -> None:
    code = (
        "import rollprof.analyzers.registry as r, time, sys\n"
        "def spec(name):\n    print('here', flush=True)\n    time.sleep(60)\n"
        "r.spec = spec\nsys.argv = ['rollprof', 'explain', 'x']\n"
        "from rollprof.cli.app import main\nsys.exit(main())"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert (process.returncode, stderr) == (130, "rollprof: interrupted\n")


@pytest.mark.parametrize("arguments", [("--help",), ("schema",), ("schema", "--json")])
def test_a_reader_that_leaves_is_no_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rollprof", *arguments],
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            timeout=60,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rollprof", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            timeout=60,
        )
    assert done.returncode == 2
    assert one_line(done) == "rollprof: cannot write the result: No space left on device"


def test_help_is_quick(rollprof: Rollprof) -> None:
    """CPU time, the best of five: the clock on the wall belongs to whoever else uses the machine."""
    seconds = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert rollprof("--help").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.3


@pytest.mark.parametrize("verb", ["analyze", "report", "convert", "explain", "schema", "demo"])
def test_every_verb_has_help_with_examples(rollprof: Rollprof, verb: str) -> None:
    done = rollprof(verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Examples:" in done.stdout
    assert f"  rollprof {verb}" in done.stdout
    assert max(map(len, done.stdout.split("\n"))) <= 100


def test_every_verb_that_is_offered_explains_itself(rollprof: Rollprof) -> None:
    listed = rollprof("--help").stdout.split("Commands:")[1].split("Examples:")[0]
    verbs = [line.split()[0] for line in listed.splitlines() if re.match(r"  \w", line)]
    assert {"analyze", "report", "check", "whatif", "compare", "convert", "explain"} <= set(verbs)
    for verb in verbs:
        done = rollprof(verb, "--help")
        assert done.returncode == 0
        assert "Examples:" in done.stdout, verb


def test_our_warnings_are_remarks_and_those_of_libraries_are_not_shown(rollprof: Rollprof) -> None:
    patch = (
        "import rollprof.analyzers.registry as r, warnings\nold = r.spec\n"
        "class Ours(UserWarning): __module__ = 'rollprof.x'\n"
        "def spec(name):\n"
        "    warnings.warn('an adapter\\nis broken', Ours)\n"
        "    warnings.warn('theirs')\n    return old(name)\n"
        "r.spec = spec"
    )
    done = rollprof("explain", "slot_idle", patch=patch)
    assert (done.returncode, done.stderr) == (0, "rollprof: an adapter is broken\n")


@pytest.mark.parametrize(
    ("words", "offered"), [("rollprof ex", "explain"), ("rollprof explain slot_", "slot_idle")]
)
def test_shells_complete_verbs_and_figures(rollprof: Rollprof, words: str, offered: str) -> None:
    env = {
        "_ROLLPROF_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = rollprof(env=env)
    assert (done.returncode, done.stdout.split()) == (0, [offered])


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_poor_encodings_get_ascii(rollprof: Rollprof, encoding: str) -> None:
    done = rollprof("explain", "step_idle", env={"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
