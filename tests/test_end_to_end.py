"""The whole way, from a log to the figures, as a user goes it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rollprof import api
from rollprof.analyzers.results import Analysis
from rollprof.errors import InputProblem
from rollprof.schema.checks import validate
from rollprof.schema.store import Dataset

Open = Callable[..., Dataset]


@pytest.fixture
def open_run(tmp_path: Path) -> Open:
    def run(*paths: Path, **options: Any) -> Dataset:
        opened = api.open_run(
            [str(p) for p in paths],
            options=api.OpenOptions(output=str(tmp_path / "dataset"), **options),
        )
        validate(opened)
        return opened

    return run


def facts(dataset: Dataset) -> Mapping[str, Any]:
    return {name: fact["value"] for name, fact in dataset.meta["facts"].items()}


def value(analysis: Analysis, name: str) -> float:
    figure = analysis.figures[name]
    assert figure.value is not None, figure
    return figure.value


def test_the_worked_example(root: Path, open_run: Open) -> None:
    analysis = api.analyze(open_run(root / "sample_logs" / "straggler_512.jsonl"))
    slot = analysis.figures["slot_idle"]
    assert slot.value == pytest.approx(1 - (500 * 2 + 12 * 30) / (512 * 30), abs=1e-6)
    assert slot.basis == "measured"
    assert value(analysis, "tail_time_share") == pytest.approx(28 / 30, abs=1e-6)


def test_console_log_gives_gpus_and_responses(corpus: Path, open_run: Open) -> None:
    dataset = open_run(corpus / "verl/real/08_v0.4.1_grpo_fsdp_ansi.log")
    assert facts(dataset)["gpus"] == 8
    assert set(dataset.steps.collect().filter(split="train")["rollouts"].drop_nulls()) == {5120}


def test_file_logger_of_one_step(corpus: Path, open_run: Open) -> None:
    dataset = open_run(corpus / "verl/real/14_v0.7_filelogger_onestep.jsonl")
    assert facts(dataset)["gpus"] == 4
    assert dataset.steps.collect()["rollouts"].to_list() == [128]
    slot = api.analyze(dataset).figures["slot_idle"]
    assert slot.value == pytest.approx(0.721, abs=5e-4)
    assert slot.basis == "logged"


def test_agent_loop_times_of_one_step(corpus: Path, open_run: Open) -> None:
    analysis = api.analyze(open_run(corpus / "verl/real/20_issue7412_v0.8_grpo_agentloop.log"))
    slot, step = analysis.figures["slot_idle"], analysis.figures["step_idle"]
    assert slot.value == pytest.approx(1 - 266.63931 / 539.54142, abs=1e-5)
    assert slot.basis == "logged"
    assert step.value == pytest.approx(0.235, abs=5e-4)
    assert step.bound == "upper"


@pytest.mark.parametrize(
    "name",
    ["03_v0.2_main_task_crash.log", "11_v0.4_no_steps_tail.log", "24_pr5637_tbreport_table.txt"],
)
def test_nothing_usable_is_one_clear_sentence(corpus: Path, tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rollprof", "analyze", str(corpus / "verl/real" / name)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert list(tmp_path.iterdir()) == []


def test_a_validation_line_is_not_a_training_step(corpus: Path, open_run: Open) -> None:
    steps = open_run(corpus / "verl/real/23_issue2060_v0.4_step0_val_only.log").steps.collect()
    train = steps.filter(split="train")
    assert train["step"].to_list() == [1]
    assert train["response_tokens_mean"].to_list() == [288.698]


@pytest.mark.parametrize("number", ["01", "02", "04", "06", "08", "10", "12", "13", "14", "15", "17", "19"])
def test_every_readable_verl_log_gives_figures(corpus: Path, open_run: Open, number: str) -> None:
    (log,) = (corpus / "verl/real").glob(f"{number}_*")
    analysis = api.analyze(open_run(log))
    assert analysis.run.framework == "verl"
    assert any(f.value is not None or f.interval for f in analysis.figures.values())
    json.dumps(analysis.ledger)


@pytest.mark.parametrize("number", ["20", "21", "22", "23", "25"])
def test_every_excerpt_gives_figures(corpus: Path, open_run: Open, number: str) -> None:
    (log,) = (corpus / "verl/real").glob(f"{number}_*")
    analysis = api.analyze(open_run(log))
    assert analysis.figures["response_tokens_mean"].value


EDGE_19 = ("trunc_last", "corrupt_mid", "corrupt_garbage", "null_row", "array_row")
EDGE_NONE = ("empty", "only_newline")


EDGE_20 = (
    "bigint",
    "blank_lines",
    "bom",
    "crlf",
    "dup_keys",
    "invalid_utf8",
    "json_array",
    "late_type",
    "lone_surrogate_escape",
    "lone_surrogate_raw",
    "merged_lines",
    "missing_col",
    "mixed_extra",
    "mixed_input",
    "mixed_score",
    "nan_inf",
    "no_final_newline",
    "nul_escape",
    "ok",
    "pretty",
    "raw_ctrl",
    "u2028",
)


@pytest.mark.parametrize("case", [*EDGE_20, *EDGE_19, *EDGE_NONE])
def test_damaged_json_lines(corpus: Path, open_run: Open, case: str) -> None:
    path = corpus / "edge_jsonl" / f"{case}.jsonl"
    if case in EDGE_NONE:
        with pytest.raises(InputProblem):
            open_run(path, framework="verl")
        return
    dataset = open_run(path, framework="verl")
    rows = dataset.rollouts.collect().height
    assert rows == (19 if case in EDGE_19 else 20)
    if case in EDGE_19:
        assert dataset.ledger.skipped == 1
        assert len([p for p in dataset.ledger.problems if p.kind == "skipped"]) == 1
    api.analyze(dataset)


def test_scaled_mean_length_equals_the_logged_one(root: Path, open_run: Open) -> None:
    import polars as pl

    dataset = open_run(root / "sample_logs" / "verl")
    rollouts = dataset.rollouts.collect()
    assert set(rollouts["token_basis"].cast(pl.String)) == {"scaled"}
    mine = rollouts.group_by("step").agg(mean=pl.col("response_tokens").mean(), n=pl.len()).sort("step")
    logged = dataset.steps.collect().filter(split="train").sort("step")
    assert mine["step"].to_list() == logged["step"].to_list()
    assert mine["n"].to_list() == logged["rollouts"].to_list()
    for a, b, n in zip(mine["mean"], logged["response_tokens_mean"], mine["n"], strict=True):
        assert a == pytest.approx(b, abs=0.51 / n)


def generic_requests(corpus: Path, name: str, tmp_path: Path, *, times: bool = True) -> Path:
    """The engine's own requests under the generic column names."""
    rows = []
    for line in (corpus / "engine/vllm_0.32_cpu" / name).read_text().splitlines():
        r = json.loads(line)
        row = {
            "step": r["step"],
            "prompt_tokens": r["prompt_len"],
            "response_tokens": r["response_len"],
            "finish_reason": r["finish"],
        }
        if times:
            row |= {"started_at": r["start"], "completed_at": r["end"]}
        rows.append(json.dumps(row))
    out = tmp_path / "requests.jsonl"
    out.write_text("\n".join(rows) + "\n")
    return out


