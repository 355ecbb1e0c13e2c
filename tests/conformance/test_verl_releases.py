"""What each release of verl writes by its own code is read back as what was put in."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.skipif(find_spec("orjson") is None, reason="verl's file logger writes with orjson"),
    pytest.mark.skipif(find_spec("yaml") is None, reason="verl's configuration is YAML"),
]

RELEASES = (
    *("0.2", "0.3.0.post1", "0.4.0", "0.4.1", "0.5.0", "0.6.0", "0.6.1"),
    *("0.7.0", "0.7.1", "0.8.0", "0.9.0", "0.9.1"),
)
CONSOLE_DIGITS = 6e-4
"""verl up to 0.4.1 prints three decimals."""


@pytest.fixture
def writers(
    request: pytest.FixtureRequest,
    tool: Callable[[str], ModuleType],
    wheel_of: Callable[[str], Path],
) -> Any:
    module = tool("verl_writers")
    return module.Writers(module.Wheel(wheel_of(request.param)))


def opened(folder: Path, out: Path) -> Any:
    from rollprof import api

    return api.open_run([str(folder)], options=api.OpenOptions(output=str(out), workers=1))


def step_rows(dataset: Any) -> dict[int, dict[str, Any]]:
    import polars as pl

    rows = dataset.steps.filter(pl.col("split").cast(pl.String) == "train").collect().to_dicts()
    return {row["step"]: row for row in rows}


def expected(known: Any, release: tuple[int, ...], cap: int, gpus: int) -> dict[str, float]:
    """Columns of steps.parquet that this release's step line determines."""
    n = len(known.response_tokens)
    columns = {
        "generate_s": known.timing["gen"],
        "step_s": known.timing["step"],
        "reference_s": known.timing["ref"],
        "update_s": known.timing["update_actor"],
        "response_tokens_mean": sum(known.response_tokens) / n,
        "response_tokens_max": max(known.response_tokens),
        "response_tokens_min": min(known.response_tokens),
        "prompt_tokens_mean": sum(known.prompt_tokens) / n,
        "truncated_share": known.response_tokens.count(cap) / n,
        "reward_mean": sum(known.scores) / n,
    }
    if release >= (0, 3):
        columns["tokens_total"] = known.tokens_total
        columns["tokens_per_gpu_s"] = known.tokens_total / known.timing["step"] / gpus
    if release >= (0, 5):
        columns["rollout_s_mean"] = sum(known.request_s) / n
        columns["rollout_s_max"] = max(known.request_s)
    return columns


def check_steps(dataset: Any, steps: list[Any], writers: Any, tool: Callable[[str], ModuleType]) -> None:
    run = tool("verl_run")
    rows = step_rows(dataset)
    assert sorted(rows) == [known.step for known in steps]
    for known in steps:
        row = rows[known.step]
        for column, value in expected(known, writers.wheel.release, run.RESPONSE_CAP, run.GPUS).items():
            assert row[column] is not None, column
            assert row[column] == pytest.approx(value, rel=2e-6, abs=CONSOLE_DIGITS), column
    facts = {name: fact["value"] for name, fact in dataset.meta["facts"].items()}
    assert facts["gpus"] == run.GPUS
    assert facts["response_cap"] == run.RESPONSE_CAP
    assert facts["group_size"] == run.SAMPLES
    assert facts["responses_per_step"] == run.ROWS
    assert facts["engines"] == run.GPUS // run.PER_ENGINE


@pytest.mark.parametrize("writers", RELEASES, indirect=True)
def test_everything_a_release_writes(writers: Any, tool: Callable[[str], ModuleType], tmp_path: Path) -> None:
    run = tool("verl_run")
    steps = run.write(writers, tmp_path / "logs")
    dataset = opened(tmp_path / "logs", tmp_path / "dataset")
    assert dataset.meta["framework"] == "verl"
    check_steps(dataset, steps, writers, tool)
    assert (dataset.ledger.skipped, dataset.ledger.repaired) == (0, 0)
    rows = dataset.rollouts.collect().to_dicts()
    if not writers.dumps:
        assert rows == []
        return
    for known in steps:
        mine = [row for row in rows if row["step"] == known.step]
        assert [row["response_tokens"] for row in mine] == known.response_tokens
        assert {row["token_basis"] for row in mine} == {"scaled"}
        assert [row["reward"] for row in mine] == known.scores
        assert [row["correct"] for row in mine] == [score == 1.0 for score in known.scores]
        assert len({row["group_id"] for row in mine}) == run.PROMPTS


