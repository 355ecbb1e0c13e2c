"""What a diagnosis says of logs whose content is known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rollprof import api
from rollprof.doctor.results import Diagnosis
from rollprof.errors import InputProblem

ONE = api.OpenOptions(workers=1)


def diagnosed(*paths: Path, **options: str) -> Diagnosis:
    return api.diagnose([str(p) for p in paths], options=api.OpenOptions(workers=1, **options))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def verl(root: Path) -> Diagnosis:
    return diagnosed(root / "sample_logs" / "verl")


@pytest.fixture(scope="module")
def openrlhf(root: Path) -> Diagnosis:
    return diagnosed(root / "sample_logs" / "openrlhf")


def test_files_and_what_they_give(verl: Diagnosis) -> None:
    files = {s.path: s for s in verl.sources}
    assert len(files) == 14
    console, metrics = files["console.log"], files["metrics.jsonl"]
    assert (console.role, metrics.role) == ("console", "metrics")
    assert (console.steps, console.first_step, console.last_step) == (13, 0, 12)
    assert {"generate_s", "response_tokens_mean"} <= set(console.columns)
    assert "engines" in console.facts
    assert "engines" not in metrics.facts
    dump = files["rollouts/7.jsonl"]
    assert (dump.role, dump.first_step, dump.runs) == ("rollouts", 7, ["rollouts"])
    assert "rollout dump of verl" in dump.why


def test_how_files_join(verl: Diagnosis) -> None:
    (run,) = verl.runs
    why = {j.path: j.why for j in run.joins}
    assert run.chosen
    assert why["console.log"].endswith("of 13 steps are the same as in metrics.jsonl")
    assert "agrees with the logged" in why["rollouts"]


def test_facts_carry_their_origin(verl: Diagnosis) -> None:
    facts = {f.name: f for f in verl.facts}
    assert (facts["gpus"].value, facts["gpus"].origin) == (8, "config")
    assert facts["engines"].value == 4
    assert "tensor_model_parallel_size" in facts["engines"].how


def test_figures_and_what_is_missing_make_the_whole(verl: Diagnosis) -> None:
    given, lacking = {f.figure for f in verl.figures}, {m.figure for m in verl.missing}
    assert not given & lacking
    assert {"step_idle", "slot_idle", "gini_length"} <= given
    assert "staleness_mean" in lacking
    assert {f.figure: f.basis for f in verl.figures}["slot_idle"] == "logged"


def test_options_know_the_release(verl: Diagnosis) -> None:
    options = {r.option: r for r in verl.remedies}
    sync = options["actor_rollout_ref.rollout.mode=sync with vLLM"]
    assert verl.version == ">=0.8"
    assert (sync.releases, sync.fits) == ("0.4.1 to 0.6.1", "no")
    trace = next(r for o, r in options.items() if "trace.backend=mlflow" in o)
    assert trace.fits == "yes"
    assert "step_idle" in trace.improves
    assert not set(trace.brings) & {f.figure for f in verl.figures}
    order = [r.fits == "no" for r in verl.remedies if not r.none]
    assert order == sorted(order)


def test_console_alone_wants_the_dump(root: Path) -> None:
    found = diagnosed(root / "sample_logs" / "verl" / "console.log")
    dump = [r for r in found.remedies if r.option.startswith("trainer.rollout_data_dir=DIR")]
    brought = {name for r in dump for name in r.brings}
    assert {"zero_variance_share", "gini_length", "icc_log_length"} <= brought
    assert found.snippet is None


def test_openrlhf_gets_code(openrlhf: Diagnosis) -> None:
    assert openrlhf.snippet is not None
    assert "reward.remote_url" in openrlhf.snippet.use
    none = [r for r in openrlhf.remedies if r.none]
    assert any("policy versions" in r.option for r in none)
    assert any(name.startswith("staleness") for r in none for name in r.brings)


def test_several_runs_are_listed(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "sample_logs" / "verl", tmp_path / "a")
    shutil.copytree(root / "sample_logs" / "openrlhf", tmp_path / "b")
    found = diagnosed(tmp_path)
    assert {r.name for r in found.runs} == {"a/rollouts", "b/train.log"}
    assert found.usable
    assert found.figures == []
    assert found.problem is not None
    assert "2 runs there" in found.problem
    assert "--run" in found.problem
    assert not any(r.chosen for r in found.runs)
    chosen = diagnosed(tmp_path, run="b/train.log")
    assert (chosen.framework, chosen.run) == ("openrlhf", "b/train.log")
    assert [r.name for r in chosen.runs if r.chosen] == ["b/train.log"]
    with pytest.raises(InputProblem, match="2 runs"):
        api.open_run([str(tmp_path)], options=api.OpenOptions(output=str(tmp_path / "d"), workers=1))


def test_strangers_are_described(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"foo": 1, "bar": 2}\n' * 5)
    (tmp_path / "notes.txt").write_text("nothing to see\n")
    (tmp_path / "w.bin").write_bytes(bytes(range(256)))
    (tmp_path / "nothing.log").write_text("")
    found = diagnosed(tmp_path)
    kinds = {s.path: s for s in found.strangers}
    assert not found.usable
    assert found.problem is not None
    assert list(kinds["metrics.jsonl"].keys) == ["foo", "bar"]
    assert "--map" in kinds["metrics.jsonl"].why
    assert kinds["nothing.log"].why == "empty"
    assert set(kinds) == {"metrics.jsonl", "notes.txt", "w.bin", "nothing.log"}


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(InputProblem):
        diagnosed(tmp_path / "nowhere")
    with pytest.raises(InputProblem, match="no files"):
        diagnosed(tmp_path)


def test_a_configuration_alone(root: Path, tmp_path: Path) -> None:
    head = (root / "sample_logs" / "openrlhf" / "train.log").read_bytes().splitlines(keepends=True)[:12]
    (tmp_path / "train.log").write_bytes(b"".join(head))
    found = diagnosed(tmp_path)
    assert not found.usable
    assert found.problem is not None
    assert "no training step" in found.problem
    assert "gpus" in found.sources[0].facts


def test_a_dataset_remembers_its_sources(root: Path, tmp_path: Path) -> None:
    target = str(tmp_path / "d")
    log = str(root / "sample_logs" / "straggler_512.jsonl")
    api.convert([log], options=api.OpenOptions(output=target, workers=1))
    found = api.diagnose([target])
    assert [s.role for s in found.sources] == ["rollouts"]
    assert found.runs == []
    assert {f.figure for f in found.figures} >= {"slot_idle", "gini_length"}


def engine_line(engine: int, suffix: str = "") -> str:
    return (
        f"\x1b[36m(LLMRayActor pid={100 + engine})\x1b[0m Processed prompts: 100%|██████████| 16/16 "
        f"[00:12<00:00,  1.25it/s, est. speed input: 105.19 toks/s, output: 2726.82 toks/s]{suffix}"
    )


def test_ray_deduplication_is_a_trap(root: Path, tmp_path: Path) -> None:
    text = (root / "sample_logs" / "openrlhf" / "train.log").read_text()
    (tmp_path / "plain.log").write_text(f"{text}{engine_line(0)}\n")
    assert "ray-deduplicated" not in {t.code for t in diagnosed(tmp_path).traps}
    (tmp_path / "plain.log").write_text(f"{text}{engine_line(0, ' [repeated 3x across cluster]')}\n")
    (trap,) = [t for t in diagnosed(tmp_path).traps if t.code == "ray-deduplicated"]
    assert "RAY_DEDUP_LOGS=0" in trap.text
    assert not trap.handled


def test_a_pass_rate_above_100_percent_is_a_trap(tmp_path: Path) -> None:
    lines = [
        f"INFO 11-30 21:0{i}:55 ppo_trainer.py:551] ✨ Global step {i}: {{'reward': 0.5, "
        "'response_length': 100.0, 'timing/generation': 2.0, 'timing/make_experience': 1.0, "
        "'timing/ppo_train': 1.0, "
        "'timing/broadcast': 1.0, 'timing/step_total': 5.0, 'dynamic_filtering_pass_rate': 133.33, "
        "'rollout/num_samples': 32.0, 'rollout/response_length_mean': 100.0}"
        for i in range(1, 5)
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    (trap,) = [t for t in diagnosed(tmp_path).traps if t.code == "openrlhf_pass_rate"]
    assert "133.33 %" in trap.text
    assert trap.handled


def test_clip_ratio_of_the_v1_trainer_is_a_trap(tmp_path: Path) -> None:
    lines = [
        {
            "step": i,
            "data": {
                "timing_s/gen": 2.0,
                "timing_s/step": 5.0,
                "response_length/mean": 100.0,
                "response_length/max": 200.0,
                "response_length/min": 10.0,
                "response_length/clip_ratio": 0.25,
                "critic/score/mean": 0.5,
                "training/global_step": i,
                "training/num_turns/max": 2.0,
                "training/off_policy/trajectory_spans/max": 1.0,
            },
        }
        for i in range(1, 5)
    ]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    codes = {t.code for t in diagnosed(tmp_path).traps}
    assert "clip-ratio-v1" in codes
