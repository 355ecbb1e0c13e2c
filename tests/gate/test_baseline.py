"""Baselines: the same run passes, a slower engine fails, longer answers on the same engine pass."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rollprof import api
from rollprof.errors import InputProblem
from rollprof.gate.baseline import baseline_of, dumps, loads

Rollprof = Callable[..., "subprocess.CompletedProcess[str]"]
Made = Callable[..., Path]


@pytest.fixture
def baseline(rollprof: Rollprof, made: Made, tmp_path: Path) -> Path:
    """Of twenty-four steps."""
    done = rollprof("check", made(seed=1), "--write-baseline", "base.json")
    assert (done.returncode, done.stdout) == (0, ""), done
    assert "base.json written: baseline of 24 steps" in done.stderr
    return tmp_path / "base.json"


@pytest.mark.parametrize("sample", ["verl", "openrlhf", "trl", "straggler_512.jsonl"])
def test_a_run_against_itself_passes_any_baseline(
    rollprof: Rollprof, root: Path, tmp_path: Path, sample: str
) -> None:
    run = root / "sample_logs" / sample
    assert rollprof("check", run, "--write-baseline", "b.json").returncode == 0
    document = json.loads((tmp_path / "b.json").read_text())
    rules = [part for name in document["figures"] for part in ("--max-increase", f"{name}=0.0")]
    done = rollprof("check", "--baseline", "b.json", *rules, "--strict")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("holds  ") == len(document["figures"])


def test_a_slower_engine_at_equal_lengths_fails(rollprof: Rollprof, made: Made, baseline: Path) -> None:
    run = made(seed=2, slower=1.2)
    done = rollprof("check", run, "--baseline", baseline, "--max-increase", "generate_s=10%")
    assert done.returncode == 1, done
    text = " ".join(done.stdout.split())
    assert text.startswith("broken generate_s")
    assert "at matched response length" in text
    assert "90 % interval" in text


def test_longer_answers_on_the_same_engine_pass(rollprof: Rollprof, made: Made, baseline: Path) -> None:
    run = made(seed=3, longer=1.6)
    rule = ("--max-increase", "generate_s=10%", "--max-increase", "step_s=10%")
    done = rollprof("check", run, "--baseline", baseline, *rule)
    assert done.returncode == 0, done
    assert done.stdout.count("holds") >= 2
    # though it takes much longer as it is
    old, new = (api.analyze(p).figures["generate_s"].value for p in (made(seed=1), run))
    assert old is not None
    assert new is not None
    assert new > 1.3 * old


def test_noise_fails_no_build(rollprof: Rollprof, made: Made, baseline: Path) -> None:
    run = made(seed=4)
    rule = ("--max-increase", "generate_s=3%", "--max-increase", "response_tokens_p99=0.5%")
    done = rollprof("check", run, "--baseline", baseline, *rule)
    assert done.returncode == 0, done
    assert done.stdout.startswith("holds     generate_s")


def test_an_undecided_increase_says_how_many_steps_it_needs(rollprof: Rollprof, made: Made) -> None:
    rollprof("check", made(seed=1, steps=12, noise=0.1), "--write-baseline", "noisy.json")
    run = made(seed=2, steps=12, noise=0.1, slower=1.12)
    done = rollprof("check", run, "--baseline", "noisy.json", "--max-increase", "generate_s=8%")
    assert done.returncode == 0, done
    assert done.stdout.startswith("undecided generate_s")
    text = " ".join(done.stdout.split())
    assert "steps in each run would decide" in text
    short = made(seed=2, steps=3)
    done = rollprof("check", short, "--baseline", "noisy.json", "--max-increase", "generate_s=1%")
    assert "5 steps in each run are needed to tell it from noise" in " ".join(done.stdout.split())


def test_an_increase_in_the_figures_own_unit(rollprof: Rollprof, made: Made, baseline: Path) -> None:
    run = made(seed=2, slower=1.2)
    for limit, code in (("1.0", 1), ("5.0", 0)):
        done = rollprof("check", run, "--baseline", baseline, "--max-increase", f"generate_s={limit}")
        assert done.returncode == code, done


def test_another_job_is_not_compared(rollprof: Rollprof, made: Made, baseline: Path) -> None:
    rule = ("--baseline", baseline, "--max-increase", "generate_s=10%")
    run = made(seed=2, rollouts=32)
    done = rollprof("check", run, *rule)
    assert done.returncode == 2, done
    assert "batch 64 there, 32 here (--force compares all the same)" in done.stderr
    assert done.stdout == ""
    forced = rollprof("check", run, *rule, "--force")
    assert forced.returncode in (0, 1)
    assert "generate_s" in forced.stdout


def test_a_figure_that_the_baseline_lacks_cannot_be_compared(
    rollprof: Rollprof, made: Made, baseline: Path
) -> None:
    document = json.loads(baseline.read_text())
    del document["figures"]["generate_s"]
    baseline.write_text(json.dumps(document))
    done = rollprof("check", made(seed=2), "--baseline", baseline, "--max-increase", "generate_s=10%")
    assert done.returncode == 2, done
    assert "not in the log of the baseline" in done.stdout


def test_a_run_that_fails_does_not_become_the_baseline(
    rollprof: Rollprof, made: Made, baseline: Path
) -> None:
    before = baseline.read_bytes()
    rule = ("--baseline", baseline, "--max-increase", "generate_s=10%", "--write-baseline", baseline)
    done = rollprof("check", made(seed=2, slower=1.2), *rule)
    assert done.returncode == 1
    assert "not written" in done.stderr
    assert baseline.read_bytes() == before
    assert rollprof("check", made(seed=4), *rule).returncode == 0
    assert baseline.read_bytes() != before


def test_other_files_are_not_replaced(rollprof: Rollprof, made: Made, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("{}")
    done = rollprof("check", made(seed=1), "--write-baseline", "notes.json")
    assert (done.returncode, (tmp_path / "notes.json").read_text()) == (2, "{}")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a baseline"),
        ("[1]", "not a baseline"),
        ('{"kind": "rollprof baseline", "format": 9}', "format 9"),
        ('{"kind": "rollprof baseline", "format": 1}', "damaged"),
        ("[" * 100_000, "not a baseline"),
    ],
)
def test_damaged_baselines_are_refused(text: str, words: str) -> None:
    with pytest.raises(InputProblem, match=words):
        loads(text, "b.json")


def test_every_damaged_value_is_refused_or_read(made: Made) -> None:
    good = json.loads(dumps(baseline_of(api.analyze(made(seed=1))), "0"))
    for bad in ("x", [1], {"a": 1}, True, 1e400):
        for path in (("steps",), ("figures", "step_s"), ("figures", "step_s", "values"), ("of_steps",)):
            document = json.loads(json.dumps(good))
            inner = document
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = bad
            try:
                loads(json.dumps(document), "b.json")
            except InputProblem:
                continue
            assert path == ("of_steps",), (path, bad)


def test_a_baseline_is_read_back_as_it_was(made: Made) -> None:
    baseline = baseline_of(api.analyze(made(seed=1)))
    assert loads(dumps(baseline, "0"), "b.json") == baseline
