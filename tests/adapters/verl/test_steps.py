"""Keys -> columns, by trainer and release. Every number is worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from rollprof.adapters.base import Interpretation

Interpret = Callable[..., Interpretation]

AGENT = "timing_s/agent_loop"
LEGACY = {"timing_s/start_profile": 1e-4}
V1 = {"training/num_turns/max": 2.0, "training/off_policy/trajectory_spans/max": 1.0}
STALE = "training/off_policy/trajectory"


def train(interpret: Interpret, metrics: dict[str, float], **more: Any) -> dict[str, Any]:
    rows = [dict(r) for r in interpret({1: metrics}, **more).steps if r["split"] == "train"]
    assert len(rows) == 1
    return rows[0]


def test_legacy_timers(interpret: Interpret) -> None:
    row = train(
        interpret,
        {
            **LEGACY,
            "timing_s/gen": 541.2,
            "timing_s/reward": 5.1,
            "timing_s/old_log_prob": 72.4,
            "timing_s/ref": 72.0,
            "timing_s/values": 8.0,
            "timing_s/adv": 0.5,
            "timing_s/update_actor": 472.1,
            "timing_s/update_critic": 20.4,
            "timing_s/update_weights": 5.8,
            "timing_s/step": 1300.0,
            "critic/score/mean": 0.25,
            "critic/rewards/mean": 0.125,
            "prompt_length/mean": 100.5,
            "prompt_length/max": 250.0,
            "train/num_gen_batches": 1.0,
        },
        times={1: 1.7e9},
    )
    assert row["update_s"] == pytest.approx(492.5)
    row.pop("update_s")
    assert row == {
        "step": 1,
        "split": "train",
        "logged_at": 1.7e9,
        "generate_s": 541.2,
        "reward_s": 5.1,
        "old_logprob_s": 72.4,
        "reference_s": 72.0,
        "values_s": 8.0,
        "advantage_s": 0.5,
        "weight_sync_s": 5.8,
        "step_s": 1300.0,
        "reward_mean": 0.25,
        "prompt_tokens_mean": 100.5,
        "prompt_tokens_max": 250.0,
        "gen_batches": 1.0,
    }


def test_v0_1_has_no_step_time(interpret: Interpret) -> None:
    row = train(interpret, {"timing/gen": 21.47, "timing/update_actor": 20.3, "timing/update_critic": 15.7})
    assert row == {"step": 1, "split": "train", "generate_s": 21.47, "update_s": 36.0}


def test_agent_loop_times_are_those_of_single_requests(interpret: Interpret) -> None:
    metrics = {
        f"{AGENT}/generate_sequences/min": 4.8,
        f"{AGENT}/generate_sequences/mean": 13.6,
        f"{AGENT}/generate_sequences/max": 48.6,
        f"{AGENT}/tool_calls/mean": 0.5,
        f"{AGENT}/tool_calls/max": 3.0,
        f"{AGENT}/slowest/response_length": 4324.0,  # tokens, not seconds
        f"{AGENT}/num_preempted/max": -1.0,  # a count, not seconds
        "timing_s/gen": 66.4,
    }
    row = train(interpret, metrics)
    times = {k: v for k, v in row.items() if k.endswith(("_s", "_min", "_mean", "_max"))}
    assert times == {
        "generate_s": 66.4,
        "rollout_s_min": 4.8,
        "rollout_s_mean": 13.6,
        "rollout_s_max": 48.6,
        "tool_s_mean": 0.5,
        "tool_s_max": 3.0,
    }


def test_dapo_rollout_times_cover_the_last_round_only(interpret: Interpret) -> None:
    metrics = {
        "timing_s/gen": 200.0,
        f"{AGENT}/generate_sequences/mean": 13.6,
        f"{AGENT}/generate_sequences/max": 48.6,
        "timing_s/generate_sequences": 50.0,
        "timing_s/generation_timing/max": 60.0,
        "train/num_gen_batches": 3.0,
    }
    reading = interpret({1: metrics}, config={"actor_rollout_ref.rollout.name": "vllm"})
    assert reading.trainer == "dapo"
    assert dict(reading.steps[0]) == {"step": 1, "split": "train", "generate_s": 200.0, "gen_batches": 3.0}
    assert any("last round" in note for note in reading.notes)
    one = train(interpret, {**metrics, "train/num_gen_batches": 1.0})
    assert one["rollout_s_max"] == 48.6


@pytest.mark.parametrize(
    ("metrics", "engine", "wanted"),
    [
        # 0.4.1 and 0.5: the slowest rank is gen without the resharding
        (
            {"timing_s/generate_sequences": 53.7, "timing_s/reshard": 4.853, "timing_s/gen": 67.806},
            "vllm",
            (53.7, 62.953),
        ),
        # 0.6: logged
        (
            {
                "timing_s/generate_sequences": 53.7,
                "timing_s/generation_timing/max": 60.0,
                "timing_s/gen": 67.8,
            },
            "vllm",
            (53.7, 60.0),
        ),
        # SGLang's ranks wait for each other: mean = max says nothing
        (
            {
                "timing_s/generate_sequences": 60.0,
                "timing_s/generation_timing/max": 60.0,
                "timing_s/gen": 67.8,
            },
            "sglang",
            None,
        ),
        (
            {"timing_s/generate_sequences": 53.7, "timing_s/reshard": 4.8, "timing_s/gen": 67.8},
            "sglang",
            None,
        ),
        # engine unknown: 0.5 cannot be told from SGLang, 0.6 can where mean and maximum differ
        ({"timing_s/generate_sequences": 53.7, "timing_s/reshard": 4.8, "timing_s/gen": 67.8}, None, None),
        ({"timing_s/generate_sequences": 53.7, "timing_s/generation_timing/max": 60.0}, None, (53.7, 60.0)),
        (
            {
                "timing_s/generate_sequences": 60.0,
                "timing_s/generation_timing/max": 60.0,
                "timing_s/generation_timing/min": 60.0,
            },
            None,
            None,
        ),
    ],
)
def test_engine_times_of_spmd_mode(
    interpret: Interpret, metrics: dict[str, float], engine: str | None, wanted: tuple[float, float] | None
) -> None:
    config = {"actor_rollout_ref.rollout.name": engine} if engine else {}
    row = train(interpret, {**metrics, "timing_s/adv": 1.0}, config=config)
    found = (row.get("engine_s_mean"), row.get("engine_s_max"))
    assert found == ((None, None) if wanted is None else (wanted[0], pytest.approx(wanted[1])))
    assert "weight_sync_s" not in row  # resharding is a part of generate_s


def test_topk_ratio_is_no_time(interpret: Interpret) -> None:
    row = train(interpret, {"timing_s/generation_timing/topk_ratio": 0.125, "timing_s/gen": 1.0})
    assert row == {"step": 1, "split": "train", "generate_s": 1.0}


def test_one_step_off_until_0_6_waits(interpret: Interpret) -> None:
    row = train(
        interpret,
        {"timing_s/wait_prev_gen": 30.0, "timing_s/sync_rollout_weights": 2.0, "timing_s/step": 120.0},
    )
    assert row == {
        "step": 1,
        "split": "train",
        "wait_s": 30.0,
        "weight_sync_s": 2.0,
        "step_s": 120.0,
        "trainer_idle": 0.25,
    }


def test_one_step_off_since_0_7_logs_the_wait_as_gen(interpret: Interpret) -> None:
    reading = interpret({1: {"timing_s/gen": 30.0, "timing_s/generate_async": 90.0, "timing_s/step": 120.0}})
    row = dict(reading.steps[0])
    assert (row["generate_s"], row["wait_s"], row["trainer_idle"]) == (90.0, 30.0, 0.25)
    assert (reading.facts["mode"].value, reading.facts["colocated"].value) == ("async", False)


def test_fully_async_has_meanings_of_its_own(interpret: Interpret) -> None:
    metrics = {
        "fully_async/trainer/idle_ratio": 0.48,
        "fully_async/rollouter/idle_ratio": 0.245,
        "fully_async/processing_time/avg": 4.5,
        "fully_async/processing_time/max": 13.0,
        f"{AGENT}/generate_sequences/mean": 6.7,  # summed over mini-steps
        f"{AGENT}/generate_sequences/max": 13.55,
        f"{AGENT}/tool_calls/max": 1.9,
        "timing_s/gen": 17.0,
        "timing_s/timing_s/param_sync": 2.0,
        "timing_s/update_weights": 2.4,
        "timing_s/step": 35.5,
    }
    reading = interpret({1: metrics})
    assert reading.trainer == "fully-async"
    assert dict(reading.steps[0]) == {
        "step": 1,
        "split": "train",
        "wait_s": 17.0,
        "trainer_idle": 0.48,
        "rollout_idle": 0.245,
        "rollout_s_mean": 4.5,
        "rollout_s_max": 13.0,
        "weight_sync_s": 2.0,
        "step_s": 35.5,
    }
    older = train(interpret, {"trainer/idle_ratio": 0.5, "rollouter/idle_ratio": 0.1, "timing_s/gen": 3.0})
    assert (older["trainer_idle"], older["rollout_idle"]) == (0.5, 0.1)
    derived = train(
        interpret, {"fully_async/total_wait_time": 1.0, "timing_s/gen": 3.0, "timing_s/step": 12.0}
    )
    assert derived["trainer_idle"] == 0.25


@pytest.mark.parametrize(
    ("mode", "column", "idle", "run_mode", "colocated"),
    [
        ("sync", "generate_s", None, "sync", True),
        ("colocate_async", "generate_s", None, "async", True),
        ("separate_async", "wait_s", 0.25, "async", False),
        (None, None, None, "unknown", None),
    ],
)
def test_gen_of_the_v1_trainer(
    interpret: Interpret,
    mode: str | None,
    column: str | None,
    idle: float | None,
    run_mode: str,
    colocated: bool | None,
) -> None:
    config = {"trainer.v1.trainer_mode": mode} if mode else {}
    metrics = {"training/num_turns/max": 2.0, "training/filter_groups/evicted_samples": 0.0}
    reading = interpret({1: {**metrics, "timing_s/gen": 30.0, "timing_s/step": 120.0}}, config=config)
    row = dict(reading.steps[0])
    assert {c: row[c] for c in ("generate_s", "wait_s") if c in row} == ({column: 30.0} if column else {})
    assert row.get("trainer_idle") == idle
    assert reading.facts["mode"].value == run_mode
    assert (reading.facts["colocated"].value if "colocated" in reading.facts else None) == colocated


def test_v1_clip_ratio_is_not_the_share_at_the_cap(interpret: Interpret) -> None:
    lengths = {"response_length/clip_ratio": 0.1875, "response_length/max": 61.0}
    reading = interpret({1: {**V1, **lengths}})
    assert "truncated_share" not in reading.steps[0]
    assert [a.code for a in reading.alarms] == ["clip-ratio-v1"]
    assert "response_cap" not in reading.facts
    assert train(interpret, {**LEGACY, **lengths})["truncated_share"] == 0.1875
    # neither trainer shown: only zero is certain (the v1 trainer's is never zero)
    unknown = interpret({1: lengths, 2: {"response_length/clip_ratio": 0.0}}, hints={"mark.repr": "1"})
    assert [r.get("truncated_share") for r in unknown.steps] == [None, 0.0]
    assert [a.code for a in unknown.alarms] == ["clip-ratio-v1"]


def test_staleness_needs_one_version_per_trajectory(interpret: Interpret) -> None:
    one = {f"{STALE}_spans/max": 1.0, f"{STALE}_staleness/mean": 0.75, f"{STALE}_staleness/max": 2.0}
    row = train(interpret, one)
    assert (row["staleness_mean"], row["staleness_max"]) == (0.75, 2.0)
    several = {
        **one,
        f"{STALE}_spans/max": 3.0,
        f"{STALE}_staleness_worst/mean": 1.5,
        f"{STALE}_staleness_worst/max": 4.0,
    }
    row = train(interpret, several)
    assert "staleness_mean" not in row
    assert row["staleness_max"] == 4.0


PHASES = {"timing_s/gen": 50.0, "timing_s/update_actor": 40.0}


@pytest.mark.parametrize(
    ("extra", "hints", "wanted"),
    [
        # 0.4: the step holds evaluation and checkpoint
        (
            {"timing_s/step": 130.0, "timing_s/testing": 20.0, "timing_s/save_checkpoint": 15.0},
            {"mark.fixed3": "1"},
            130.0,
        ),
        # 0.6.0 to 0.7.0: neither
        (
            {"timing_s/step": 95.0, "timing_s/testing": 20.0, "timing_s/save_checkpoint": 15.0},
            {"mark.json_logger": "1"},
            130.0,
        ),
        # since 0.7.1: the checkpoint alone
        (
            {
                "timing_s/step": 110.0,
                "timing_s/testing": 20.0,
                "timing_s/save_checkpoint": 15.0,
                "timing_s/update_weights": 1.0,
            },
            {},
            130.0,
        ),
        # release unknown: the phases prove that evaluation is not inside
        ({"timing_s/step": 95.0, "timing_s/testing": 20.0}, {"mark.repr": "1"}, 115.0),
        # and here that it fits
        ({"timing_s/step": 115.0, "timing_s/testing": 20.0}, {"mark.repr": "1"}, 115.0),
        ({"timing_s/step": 95.0}, {}, 95.0),
    ],
)
def test_the_whole_step(
    interpret: Interpret, extra: dict[str, float], hints: dict[str, str], wanted: float
) -> None:
    row = train(
        interpret,
        {**LEGACY, **PHASES, **extra} if "mark.fixed3" not in hints else {**PHASES, **extra},
        hints=hints,
    )
    assert row["step_s"] == pytest.approx(wanted)
    phases = row["generate_s"] + row["update_s"] + row.get("eval_s", 0.0) + row.get("checkpoint_s", 0.0)
    assert phases <= row["step_s"]


def test_parts_of_generation_are_not_added_to_it(interpret: Interpret) -> None:
    parts = {
        "timing_s/generate_sequences": 45.0,
        "timing_s/reshard": 4.0,
        f"{AGENT}/generate_sequences/mean": 30.0,
        f"{AGENT}/slowest/response_length": 4096.0,
        "timing_per_token_ms/gen": 900.0,
        "timing_s/dump_rollout_generations": 0.5,
    }
    # 50 + 40 of phases and 20 of evaluation fit into 112; with any of the parts they would not
    row = train(interpret, {**PHASES, **parts, "timing_s/step": 112.0, "timing_s/testing": 20.0})
    assert row["step_s"] == 112.0


def test_lent_gpus_are_not_idle(interpret: Interpret) -> None:
    metrics = {
        "timing_s/switch_wait": 25.0,
        "timing_s/gen": 6.0,
        "timing_s/step": 60.0,
        "training/num_turns/max": 2.0,
    }
    row = train(interpret, metrics)
    assert (row["wait_s"], row["trainer_idle"]) == (6.0, 0.1)


def test_evaluation_never_mixes_with_training(interpret: Interpret) -> None:
    metrics: dict[int, dict[str, float]] = {
        0: {"val-core/openai/gsm8k/reward/mean@1": 0.221},
        1: {"timing_s/gen": 1.0, "critic/score/mean": 0.5, "val-core/openai/gsm8k/reward/mean@1": 0.3},
        2: {"val-core/a/reward/mean@1": 0.2, "val-core/b/reward/mean@1": 0.4},  # sizes unknown
        3: {"val-core/openai/gsm8k/acc/mean@8": 0.5, "val-aux/num_turns/mean": 2.0},  # no reward
        4: {"val/test_score/openai/gsm8k": 0.7},
        5: {"test_score/openai/gsm8k": 0.8},
        6: {"val-aux/char/reward/mean@2": 0.1, "val-core/char/reward/mean@3": 0.2},
    }
    rows = [dict(r) for r in interpret(metrics).steps]
    assert rows == [
        {"step": 0, "split": "eval", "reward_mean": 0.221},
        {"step": 1, "split": "train", "generate_s": 1.0, "reward_mean": 0.5},
        {"step": 1, "split": "eval", "reward_mean": 0.3},
        {"step": 2, "split": "eval"},
        {"step": 3, "split": "eval"},
        {"step": 4, "split": "eval", "reward_mean": 0.7},
        {"step": 5, "split": "eval", "reward_mean": 0.8},
        {"step": 6, "split": "eval"},
    ]


def test_nan_is_no_value_of_a_column(interpret: Interpret) -> None:
    row = train(interpret, {"critic/score/mean": math.nan, "timing_s/gen": 1.0, "timing_s/step": math.inf})
    assert row == {"step": 1, "split": "train", "generate_s": 1.0}


def test_unknown_generation_keys_stay_out(interpret: Interpret) -> None:
    row = train(interpret, {"timing_s/get_batch_rollout_with_filtering": 313.9, "timing_s/step": 1065.8})
    assert row == {"step": 1, "split": "train", "step_s": 1065.8}


def test_counts_by_the_identities(interpret: Interpret) -> None:
    # 5120 responses of 101.037 + 308.049 tokens on 8 GPUs for 252.485 s, printed with three decimals
    metrics = {
        "perf/total_num_tokens": 2094523.0,
        "prompt_length/mean": 101.037,
        "response_length/mean": 308.049,
        "perf/throughput": 1036.956,
        "perf/time_per_step": 252.485,
    }
    row = train(interpret, metrics, config={"actor_rollout_ref.rollout.n": 5})
    assert (row["rollouts"], row["prompts"], row["gpus"]) == (5120, 1024, 8.0)
    assert row["step_s"] == 252.485
    # a sum that is off by more than the digits allow gives nothing
    off = train(interpret, {**metrics, "perf/total_num_tokens": 2094723.0})
    assert "rollouts" not in off
    # and so do too few digits
    blurred = {
        **metrics,
        "perf/total_num_tokens": 5000.0,
        "prompt_length/mean": 0.002,
        "response_length/mean": 0.1,
    }
    assert "rollouts" not in train(interpret, blurred)
