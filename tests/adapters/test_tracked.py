"""Scalars in trackers' files come out under the framework's own keys, steps and settings."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "sources"))
import tracker_files as write

from rollprof.adapters import registry
from rollprof.adapters.base import MetricPart
from rollprof.assemble.merge import values_by_step
from rollprof.assemble.survey import interpret
from rollprof.schema.ledger import Ledger
from rollprof.sources.sniffing import sniff

T = 1_790_000_000.0

VERL = {
    "timing_s/step": 10.0,
    "timing_s/gen": 6.0,
    "critic/score/mean": 0.5,
    "response_length/mean": 100.0,
    "response_length/max": 300.0,
    "response_length/clip_ratio": 0.25,
}
OPENRLHF = {
    "train/policy_loss": 0.1,
    "train/response_length": 100.0,
    "train/total_length": 150.0,
    "train/reward": 0.5,
    "train/timing/generation": 6.0,
    "train/timing/step_total": 10.0,
}
TRL = {
    "train/loss": 0.1,
    "train/reward": 0.5,
    "train/completions/mean_length": 100.0,
    "train/completions/max_length": 300.0,
    "train/completions/min_length": 3.0,
    "train/num_tokens": 4000.0,
}


def parts(path: Path, ledger: Ledger | None = None, adapter: str | None = None) -> list[MetricPart]:
    file = sniff(str(path), path.name)
    (best, *rest) = registry.claims(file)
    assert not rest, f"{best.adapter} is not the only one that claims it"
    assert adapter is None or best.adapter == adapter
    return registry.load(best.adapter).read(file, best, ledger or Ledger())


def steps(part: MetricPart) -> dict[tuple[int, str], Mapping[str, Any]]:
    return {(r["step"], r.get("split", "train")): r for r in interpret([part], {}, {}).steps}


@pytest.mark.parametrize(("adapter", "keys"), [("verl", VERL), ("openrlhf", OPENRLHF), ("trl", TRL)])
def test_the_same_columns_whatever_the_tracker(tmp_path: Path, adapter: str, keys: dict[str, float]) -> None:
    (board,) = parts(write.event_log(tmp_path / "runs" / "e", {1: keys, 2: keys}), adapter=adapter)
    rows = [
        write.history({**keys, "train/global_step": s, "_step": s, "_timestamp": T + 10 * s}) for s in (1, 2)
    ]
    (log,) = parts(write.wandb_log(tmp_path / "w", write.run_record("r", {}), *rows), adapter=adapter)
    assert (board.precision, log.precision) == ("float32", "exact")
    for part in (board, log):
        row = steps(part)[(2, "train")]
        assert row["reward_mean"] == 0.5
        assert row["response_tokens_mean"] == 100.0
        assert row["logged_at"] == pytest.approx(T + (10 if part is board else 20), abs=0.1)
    assert {k for k in values_by_step(log)[2] if not k.startswith("log/")} >= {
        k.removeprefix("train/") for k in keys
    }


@pytest.mark.parametrize("tracker", ["mlflow", "trackio", "swanlab"])
def test_trl_s_columns_in_trackers_that_transformers_reaches(tmp_path: Path, tracker: str) -> None:
    log = {1: {**TRL, "train/step_time": 7.5}, 2: {**TRL, "train/reward": 0.75, "train/step_time": 8.5}}
    path = {"mlflow": mlflow_run, "trackio": trackio_base, "swanlab": swanlab_log}[tracker](tmp_path, log)
    found = steps(parts(path, adapter="trl")[0])
    assert [found[(s, "train")]["reward_mean"] for s in (1, 2)] == [0.5, 0.75]
    assert [found[(s, "train")]["step_s"] for s in (1, 2)] == [7.5, 8.5]
    assert found[(2, "train")]["response_tokens_max"] == 300.0


def mlflow_run(folder: Path, log: Mapping[int, Mapping[str, float]]) -> Path:
    """In mlflow's file store, where transformers leaves out `train/`."""
    run = folder / "mlruns" / "0" / "run"
    for key in log[1]:
        file = run / "metrics" / key.removeprefix("train/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{1000 * s} {values[key]} {s}\n" for s, values in log.items()))
    (run / "meta.yaml").write_text("run_id: abc\nrun_name: x\n")
    return run / "meta.yaml"


