"""Whole runs: the sample log, and what the optional corpus of real runs is known to hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from rollprof.adapters.base import Evidence, Interpretation, MetricPart
from rollprof.adapters.trl import ADAPTER
from rollprof.api import OpenOptions, open_run
from rollprof.assemble import merge
from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.schema.store import Dataset
from rollprof.sources.sniffing import sniff

LENGTHS = ("response_tokens_mean", "response_tokens_min", "response_tokens_max")
Open = Callable[..., Dataset]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """`opened(path, …)` is the dataset of a log."""

    def run(*paths: Path, **options: Any) -> Dataset:
        output = str(tmp_path / "dataset")
        return open_run(
            [str(p) for p in paths], options=OpenOptions(output=output, workers=1, reuse=False, **options)
        )

    return run


def steps_of(dataset: Dataset, split: str = "train") -> dict[int, dict[str, Any]]:
    return {r["step"]: r for r in dataset.steps.collect().to_dicts() if r["split"] == split}


def reading(path: Path) -> Interpretation:
    """A single file, interpreted alone."""
    file, ledger = sniff(str(path), path.name), Ledger()
    claim = ADAPTER.claim(file)
    assert claim is not None
    parts: list[MetricPart] = ADAPTER.read(file, claim, ledger)
    merged = merge.merge(parts[-1:])
    return ADAPTER.interpret(Evidence(merged.metrics, {}, merged.config, merged.hints, {}, {}))


def lengths(found: Interpretation) -> dict[int, list[float | None]]:
    return {r["step"]: [r.get(c) for c in LENGTHS] for r in found.steps if r["split"] == "train"}


def sample(root: Path) -> Path:
    return root / "sample_logs" / "trl"


def test_the_sample_is_one_run_with_everything_in_it(root: Path, opened: Open) -> None:
    dataset = opened(sample(root))
    meta = dataset.meta
    assert (meta["framework"], meta["framework_version"], meta["trainer"]) == ("trl", "1.16.0", "GRPOTrainer")
    assert meta["alarms"] == []
    roles = [s["role"] for s in meta["sources"]]
    assert (roles.count("rollouts"), roles.count("metrics"), roles.count("console")) == (12, 1, 1)
    assert roles.count("config") == 2
    facts = {name: fact["value"] for name, fact in meta["facts"].items()}
    assert (facts["processes"], facts["engines"], facts["group_size"], facts["response_cap"]) == (
        2,
        2,
        8,
        256,
    )
    assert "gpus" not in facts  # trained on CPU
    assert dataset.ledger.as_dict()["skipped"] == 0


def test_the_sample_agrees_with_its_own_files(root: Path, opened: Open) -> None:
    """Worked out here from trainer_state.json and the Parquet text, without the adapter."""
    import pyarrow.parquet as pq

    folder = sample(root)
    history = json.loads((folder / "out/checkpoint-12/trainer_state.json").read_text())["log_history"]
    dataset = opened(folder, tokenizer=str(folder / "out/checkpoint-12/tokenizer.json"))
    rows = steps_of(dataset)
    rollouts = dataset.rollouts.collect()
    assert rollouts.height == 12 * 128
    for entry in history:
        step = entry["step"]
        table = pq.read_table(folder / f"out/completions/completions_{step:05d}.parquet").to_pylist()
        tokens = [min(len(r["completion"].split()) + 1, 256) for r in table]
        mine = rollouts.filter(rollouts["step"] == step)
        assert mine["response_tokens"].to_list() == tokens
        assert [rows[step][c] for c in LENGTHS] == [
            entry[f"completions/{k}_length"] for k in ("mean", "min", "max")
        ]
        assert fmean(tokens) == pytest.approx(entry["completions/mean_length"], rel=0.03)
        reward = [r["exact"] + 0.5 * r["brevity"] for r in table]
        assert mine["reward"].to_list() == pytest.approx(reward)
        assert fmean(reward) == pytest.approx(entry["reward"], abs=1e-5)
        assert mine["engine"].to_list() == ["rank0"] * 64 + ["rank1"] * 64
        assert mine["group_id"].n_unique() == 16
        assert mine["sample_index"].to_list() == [i % 8 for i in range(128)]
        prompts = [r["prompt"] for r in table]
        assert [len(set(prompts[i : i + 8])) for i in range(0, 128, 8)] == [1] * 16


def test_each_file_of_the_sample_alone_says_the_same(root: Path) -> None:
    state = reading(sample(root) / "out/checkpoint-12/trainer_state.json")
    console = reading(sample(root) / "stdout.log")
    exact, printed = lengths(state), lengths(console)
    assert list(exact) == list(printed) == list(range(1, 13))
    for step, values in exact.items():
        assert printed[step] == [float(f"{v:.4g}") for v in values if v is not None]


def test_the_dump_of_the_sample_alone(root: Path, opened: Open) -> None:
    dataset = opened(sample(root) / "out/completions")
    rollouts = dataset.rollouts.collect()
    assert set(rollouts["token_basis"].to_list()) == {"characters"}
    assert rollouts["group_id"].n_unique() == 12 * 16
    assert rollouts["sample_index"].max() == 7


def test_the_sample_stays_small(root: Path) -> None:
    assert sum(p.stat().st_size for p in sample(root).rglob("*") if p.is_file()) < 500_000


@pytest.mark.parametrize(("run", "checkpoint"), [("real_run_1.16.0", 12), ("real_run_0.19.1", 12)])
def test_state_and_console_agree_to_the_digits_each_keeps(corpus: Path, run: str, checkpoint: int) -> None:
    folder = corpus / "trl/written" / run
    exact = lengths(reading(folder / f"out/checkpoint-{checkpoint}/trainer_state.json"))
    printed = lengths(reading(folder / "stdout.log"))
    assert list(exact) == list(printed) == list(range(1, 13))
    digits = 4 if run.endswith("1.16.0") else 17
    for step, values in exact.items():
        assert printed[step] == [float(f"{v:.{digits}g}") for v in values if v is not None]


@pytest.mark.parametrize("run", ["real_run_1.16.0", "real_run_0.19.1"])
def test_a_folder_of_one_run_is_one_run(corpus: Path, run: str, opened: Open) -> None:
    dataset = opened(corpus / "trl/written" / run)
    assert len(steps_of(dataset)) == 12
    assert dataset.meta["alarms"] == []
    assert dataset.meta["other_runs"] == []


@pytest.mark.parametrize(("run", "checkpoint"), [("wordlevel", 12), ("wordlevel_ddp2", 8)])
def test_tokenized_text_gives_back_the_logged_lengths(
    corpus: Path, run: str, checkpoint: int, opened: Open
) -> None:
    """Within 3 % and 2 tokens: sampled special tokens are not in the text."""
    folder = corpus / "trl/written/variants" / run
    dataset = opened(folder, tokenizer=str(folder / f"out/checkpoint-{checkpoint}/tokenizer.json"))
    rows, rollouts = steps_of(dataset), dataset.rollouts.collect()
    assert set(rollouts["token_basis"].to_list()) == {"tokenized"}
    for step in rollouts["step"].unique().to_list():
        tokens = rollouts.filter(rollouts["step"] == step)["response_tokens"].to_list()
        mean, least, most = (rows[step][c] for c in LENGTHS)
        assert fmean(tokens) == pytest.approx(mean, rel=0.03)
        assert abs(max(tokens) - most) <= 2
        assert abs(min(tokens) - least) <= 2


def test_groups_and_ranks_of_two_processes(corpus: Path, opened: Open) -> None:
    dataset = opened(corpus / "trl/written/variants/ddp2")
    one = dataset.rollouts.collect()
    one = one.filter(one["step"] == 1)
    assert one["engine"].to_list() == ["rank0"] * 6 + ["rank1"] * 6
    groups = one["group_id"].to_list()
    assert [groups.index(g) // 4 for g in groups] == [0] * 4 + [1] * 4 + [2] * 4
    assert dataset.meta["facts"]["processes"]["value"] == 2


def test_stale_repeats_are_recognised(corpus: Path, opened: Open) -> None:
    dataset = opened(corpus / "trl/written/variants/iter2_spg2")
    rollouts = dataset.rollouts.collect()
    assert rollouts["step"].unique().sort().to_list() == [1, 5]
    assert rollouts.height == 32
    assert dataset.ledger.dropped == 6 * 16
    assert [s for s, r in steps_of(dataset).items() if r["response_tokens_mean"] is not None] == [1, 5]


@pytest.mark.parametrize("alone", [False, True])
def test_evaluation_overwrites_are_recognised(corpus: Path, alone: bool, opened: Open) -> None:
    folder = corpus / "trl/written/variants/eval"
    dataset = opened(folder / "out/completions" if alone else folder)
    rollouts = dataset.rollouts.collect()
    split = {s: set(g["split"].to_list()) for (s,), g in rollouts.group_by("step")}
    assert {s for s, v in split.items() if v == {"eval"}} == {3, 6}
    assert {s for s, v in split.items() if v == {"train"}} == {1, 2, 4, 5}


def test_logging_less_often_than_generating(corpus: Path, opened: Open) -> None:
    dataset = opened(corpus / "trl/written/variants/ls4_spg2_ga1")
    rows = steps_of(dataset)
    assert [rows[s]["response_tokens_mean"] for s in (4, 8)] == [20.1875, 23.40625]
    assert rows[4].get("response_tokens_max") is None
    assert dataset.rollouts.collect().height == 32


@pytest.mark.parametrize(
    ("name", "steps", "mean"),
    [
        ("found_swift_32_stdout.log", 1, 74.35416985),
        ("found_trl_v5_stdout.log", 1, 8.938),
        ("found_videor1_86_multiline.log", 1, 748.11),
        ("issue_memgen_33.log", 1, 163.0),
        ("issue_openr1_161.log", 1, 827.9754867553711),
        ("issue_openr1_239.log", 2, 849.65625),
        ("issue_openr1_255.log", 2, 387.50359020233157),
        ("issue_trl_3452.log", 2, 232.825),
        ("issue_trl_pr3219_devnames.log", 1, 8.0),
        ("openrs_training.log", 10, 3323.5583587646483),
        ("unsloth_train_grpo.log", 27, 284.5),
        ("gemma3_unsloth_trainer_state.json", 25, 542.6875),
        ("openrs_a2vi_trainer_state.json", 10, 908.4437770843506),
        ("openrs_rs2_trainer_state.json", 10, 3323.5583587646483),
        ("unslothgrpo_trainer_state.json", 250, 200.0),
    ],
)
def test_real_logs_give_their_figures(corpus: Path, name: str, steps: int, mean: float, opened: Open) -> None:
    rows = steps_of(opened(corpus / "trl/real" / name))
    assert len(rows) == steps
    assert rows[min(rows)]["response_tokens_mean"] == mean


def test_the_bars_of_a_real_log_give_its_step_times(corpus: Path, opened: Open) -> None:
    rows = steps_of(opened(corpus / "trl/real/openrs_training.log"))
    assert rows[5]["step_s"] == (26 * 60 + 14) / 5
    assert fmean(r["step_s"] for r in rows.values()) == pytest.approx(315.7, abs=0.1)  # 4:23:07 for 50 steps


@pytest.mark.parametrize(
    "name", ["issue_swift_5571.log", "swift_sft_logging.jsonl", "swift_sft_trainer_state.json"]
)
def test_what_cannot_be_read_is_said_in_one_line(corpus: Path, name: str, opened: Open) -> None:
    with pytest.raises(InputProblem) as problem:
        opened(corpus / "trl/real" / name)
    assert "\n" not in problem.value.message
    expected = "lost its opening brace" if name.startswith("issue") else "not recognised"
    assert expected in problem.value.message
