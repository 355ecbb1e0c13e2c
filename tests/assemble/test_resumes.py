"""A tracker's files, one after the other: resumed, restarted, or two writers at once."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "sources"))
import tracker_files as write

from rollprof.assemble.merge import merge, precedence
from rollprof.assemble.runs import Candidate
from rollprof.assemble.survey import Survey, survey

T = 1_790_000_000.0
HOUR = 3600.0


def keys(reward: float) -> dict[str, float]:
    return {
        "timing_s/step": 10.0 + reward,
        "critic/score/mean": reward,
        "response_length/mean": 100 * reward,
        "actor/lr": 1e-6,
    }


def log(path: Path, rewards: Mapping[int, float], start: float) -> Path:
    return write.event_log(path, {step: keys(reward) for step, reward in rewards.items()}, start)


def rewards(run: Candidate) -> dict[int, float]:
    return {step: at["critic/score/mean"] for step, at in sorted(merge(run.parts).metrics.items())}


def looked(*paths: Path) -> Survey:
    return survey([str(p) for p in paths], None, {})


def test_a_resumed_run_counts_its_steps_once_and_forgets_what_was_trained_again(tmp_path: Path) -> None:
    log(tmp_path / "tb" / "e.1", {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4, 5: 0.5}, T)
    log(tmp_path / "tb" / "e.2", {3: 0.75, 4: 0.875}, T + HOUR)
    found = looked(tmp_path)
    (run,) = found.runs
    got = rewards(run)
    assert list(got) == [1, 2, 3, 4]
    assert [got[3], got[4]] == [0.75, 0.875]
    (problem,) = found.ledger.problems
    assert problem.reason == "resumed at step 3: steps 4 to 5 of this file no longer count"
    assert problem.file == "tb/e.1"


def test_a_folder_that_was_used_again_holds_two_runs_and_the_newer_counts(tmp_path: Path) -> None:
    log(tmp_path / "tb" / "e.1", {1: 0.1, 2: 0.2, 3: 0.3}, T)
    log(tmp_path / "tb" / "e.2", {1: 0.75, 2: 0.5}, T + HOUR)
    older, newer = looked(tmp_path).runs
    assert (older.older, newer.older) == (1, 0)
    assert list(rewards(newer)) == [1, 2]


def test_two_writers_at_once_are_one_run(tmp_path: Path) -> None:
    log(tmp_path / "tb" / "e.1", {1: 0.1, 2: 0.2, 3: 0.3}, T)
    write.event_log(
        tmp_path / "tb" / "e.2", {s: {"timing_s/gen": 1.0, "critic/x": s} for s in (1, 2, 3)}, T + 1
    )
    found = looked(tmp_path)
    (run,) = found.runs
    assert len(run.parts) == 2
    assert merge(run.parts).metrics[3]["timing_s/gen"] == 1.0
    assert found.ledger.clean


def wandb(path: Path, run_id: str, rewards: Mapping[int, float], start: float, settings: int = 64) -> Path:
    config = {"data": {"train_batch_size": settings, "a": 1, "b": 2}, "trainer": {"nnodes": 1, "x": 2}}
    rows = [
        write.history({**keys(reward), "_step": step, "_timestamp": start + 10 * step})
        for step, reward in rewards.items()
    ]
    return write.wandb_log(path / f"run-{run_id}.wandb", write.run_record(run_id, config), *rows)


def test_several_folders_of_one_wandb_run(tmp_path: Path) -> None:
    wandb(tmp_path / "a", "id1", {1: 0.1, 2: 0.2}, T)
    wandb(tmp_path / "b", "id1", {3: 0.3}, T + HOUR)
    (run,) = looked(tmp_path).runs
    assert run.name == "id1"
    assert rewards(run) == {1: 0.1, 2: 0.2, 3: 0.3}


def test_another_id_goes_on_only_with_the_same_settings_where_the_first_stopped(tmp_path: Path) -> None:
    wandb(tmp_path / "a", "id1", {1: 0.1, 2: 0.2}, T)
    wandb(tmp_path / "b", "id2", {2: 0.5, 3: 0.3}, T + HOUR)
    (run,) = looked(tmp_path).runs
    assert rewards(run) == {1: 0.1, 2: 0.5, 3: 0.3}
    wandb(tmp_path / "b", "id2", {2: 0.5, 3: 0.3}, T + HOUR, settings=128)
    assert [r.name for r in looked(tmp_path).runs] == ["id1", "id2"]
    wandb(tmp_path / "b", "id2", {9: 0.5, 10: 0.3}, T + HOUR)
    assert len(looked(tmp_path).runs) == 2
    wandb(tmp_path / "b", "id2", {2: 0.5, 3: 0.3}, T - 5)  # begun before the first ended: not a resume
    assert len(looked(tmp_path).runs) == 2


def line(step: int, reward: float) -> str:
    return f"step:{step} - " + " - ".join(f"{key}:{value}" for key, value in keys(reward).items()) + "\n"


def test_a_log_that_covers_two_runs_of_a_tracker_joins_them(tmp_path: Path) -> None:
    wandb(tmp_path / "a", "id1", {1: 0.1, 2: 0.2}, T)
    wandb(tmp_path / "b", "id2", {3: 0.3, 4: 0.4}, T + HOUR, settings=128)
    (tmp_path / "z.log").write_text("".join(line(s, s / 10) for s in (1, 2, 3, 4)))
    (run,) = looked(tmp_path).runs
    assert len(run.parts) == 3


def test_trackers_call_one_run_by_different_names(tmp_path: Path) -> None:
    wandb(tmp_path / "w", "id1", {1: 0.1, 2: 0.2}, T)
    log(tmp_path / "tb" / "e", {1: 0.1, 2: 0.2}, T)
    (tmp_path / "console.log").write_text("".join(line(s, s / 10) for s in (1, 2)))
    (run,) = looked(tmp_path).runs
    assert [p.precision for p in sorted(run.parts, key=lambda p: p.file.name)] == [
        "exact",
        "float32",
        "exact",
    ]
    said = {part.file.name: remark for part, remark in precedence(run.parts)}
    assert said.keys() == {"console.log", "tb/e"}
    assert all("run-id1.wandb" in remark and "is more exact" in remark for remark in said.values())
    assert merge(run.parts).metrics[1]["critic/score/mean"] == 0.1  # not a float32
    assert merge(run.parts).times[1] is not None
