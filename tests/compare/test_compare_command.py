"""`rollprof compare`: the cause of a change in generation time by its name, in every form."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Rollprof = Callable[..., "subprocess.CompletedProcess[str]"]
Made = Callable[..., Path]

CAUSES: Mapping[str, Mapping[str, Any]] = {
    "slower per token": {"seed": 2, "slower": 1.2},
    "faster per token": {"seed": 2, "slower": 0.8},
    "longer answers": {"seed": 3, "longer": 1.6},
    "shorter answers": {"seed": 3, "longer": 0.6},
    "heavier tail": {"seed": 2, "tail": 0.8},
    "waiting elsewhere": {"seed": 2, "elsewhere_s": 8.0},
}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_is_named(rollprof: Rollprof, made: Made, cause: str) -> None:
    done = rollprof("compare", made(seed=1), made(**CAUSES[cause]))
    assert done.returncode == 0, done
    assert f"mainly {cause}." in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.split("\n"))) <= 80


def test_it_is_named_without_the_times_of_rollouts(rollprof: Rollprof, made: Made) -> None:
    base = made(seed=1, times=False)
    for cause in ("slower per token", "longer answers"):
        done = rollprof("compare", base, made(times=False, **CAUSES[cause]))
        assert f"mainly {cause}." in " ".join(done.stdout.split())
        assert "waiting elsewhere is part of the time per token" in " ".join(done.stdout.split())


def test_two_draws_of_one_run_differ_by_noise(rollprof: Rollprof, made: Made) -> None:
    document = json.loads(rollprof("compare", made(seed=1), made(seed=4), "--json").stdout)
    assert document["generation"][0]["main"] == ""
    words = {name: row["changes"][0]["word"] for name, row in document["figures"].items()}
    assert words["generate_s"] == "noise"
    assert words["gpus"] == "same"
    assert sum(word == "real" for word in words.values()) <= 3


def test_json_has_everything_for_three_runs(rollprof: Rollprof, made: Made) -> None:
    runs = (made(seed=1), made(seed=2, slower=1.2), made(seed=3, longer=1.6))
    document = json.loads(rollprof("compare", *runs, "--json").stdout)
    assert [run["label"] for run in document["runs"]] == [run.name for run in runs]
    assert [one["main"] for one in document["generation"]] == ["slower per token", "longer answers"]
    row = document["figures"]["generate_s"]
    assert [len(row["runs"]), len(row["changes"])] == [3, 2]
    assert row["changes"][0]["matched_length"] is True
    assert [sum(shares) for shares in document["lengths"]["shares"]] == pytest.approx([1, 1, 1])
    for one in document["generation"]:
        parts = sum(part["seconds"] for part in one["parts"])
        assert parts == pytest.approx(one["new_s"] - one["old_s"], abs=1e-9)


def test_markdown_tables_are_whole(rollprof: Rollprof, made: Made) -> None:
    text = rollprof("compare", made(seed=1), made(seed=2, slower=1.2), "--markdown").stdout
    assert "mainly slower per token" in text
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) >= 3
    for table in tables:
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1


def test_logs_are_compared_without_touching_the_last_run(
    rollprof: Rollprof, root: Path, tmp_path: Path
) -> None:
    samples = root / "sample_logs"
    done = rollprof("compare", samples / "verl", samples / "openrlhf")
    assert done.returncode == 0, done
    assert "framework: verl → openrlhf" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_run_against_itself_changes_nothing(rollprof: Rollprof, made: Made) -> None:
    run = made(seed=1)
    document = json.loads(rollprof("compare", run, run, "--json").stdout)
    assert {row["changes"][0]["word"] for row in document["figures"].values()} == {"same"}
    assert document["settings"] == {}


@pytest.mark.parametrize("runs", [1, 0])
def test_one_run_is_no_comparison(rollprof: Rollprof, made: Made, runs: int) -> None:
    done = rollprof("compare", *[made(seed=1)] * runs)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
