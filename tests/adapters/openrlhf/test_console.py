from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rollprof.adapters.base import MetricPart
from rollprof.schema.ledger import Ledger

Read = Callable[..., tuple[list[MetricPart], Ledger]]
ARGS = (
    "namespace(train=namespace(colocate_all=False, async_enable=False), "
    "vllm=namespace(num_engines=2, tensor_parallel_size=1), actor=namespace(num_nodes=1, "
    "num_gpus_per_node=2), rollout=namespace(batch_size=4, vllm_generate_batch_size=4, "
    "n_samples_per_prompt=2, max_new_tokens=900))\n"
)
TIMED = {
    "reward": 0.5,
    "timing/make_experience": 2.0,
    "timing/ppo_train": 5.0,
    "timing/broadcast": 1.0,
    "timing/generation": 12.0,
    "timing/step_total": 20.0,
}


def steps(part: MetricPart) -> list[int]:
    return sorted({r.step for r in part.metrics if r.step is not None})


def test_a_step_and_its_records(read: Read, logs: Any) -> None:
    text = logs.said("🚀 Starting experience making with 8 samples", "11-30 21:04:50") + logs.step(1, TIMED)
    (part,), ledger = read("2026-11-30 20:00:00,000 INFO worker.py:1\n" + text)
    logged = {r.key: r for r in part.metrics}
    assert logged["timing/generation"].value == 12.0
    assert logged["log/samples"].value == 8.0
    assert logged["reward"].time == 1_796_072_695.0  # 2026-11-30T21:04:55Z
    assert (ledger.read, ledger.clean) == (3, True)


def test_wrapped_step_line(read: Read) -> None:
    first, second = "Global step 2: {'policy_loss': 0.0003, 'kl': 0.002,", "'reward': 0.1367, 'ppo_kl': 0.25,"
    (part,), ledger = read(f"{first}\n{second}\n'x': 1.0, ...}}\n")
    assert {r.key: r.value for r in part.metrics}["x"] == 1.0
    assert (ledger.read, ledger.repaired) == (0, 3)


def test_cut_line_does_not_swallow_what_follows(read: Read, logs: Any) -> None:
    text = (
        "✨ Global step 1: {'reward': 0.5, 'timing/generation': 2.\n"
        + "{'other': 1.0}\n"
        + logs.step(2, TIMED)
    )
    (part,), ledger = read(text)
    assert {r.key for r in part.metrics if r.step == 1} == {"reward"}
    assert any("timing/generation" in p.reason for p in ledger.problems)


def test_two_runs_in_a_file(read: Read, logs: Any) -> None:
    text = ARGS + logs.step(1, TIMED) + logs.step(2, TIMED)
    parts, _ = read(text + ARGS + logs.step(1, TIMED, pid=9) + logs.step(2, TIMED, pid=9))
    assert [p.label for p in parts] == ["1", "2"]
    assert [steps(p) for p in parts] == [[1, 2], [1, 2]]


def test_resume_takes_the_later_values(read: Read, logs: Any) -> None:
    first = "".join(logs.step(n, {**TIMED, "reward": 0.1}) for n in range(1, 6))
    again = "".join(logs.step(n, {**TIMED, "reward": 0.9}, pid=9) for n in range(4, 7))
    (part,), ledger = read(ARGS + first + ARGS + again)
    assert {r.step: r.value for r in part.metrics if r.key == "reward"} == {
        **dict.fromkeys((1, 2, 3), 0.1),
        **dict.fromkeys((4, 5, 6), 0.9),
    }
    assert any("resumed at step 4" in p.reason for p in ledger.problems)


def test_each_line_collected_twice(read: Read, logs: Any) -> None:
    lines = [logs.step(n, {**TIMED, "kl": float("nan"), "reward": float(n)}) for n in (1, 2, 3)]
    (part,), ledger = read(ARGS + "".join(line * 2 for line in lines))
    assert [r.value for r in part.metrics if r.key == "reward"] == [1, 2, 3]
    assert ledger.notes == 3


def test_time_between_starts_is_no_step_time(read: Read, logs: Any) -> None:
    text = logs.step(1, TIMED, "11-30 10:00:00") + logs.step(2, TIMED, "11-30 10:00:20")
    (part,), _ = read(ARGS + text + ARGS + logs.step(3, TIMED, "11-30 18:00:00", pid=9))
    walls = {r.step: r.value for r in part.metrics if r.key == "log/since_previous_step_s"}
    assert walls == {2: 20.0}


