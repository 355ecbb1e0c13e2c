"""Logs found in the wild and logs of OpenRLHF's own command line, with what they are known to say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollprof.adapters.openrlhf import ADAPTER
from rollprof.adapters.openrlhf.vocabulary import plain
from rollprof.sources.tree import sniff

CorpusRun = Callable[[str], Any]


def test_sync(corpus_run: CorpusRun) -> None:
    run = corpus_run("written/sync.log")
    first = run.steps[1]
    assert first["response_tokens_mean"] == 493.5
    assert first["generate_s"] == pytest.approx(2.097449541091919)
    assert first["truncated_share"] == 0.25  # response_clip_ratio says 0.0
    assert [run.steps[n]["rollouts"] for n in (1, 2, 3)] == [32, 32, 32]
    assert [run.steps[n]["prompts"] for n in (1, 2, 3)] == [8, 8, 8]
    assert run.facts["colocated"] is True
    assert (run.facts["gpus"], run.facts["engines"], run.facts["mode"]) == (2, 2, "sync")
    assert run.reading.version == ">=0.10.2"
    for n in (1, 2, 3):  # the bar is part of the call around it
        assert 0 < run.steps[n]["generate_s"] - run.logged[n]["bar/generate_samples/seconds"] < 0.3
    assert run.reading.alarms == []
    assert run.ledger.clean


def test_filter(corpus_run: CorpusRun) -> None:
    run = corpus_run("written/filter.log")
    assert run.facts["sampling_pass_rate"] == pytest.approx(8 / 24)
    alarm = run.alarms["openrlhf_pass_rate"]
    assert alarm.evidence["logged_percent"] == pytest.approx(133.33, abs=0.01)
    assert "33.3%" in alarm.text
    assert run.logged[1]["log/rejected_groups"] == 16


def test_evaluation(corpus_run: CorpusRun) -> None:
    run = corpus_run("written/eval.log")
    assert {n: r["response_tokens_mean"] for n, r in run.evals.items()} == pytest.approx(
        {1: 290.5, 2: 355.8333333333333, 3: 311.4166666666667}
    )
    assert {r["rollouts"] for r in run.evals.values()} == {12}
    assert {r["rollouts"] for r in run.steps.values()} == {32}
    for n, generation in ((1, 1.9450488090515137), (2, 1.9250891208648682), (3, 2.1963908672332764)):
        assert run.logged[n]["bar/generate_samples/groups"] == 8  # the evaluation's bars have 6
        assert 0 < generation - run.logged[n]["bar/generate_samples/seconds"] < 0.3


def test_asynchronous(corpus_run: CorpusRun) -> None:
    run = corpus_run("written/async.log")
    assert run.facts["mode"] == "async"
    assert (run.facts["trainer_gpus"], run.facts["rollout_gpus"]) == (2, 2)
    assert "step_s" not in run.steps[1]  # 11.6 s with the start of the job in it
    assert run.steps[2]["step_s"] == pytest.approx(2.5231, abs=1e-4)
    assert run.steps[2]["wait_s"] == pytest.approx(2.5231 - 0.2167 - 0.2847, abs=1e-3)
    assert not any("weight_sync_s" in r for r in run.steps.values())
    assert sorted(run.evals) == [1, 2]


def test_partial(corpus_run: CorpusRun) -> None:
    run = corpus_run("written/partial.log")
    assert run.facts["buffered_steps"] == "2"
    assert run.steps[2]["generate_s"] == pytest.approx(0.0005858, abs=1e-6)
    assert run.steps[2]["gen_batches"] == 0
    assert run.logged[1]["bar/generate_samples/groups"] == 16  # fed steps 1 and 2
    assert "bar/generate_samples/groups" not in run.logged[2]
    assert run.logged[3]["bar/generate_samples/groups"] == 8
    # Batch 3 was generated between taking batch 2 and batch 3: step 2 without its own wait of 0.2277 s at
    # the queue, and the 1.8033 s that step 3 waited there.
    assert run.steps[2]["rollout_idle"] == pytest.approx(1 - 2.2158 / (0.9046 - 0.2277 + 1.8033), abs=2e-3)


def test_old_releases(corpus_run: CorpusRun) -> None:
    deduped = corpus_run("written/v0.8.11_sync.log")
    assert deduped.reading.version == ">=0.8.3,<0.9.1"
    assert deduped.steps[1]["truncated_share"] == 0.28125
    assert "engine_s_max" not in deduped.steps[1]
    assert deduped.note("RAY_DEDUP_LOGS=0")
    rounds = corpus_run("written/v0.8.11_filter.log")
    assert rounds.steps[1]["gen_batches"] == 3
    assert rounds.facts["sampling_pass_rate"] == pytest.approx(40 / 96)
    assert rounds.steps[1]["engine_s_mean"] < rounds.steps[1]["engine_s_max"]
    newer = corpus_run("written/v0.9.5_sync.log")
    assert newer.reading.version == ">=0.9.2,<0.9.8"
    assert newer.steps[1]["generate_s"] == pytest.approx(8 / 3.72)  # no timers yet: the bar's own rate
    assert newer.steps[2]["response_tokens_mean"] == 266.71875


@pytest.mark.parametrize("mode", ["sync", "eval", "async", "partial", "filter"])
def test_a_tracker_s_copy_says_the_same(corpus: Path, corpus_run: CorpusRun, mode: str) -> None:
    """wandb's output.log has the controller's lines without prefix, and neither arguments nor actors."""
    run = corpus_run(f"written/{mode}.log")
    (path,) = (corpus / "openrlhf/written" / mode).glob("wandb/offline-run-*/files/output.log")
    copy = corpus_run(str(path.relative_to(corpus / "openrlhf")))
    assert copy.facts["mode"] == run.facts["mode"]
    for n, row in run.steps.items():
        for column in (
            "response_tokens_mean",
            "truncated_share",
            "rollouts",
            "generate_s",
            "step_s",
            "update_s",
        ):
            assert copy.steps[n].get(column) == row.get(column), (n, column)


def test_nan_of_the_logger(corpus: Path, corpus_run: CorpusRun) -> None:
    (path,) = (corpus / "openrlhf/written/loggers").glob("wandb/offline-run-*/files/output.log")
    run = corpus_run(str(path.relative_to(corpus / "openrlhf")))
    assert run.steps[3]["response_tokens_mean"] == 301
    assert run.logged[3]["kl"] != run.logged[3]["kl"]
    assert "dynamic_filtering_pass_rate" not in run.logged[2]  # None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "02_otel_h100_v0.11.0_grpo.txt",
            {1: {"response_tokens_mean": 40.375, "generate_s": 2.95, "rollouts": 16}},
        ),
        ("02_otel_h100_v0.11.0_grpo.txt", {2: {"response_tokens_mean": 49.5625, "update_s": 3.39}}),
        ("05_madhustat_xpu_rloo_v0.10.txt", {2: {"response_tokens_mean": 16.0, "truncated_share": 1.0}}),
        ("06_madhustat_xpu_drgrpo.txt", {2: {"reward_mean": 2.57421875}}),
        ("07_madhustat_xpu_reinforce.txt", {2: {"response_tokens_mean": 16.0, "reward_mean": 0.3984375}}),
        ("09_madhustat_xpu_group_norm.txt", {2: {"response_tokens_mean": 16.0, "reward_mean": -0.697265625}}),
        ("15_nashrs_synthetic_step_lines.txt", {1: {"reward_mean": 0.4}, 2: {"reward_mean": 0.6}}),
        (
            "01_issue350_v0.3_vllm_episode_bars.txt",
            {12: {"step_s": 19.0, "engine_s_max": 16 / 1.25, "engine_s_mean": (16 / 1.25 + 16 / 1.27) / 2}},
        ),
    ],
)
def test_found_in_the_wild(corpus_run: CorpusRun, name: str, expected: dict[int, dict[str, float]]) -> None:
    run = corpus_run(f"real/{name}")
    for step, columns in expected.items():
        for column, value in columns.items():
            assert run.steps[step][column] == pytest.approx(value), (step, column)


def test_every_number_of_the_step_lines_is_kept(corpus: Path, corpus_run: CorpusRun) -> None:
    """An independent count: number-valued pairs of all step lines against the metric records."""
    for path in sorted((corpus / "openrlhf/written").glob("*.log")):
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", path.read_text(errors="replace"))
        bodies = re.findall(r"\] (?:✨ )?Global step \d+: (\{[^}]*\})", text)
        wanted = sum(len(re.findall(r"'[^']+': (?!None)", body)) for body in bodies)
        if not wanted:
            continue
        run = corpus_run(f"written/{path.name}")
        kept = [r for r in run.part.metrics if not plain(r.key).startswith(("bar/", "log/", "eval_"))]
        assert len(kept) == wanted, path.name


def test_nothing_of_a_run_that_died_at_once(corpus: Path) -> None:
    for name in (
        "written/v0.8.11_async.log",
        "real/11_nonray_hang_2024-09.txt",
        "real/12_issue1165_agent_actor_line_v0.8.txt",
    ):
        path = corpus / "openrlhf" / name
        claim = ADAPTER.claim(sniff(str(path), path.name))
        assert claim is not None
        assert "OpenRLHF" in claim.why or "openrlhf" in claim.why