WIDE = (0.672, 0.817, 0.570, 0.726, 0.646)
QUEUE = (0.194, 0.453, 0.525, 0.395)


@pytest.mark.parametrize(
    ("name", "config", "clock"),
    [
        ("wide_256_requests.jsonl", {"engines": "1"}, WIDE),
        ("queue_32slots_requests.jsonl", {"max_num_seqs": "32", "engines": "1"}, QUEUE),
    ],
)
def test_a_real_engine_by_the_clock(
    corpus: Path, open_run: Open, tmp_path: Path, name: str, config: dict[str, str], clock: tuple[float, ...]
) -> None:
    analysis = api.analyze(open_run(generic_requests(corpus, name, tmp_path), config=config))
    for step, wanted in zip(analysis.steps, clock, strict=True):
        figures = step.figures
        slot, effective, engine = (figures[n].value for n in ("slot_idle", "effective_idle", "engine_idle"))
        assert figures["slot_idle"].basis == "measured"
        assert slot == pytest.approx(wanted, abs=1e-3)
        assert slot is not None
        assert effective is not None
        assert engine is not None
        assert engine <= effective <= slot
    assert analysis.figures["slot_idle"].basis == "measured"


@pytest.mark.parametrize(
    ("name", "config", "clock"),
    [
        ("wide_256_requests.jsonl", {"engines": "1"}, WIDE),
        ("queue_32slots_requests.jsonl", {"max_num_seqs": "32", "engines": "1"}, QUEUE),
    ],
)
def test_lengths_alone_give_a_bracket_that_holds_the_clock(
    corpus: Path, open_run: Open, tmp_path: Path, name: str, config: dict[str, str], clock: tuple[float, ...]
) -> None:
    path = generic_requests(corpus, name, tmp_path, times=False)
    analysis = api.analyze(open_run(path, config=config))
    for step, wanted in zip(analysis.steps, clock, strict=True):
        figure = step.figures["slot_idle"]
        assert figure.value is None
        assert figure.basis == "modelled"
        assert figure.interval is not None
        assert figure.interval[0] <= wanted <= figure.interval[1]


@pytest.mark.parametrize(
    ("name", "config", "clock"),
    [
        ("wide_256_requests.jsonl", {"engines": "1"}, WIDE),
        ("queue_32slots_requests.jsonl", {"max_num_seqs": "32", "engines": "1"}, QUEUE),
    ],
)
def test_step_durations_cover_the_clock_or_give_a_bracket(
    corpus: Path, open_run: Open, tmp_path: Path, name: str, config: dict[str, str], clock: tuple[float, ...]
) -> None:
    import polars as pl

    frame = pl.read_ndjson(corpus / "engine/vllm_0.32_cpu" / name)
    spans = frame.group_by("step").agg(s=pl.col("end").max() - pl.col("start").min()).sort("step")
    rollouts = generic_requests(corpus, name, tmp_path, times=False)
    means = frame.group_by("step").agg(m=pl.col("response_len").mean()).sort("step")["m"]
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text(
        "".join(
            json.dumps({"step": s, "generate_s": d, "response_tokens_mean": m}) + "\n"
            for (s, d), m in zip(spans.iter_rows(), means, strict=True)
        )
    )
    analysis = api.analyze(open_run(rollouts, metrics, config=config))
    for step, wanted in zip(analysis.steps, clock, strict=True):
        figure = step.figures["slot_idle"]
        assert figure.interval is not None
        assert figure.interval[0] <= wanted <= figure.interval[1]
        if figure.value is None:
            assert figure.basis == "modelled"
        else:
            assert figure.basis == "calibrated"


def test_a_dataset_is_not_converted_again(root: Path, open_run: Open, tmp_path: Path) -> None:
    dataset = open_run(root / "sample_logs" / "straggler_512.jsonl")
    with pytest.raises(InputProblem, match="is a dataset already"):
        api.convert([str(dataset.path)], options=api.OpenOptions(output=str(tmp_path / "again")))