def trackio_base(folder: Path, log: Mapping[int, Mapping[str, float]]) -> Path:
    """In trackio's database, whose `step` is its own count."""
    db = sqlite3.connect(folder / "p.db")
    columns = "id INTEGER, run_id TEXT, timestamp TEXT, run_name TEXT, step INT, metrics TEXT"
    db.execute(f"CREATE TABLE metrics ({columns})")
    for s, values in log.items():
        row = json.dumps({**values, "train/global_step": s})
        stamp = f"2026-11-30T20:59:{10 + s}+00:00"
        db.execute("INSERT INTO metrics VALUES (?,'r',?,'name',?,?)", (s, stamp, 2 * s, row))
    db.commit()
    db.close()
    return folder / "p.db"


def swanlab_log(folder: Path, log: Mapping[int, Mapping[str, float]]) -> Path:
    """In SwanLab's own log."""
    records = [write.blob(10, write.blob(1, "project") + write.blob(10, "r9"))]
    for s, values in log.items():
        for key, value in values.items():
            head = write.blob(1, key) + write.number(2, s) + write.number(3, 1)
            held = write.blob(4, write.stamp(T + s)) + write.blob(5, write.double(1, value))
            records.append(write.blob(13, head + held))
    path = folder / "run-r9.swanlab"
    path.write_bytes(write.framed(records, b":SWL", 0xE1D6))
    return path


def test_nobody_claims_the_scalars_of_something_else(tmp_path: Path) -> None:
    keys = {"loss": 1.0, "accuracy": 0.5, "epoch": 1.0, "train/loss": 1.0, "actor/lr": 1e-6}
    path = write.event_log(tmp_path / "e", {1: keys})
    assert registry.claims(sniff(str(path), "e")) == []


def test_verl_s_wandb_settings_and_mlflow_s_spelling(tmp_path: Path) -> None:
    config = {"trainer": {"nnodes": 2, "n_gpus_per_node": 8}, "data": {"max_response_length": 512}}
    path = write.wandb_log(tmp_path / "w", write.run_record("r", config), write.history({**VERL, "_step": 1}))
    (part,) = parts(path)
    assert part.config["trainer.n_gpus_per_node"] == 8
    facts = interpret([part], {}, {}).facts
    assert (facts["gpus"].value, facts["response_cap"].value) == (16, 512)
    folder = tmp_path / "mlruns" / "0" / "run"
    for key, value in {**VERL, "val-core/math/reward/mean_at_8": 0.25}.items():
        (folder / "metrics" / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / "metrics" / key).write_text(f"1000 {value} 1\n")
    (folder / "params").mkdir()
    (folder / "params" / "trainer").mkdir()
    (folder / "params" / "trainer" / "nnodes").write_text("2")
    (folder / "meta.yaml").write_text("run_id: abc\nrun_name: x\n")
    (part,) = parts(folder / "meta.yaml")
    assert values_by_step(part)[1]["val-core/math/reward/mean@8"] == 0.25
    assert part.config["trainer.nnodes"] == 2


def test_openrlhf_s_stale_table_rows_settings_and_time_between_steps(tmp_path: Path) -> None:
    namespace = "namespace(batch_size=8, n_samples_per_prompt=4)"
    rows = [
        write.history({"train/generated_samples>_type": "table-file", "train/global_step": 0, "_step": 0}),
        write.history({**OPENRLHF, "train/global_step": 1, "_step": 1, "_timestamp": T}),
        write.history({"train/generated_samples>_type": "table-file", "train/global_step": 1, "_step": 2}),
        write.history({**OPENRLHF, "train/global_step": 2, "_step": 3, "_timestamp": T + 10.4}),
        write.history({"eval/eval_math_pass1": 0.5, "eval/global_step": 2, "eval/epoch": 0, "_step": 4}),
    ]
    path = write.wandb_log(tmp_path / "w", write.run_record("r", {"rollout": namespace}), *rows)
    (part,) = parts(path)
    found = values_by_step(part)
    assert sorted(found) == [1, 2]
    assert found[2]["log/since_previous_step_s"] == pytest.approx(10.4, abs=1e-5)
    assert found[2]["eval_math_pass1"] == 0.5
    assert part.config["rollout.n_samples_per_prompt"] == 4
    assert steps(part)[(2, "eval")]["reward_mean"] == 0.5