def test_group_bar_of_each_step(run: Any, logs: Any) -> None:
    text = ARGS
    for n in (1, 2):
        text += logs.groups([4.5, 6.5, 8.5, 11.5 + n / 10])
        text += logs.said("🚀 Starting experience making with 8 samples", f"11-30 21:0{n}:50")
        text += logs.step(n, TIMED, f"11-30 21:0{n}:58")
    found = run(text)
    for n in (1, 2):
        assert found.logged[n]["bar/generate_samples/seconds"] == pytest.approx(11.5 + n / 10, rel=0.01)
        assert found.logged[n]["bar/generate_samples/group_s_mean"] == pytest.approx(
            (4.5 + 6.5 + 8.5 + 11.5 + n / 10) / 4, rel=0.01
        )
        assert found.steps[n]["group_s_mean"] == found.logged[n]["bar/generate_samples/group_s_mean"]
        assert found.steps[n]["group_s_max"] == found.logged[n]["bar/generate_samples/seconds"]
        assert "rollout_s_mean" not in found.steps[n]  # a group's time is none of a single response
    assert found.note("a whole prompt group")
    assert found.part.engines == []


def test_evaluation_bars_are_not_the_step_s(run: Any, logs: Any) -> None:
    text = ARGS
    for n in (1, 2, 3):
        text += logs.groups([3, 5, 7, 11.0]) + logs.step(n, TIMED, f"11-30 21:0{n}:00")
        text += logs.said("⏰ Evaluation start time: 2026-11-30 21:01:00", f"11-30 21:0{n}:00")
        # the eval set is as large as the batch, and its bar ends after the line that ends the evaluation
        bar = logs.groups([1, 2, 3, 30.0]).splitlines(keepends=True)
        text += "".join(bar[:-2])
        text += logs.said(
            f"✨ Evaluation completed in 0:00:30, global_step {n}, eval_metrics: {{'eval_math_pass1': 0.5, "
            "'eval_response_length_mean': 290.5, 'eval_truncated_rate': 0.0, 'eval_num_samples': 12.0}",
            f"11-30 21:0{n}:30",
        )
        text += "".join(bar[-2:])
    found = run(text)
    for n in (1, 2, 3):
        assert found.logged[n]["bar/generate_samples/seconds"] == pytest.approx(11, rel=0.01)
        assert found.evals[n] == {
            "step": n,
            "split": "eval",
            "logged_at": None,
            "rollouts": 12,
            "response_tokens_mean": 290.5,
            "truncated_share": 0.0,
            "reward_mean": 0.5,
        }
        assert "eval_math_pass1" not in found.steps[n]


def test_bars_that_do_not_match_the_steps_are_left_out(run: Any, logs: Any) -> None:
    found = run(ARGS + logs.groups([3, 5, 7, 11.0]) + "".join(logs.step(n, TIMED) for n in (1, 2, 3)))
    assert not any("bar/" in key for key in found.logged[1])
    assert found.note("progress bars not used")


def test_a_bar_that_outlasts_its_generation_is_another_s(run: Any, logs: Any) -> None:
    found = run(ARGS + logs.groups([3, 5, 7, 44.0]) + logs.step(1, TIMED))
    assert "bar/generate_samples/seconds" not in found.logged[1]


OLD = (
    "Namespace(colocate_all_models=False, async_train=False, vllm_num_engines=2, "
    "vllm_tensor_parallel_size=1, actor_num_nodes=1, actor_num_gpus_per_node=2, rollout_batch_size=4, "
    "n_samples_per_prompt=2, prompt_max_len=64, generate_max_len=900)\n"
)


def engine_bars(logs: Any, times: dict[int, list[float]]) -> str:
    """Bars of engines; `times[pid]` are the completion times of its requests."""
    text = ""
    for pid, done in times.items():
        who = {"actor": "LLMRayActor", "pid": pid}
        total = len(done)
        text += logs.bar("Processed prompts", 0, total, 0, **who)
        for i, at in enumerate(done[:-1], 1):
            text += logs.bar("Processed prompts", i, total, at, **who)
        text += logs.bar("Processed prompts", total, total, done[-1], rate=total / done[-1], **who)
    return text


def test_engines_of_an_old_release(run: Any, logs: Any) -> None:
    text = OLD
    for n in (1, 2):
        text += engine_bars(logs, {31: [20.2, 30.2, 40.2, 50.0], 32: [10.2, 10.2, 15.2, 25.0]})
        text += logs.said("🚀 Starting experience making with 8 samples", f"11-30 21:0{n}:50")
        text += logs.step(n, {"reward": 0.5, "response_length": 100.0}, f"11-30 21:0{n}:58")
    found = run(text)
    row = found.steps[2]
    assert (row["engine_s_mean"], row["engine_s_max"]) == (pytest.approx(37.5), pytest.approx(50))
    assert row["generate_s"] == pytest.approx(50)
    # each response is known to the second in which its bar was drawn, the last of an engine exactly
    assert row["rollout_s_mean"] == pytest.approx((20.5 + 30.5 + 40.5 + 50 + 10.5 + 10.5 + 15.5 + 25) / 8)
    assert row["rollout_s_max"] == pytest.approx(50)
    assert found.reading.version == ">=0.8.1,<0.9.1"