@pytest.mark.parametrize("writers", RELEASES, indirect=True)
def test_console_log_alone(writers: Any, tool: Callable[[str], ModuleType], tmp_path: Path) -> None:
    run = tool("verl_run")
    steps = run.write(writers, tmp_path / "logs")
    dataset = opened(tmp_path / "logs" / "console.log", tmp_path / "dataset")
    check_steps(dataset, steps, writers, tool)


@pytest.mark.parametrize("writers", [r for r in RELEASES if r >= "0.6"], indirect=True)
def test_file_logger_alone(writers: Any, tool: Callable[[str], ModuleType], tmp_path: Path) -> None:
    run = tool("verl_run")
    steps = run.write(writers, tmp_path / "logs")
    dataset = opened(tmp_path / "logs" / "metrics.jsonl", tmp_path / "dataset")
    rows = step_rows(dataset)
    for known in steps:
        row = rows[known.step]
        for column, value in expected(known, writers.wheel.release, run.RESPONSE_CAP, run.GPUS).items():
            assert row[column] == pytest.approx(value, rel=2e-6), column
    facts = {name: fact["value"] for name, fact in dataset.meta["facts"].items()}
    assert facts["gpus"] == run.GPUS  # no configuration here: by verl's own identity
    assert facts["responses_per_step"] == run.ROWS


@pytest.mark.parametrize("writers", ["0.8.0", "0.9.0", "0.9.1"], indirect=True)
def test_dumps_of_the_v1_trainer(writers: Any, tool: Callable[[str], ModuleType], tmp_path: Path) -> None:
    run = tool("verl_run")
    steps = run.write_v1(writers, tmp_path / "logs")
    dataset = opened(tmp_path / "logs", tmp_path / "dataset")
    rows = dataset.rollouts.collect().to_dicts()
    assert len(rows) == run.STEPS * run.ROWS  # the padding rows are gone
    assert dataset.ledger.dropped == run.STEPS
    for known in steps:
        mine = [row for row in rows if row["step"] == known.step]
        assert [row["response_chars"] for row in mine] == [2 * n for n in known.response_tokens]
        groups = [row["group_id"] for row in mine]
        assert [groups.index(g) // run.SAMPLES for g in groups] == [i // run.SAMPLES for i in range(run.ROWS)]
        assert [row["sample_index"] for row in mine] == [i % run.SAMPLES for i in range(run.ROWS)]


def test_sample_run_is_what_its_maker_makes(
    root: Path, wheel_of: Callable[[str], Path], tmp_path: Path
) -> None:
    import subprocess
    import sys

    wheels = wheel_of("0.8.0").parent
    maker = root / "sample_logs" / "make_verl.py"
    subprocess.run(
        [sys.executable, str(maker), "--out", str(tmp_path / "v"), "--wheels", str(wheels)], check=True
    )
    kept = root / "sample_logs" / "verl"
    names = sorted(str(p.relative_to(kept)) for p in kept.rglob("*") if p.is_file())
    assert names == sorted(
        str(p.relative_to(tmp_path / "v")) for p in (tmp_path / "v").rglob("*") if p.is_file()
    )
    for name in names:
        if name.startswith("rollouts"):
            assert (kept / name).read_bytes() == (tmp_path / "v" / name).read_bytes(), name
    # sums in numpy may differ in the last digit between processors
    lines = [(p / "metrics.jsonl").read_text().splitlines() for p in (kept, tmp_path / "v")]
    for ours, theirs in zip(*lines, strict=True):
        a, b = json.loads(ours), json.loads(theirs)
        assert a["step"] == b["step"]
        assert a["data"] == pytest.approx(b["data"], rel=1e-6)