def test_flat_arguments_of_openrlhf_get_their_new_names(tmp_path: Path) -> None:
    row = write.history({**OPENRLHF, "train/global_step": 1, "_step": 1})
    config = {"n_samples_per_prompt": 4, "rollout_batch_size": 8, "unknown": 1}
    (part,) = parts(write.wandb_log(tmp_path / "w", write.run_record("r", config), row))
    assert part.config == {"rollout.n_samples_per_prompt": 4, "rollout.batch_size": 8}


def test_trl_s_timers_belong_to_the_log_that_follows(tmp_path: Path) -> None:
    timer = "profiling/Time taken: GRPOTrainer.vLLM.generate"
    rows = [
        {timer: 3.0, "train/global_step": 0},
        {**TRL, "train/global_step": 1, "_timestamp": T},
        {timer: 99.0, "train/global_step": 1},  # the evaluation's
        {"eval/reward": 0.25, "eval/completions/mean_length": 50.0, "train/global_step": 1},
        {timer: 4.0, "train/global_step": 1},
        {timer: 1.0, "train/global_step": 1},  # a second generation of the same step
        {**TRL, "train/global_step": 2, "_timestamp": T + 30},
        {timer: 2.0, "train/global_step": 2},
        {**TRL, "train/global_step": 3, "_timestamp": T + 42.5},
        {"train/train_runtime": 50.0, "train/train_loss": 0.1, "train/global_step": 3},
    ]
    log = [write.history({**row, "_step": i}) for i, row in enumerate(rows)]
    (part,) = parts(write.wandb_log(tmp_path / "w", write.run_record("r", {}), *log))
    found = steps(part)
    assert [found[(s, "train")]["generate_s"] for s in (1, 2, 3)] == [3.0, 5.0, 2.0]
    assert found[(1, "eval")]["reward_mean"] == 0.25
    # from log to log, but not across the evaluation
    assert [found[(s, "train")].get("step_s") for s in (1, 2, 3)] == [None, None, 12.5]
    notes = interpret([part], {}, {}).notes
    assert any("from log to log by the tracker's clock" in note for note in notes)
    assert not any("step_time is the first process's" in note for note in notes)  # there is none
    assert [r.step for r in part.metrics if r.key == timer] == [None] * 5
    assert part.config["log.last_step"] == 3


def test_a_step_time_that_trl_logged_is_kept(tmp_path: Path) -> None:
    keys = {**TRL, "train/step_time": 7.0}
    (part,) = parts(write.event_log(tmp_path / "e", {1: keys, 2: keys}))
    assert [row["step_s"] for row in steps(part).values()] == [7.0, 7.0]


def test_a_log_over_several_steps_shares_its_times(tmp_path: Path) -> None:
    timer = "profiling/Time taken: T.transformers.generate"
    rows = [{timer: 6.0}, {**TRL, "train/global_step": 4, "_timestamp": T}]
    rows += [{timer: 6.0}, {timer: 2.0}, {**TRL, "train/global_step": 8, "_timestamp": T + 40}]
    log = [write.history({**row, "_step": i}) for i, row in enumerate(rows)]
    (part,) = parts(write.wandb_log(tmp_path / "w", *log))
    assert steps(part)[(8, "train")]["generate_s"] == 2.0
    assert steps(part)[(8, "train")]["step_s"] == 10.0


def test_trl_s_arguments_in_tensorboard(tmp_path: Path) -> None:
    told = {"num_generations": 4, "generation_batch_size": 12, "per_device_train_batch_size": 6}
    told |= {
        "steps_per_generation": 1,
        "max_completion_length": 64,
        "hub_token": "x",
        "output_dir": "/home/me",
    }
    model = {"_name_or_path": "tiny", "transformers_version": "5.24.0"}
    path = write.events(
        tmp_path / "e",
        write.event(T, 0, write.text("args/text_summary", json.dumps(told))),
        write.event(T, 0, write.text("model_config/text_summary", json.dumps(model))),
        *(write.event(T, 1, write.scalar(k, v)) for k, v in TRL.items()),
    )
    (part,) = parts(path)
    assert "output_dir" not in part.config
    facts = interpret([part], {}, {}).facts
    assert facts["group_size"].value == 4
    assert facts["processes"].value == 2
    assert facts["response_cap"].value == 64
    assert facts["model"].value == "tiny"