def test_requests_in_flight_of_an_old_release(run: Any, logs: Any) -> None:
    text = engine_bars(logs, {31: [20.2, 50.0], 32: [10.2, 25.0]})
    text += logs.said("🚀 Starting experience making with 4 samples", "11-30 21:01:50") + logs.step(
        1, {"reward": 0.5}
    )
    samples = run("2026-11-30 20:00:00,000 INFO worker.py:1\n" + text).part.engines
    by_engine: dict[str, list[tuple[float, float | None]]] = {}
    for s in samples:
        by_engine.setdefault(s.engine, []).append((s.time, s.running))
    end = 1_796_072_510.0  # 2026-11-30T21:01:50Z
    assert by_engine["LLMRayActor 31"] == [(end - 50, 2.0), (end - 50 + 20.5, 1.0), (end, 0.0)]
    assert by_engine["LLMRayActor 32"] == [(end - 50, 2.0), (end - 50 + 10.5, 1.0), (end - 25, 0.0)]


def test_an_engine_s_bar_that_ray_left_out(run: Any, logs: Any) -> None:
    bars = engine_bars(logs, {31: [20.2, 50.0], 32: [10.2, 25.0]}).splitlines(keepends=True)
    last = bars[-1].replace("\x1b[A\n", "\x1b[32m [repeated 2x across cluster]\x1b[0m\n")
    found = run(OLD + "".join(bars[:2]) + last + logs.step(1, {"reward": 0.5}))
    assert "engine_s_max" not in found.steps[1]
    assert found.note("RAY_DEDUP_LOGS=0")


def test_rounds_of_the_old_dynamic_sampling(run: Any, logs: Any) -> None:
    text = ""
    for n in range(3):
        text += engine_bars(logs, {31: [20.0 + n], 32: [10.0]})
        if n < 2:
            text += logs.said("filtered_samples 1.0 < rollout_batch_size 4, continue sampling")
    text += logs.said("Dynamic filtering pass rate: 41.67% (10/24)")
    text += logs.step(1, {"reward": 0.5, "dynamic_filtering_pass_rate": 41.66})
    found = run(text)
    row = found.steps[1]
    assert row["gen_batches"] == 3
    assert row["generate_s"] == row["engine_s_max"] == pytest.approx(20 + 21 + 22)
    assert row["engine_s_mean"] == pytest.approx((63 + 30) / 2)
    assert "rollout_s_mean" not in row
    assert found.facts["sampling_pass_rate"] == pytest.approx(10 / 24)


def test_steps_told_by_the_episode_bar_alone(run: Any, logs: Any) -> None:
    status = "policy_loss=-0.01, reward=0.5, response_length={}, actor_lr=1e-6"
    text = logs.bar("Episode [1/2]", 0, 2, 0)
    for episode in (1, 2):
        for n in (0, 1):
            extra = status.format(100 * episode + n)
            who = {"extra": extra}
            text += logs.said("🚀 Starting experience making with 8 samples")
            text += logs.bar(f"Episode [{episode}/2]", n, 2, 30 * (n + 1), **who)
            text += logs.bar(f"Episode [{episode}/2]", n + 1, 2, 30 * (n + 1), **who)
    found = run(text)
    assert {n: r["response_tokens_mean"] for n, r in found.steps.items()} == {1: 100, 2: 101, 3: 200, 4: 201}
    assert [found.steps[n]["step_s"] for n in (1, 2, 3, 4)] == [30, 30, 30, 30]
    assert found.steps[1]["rollouts"] == 8
    assert found.reading.version == ">=0.7.1,<0.8.1"


def test_prefix_on_a_line_of_its_own(run: Any) -> None:
    text = "(LLMRayActor pid=1)\nProcessed prompts: 100%|###| 16/16 [00:12<00:00,  1.25it/s]\n"
    text += "(LLMRayActor pid=2)\nProcessed prompts: 100%|###| 16/16 [00:12<00:00,  1.28it/s]\n"
    found = run(text + "(PPOTrainer pid=3)\n✨ Global step 1: {'reward': 0.5}\n")
    assert found.steps[1]["engine_s_mean"] == pytest.approx((12.8 + 12.5) / 2)


def test_reformatted_step_is_skipped_with_its_place(read: Read) -> None:
    text = "\n✨ Global step 1:\n    policy_loss:        0.024\n    timing/generation:  41.2 s\n"
    (part,), ledger = read(text)
    assert part.metrics == []
    assert ledger.lines == 4
    (problem,) = (p for p in ledger.problems if p.kind == "skipped")
    assert problem.offset == 1
    assert "somebody reformatted this step" in problem.reason