def test_runs_of_somebody_else_in_a_database_are_left_out_with_a_word(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "p.db")
    columns = "id INTEGER, run_id TEXT, timestamp TEXT, run_name TEXT, step INT, metrics TEXT"
    db.execute(f"CREATE TABLE metrics ({columns})")
    stamp = "2026-11-30T20:59:22+00:00"
    for i, (run, values) in enumerate([("a", {**TRL, "train/global_step": 1}), ("b", {"acc": 1.0})]):
        db.execute("INSERT INTO metrics VALUES (?,?,?,?,0,?)", (i, run, stamp, run, json.dumps(values)))
    db.commit()
    db.close()
    ledger = Ledger()
    (part,) = parts(tmp_path / "p.db", ledger)
    assert part.name == "a"
    assert "run b: not TRL's, left out" in ledger.problems[0].reason


def test_the_console_that_wandb_kept_is_read_with_its_times(tmp_path: Path) -> None:
    line = "step:1 - " + " - ".join(f"{key}:{value}" for key, value in VERL.items())
    rows = [write.history({**VERL, "_step": 1, "_timestamp": T}), write.output_raw(T + 0.5, f"{line}\n")]
    scalars, console = parts(write.wandb_log(tmp_path / "w", write.run_record("r", {}), *rows))
    assert (scalars.claim.role, console.claim.role) == ("metrics", "console")
    assert scalars.run_id == console.run_id == "wandb:r"
    assert values_by_step(scalars) == values_by_step(console)
    assert {r.time for r in console.metrics} == {T + 0.5}


@pytest.mark.parametrize("step", [float("inf"), float("nan"), 1e300])
def test_a_step_that_is_none_costs_its_row_alone(tmp_path: Path, step: float) -> None:
    for keys in (OPENRLHF, TRL):
        rows = [{**keys, "train/global_step": step, "_step": 0}, {**keys, "train/global_step": 2, "_step": 1}]
        log = [write.history({k: json.dumps(v).encode() for k, v in row.items()}) for row in rows]
        (part,) = parts(write.wandb_log(tmp_path / "w", write.run_record("r", {}), *log))
        assert list(values_by_step(part)) == [2]
    path = write.events(
        tmp_path / "e",
        write.event(T, -(1 << 62), *(write.scalar(k, v) for k, v in VERL.items())),
        write.event(T, 3, *(write.scalar(k, v) for k, v in VERL.items())),
    )
    assert list(values_by_step(parts(path)[0])) == [3]


HYDRA = """\
actor_rollout_ref:
  rollout:
    n: 4
    response_length: ${data.max_response_length}
    cleverer: ${oc.select:x}
data:
  max_response_length: 1024
trainer:
  n_gpus_per_node: 8
  nnodes: 2
  hf_token: hf_0123456789abcdefghijklmn
"""


def test_hydra_s_files_are_settings_of_verl(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "config.yaml").write_text(HYDRA)
    (part,) = parts(tmp_path / "config.yaml", adapter="verl")
    assert part.config == {
        "actor_rollout_ref.rollout.n": 4,
        "actor_rollout_ref.rollout.response_length": 1024,
        "data.max_response_length": 1024,
        "trainer.n_gpus_per_node": 8,
        "trainer.nnodes": 2,
    }
    (tmp_path / "overrides.yaml").write_text("- trainer.nnodes=2\n- data.train_batch_size=64\n- +x.y=1\n")
    (part,) = parts(tmp_path / "overrides.yaml", adapter="verl")
    assert part.config == {"trainer.nnodes": 2, "data.train_batch_size": 64}


def test_files_of_settings_alone(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    args = {"rlhf_type": "grpo", "num_generations": 8, "max_completion_length": 512, "hub_token": None}
    (tmp_path / "args.json").write_text(json.dumps(args, indent=2))
    (part,) = parts(tmp_path / "args.json", adapter="trl")
    assert part.config == {"num_generations": 8, "max_completion_length": 512}
    text = (
        "n_samples_per_prompt:\n  value: 4\nrollout_batch_size:\n  value: 8\nvllm_num_engines:\n  value: 2\n"
    )
    (tmp_path / "config.yaml").write_text(text)
    (part,) = parts(tmp_path / "config.yaml", adapter="openrlhf")
    assert part.config["vllm.num_engines"] == 2
