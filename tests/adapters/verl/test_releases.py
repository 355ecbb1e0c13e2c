"""The release from the keys and forms of a log, and the trainer that wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from rollprof.adapters.verl.releases import Span, span_of, trainer_of, v1_mode_of


def version(*keys: str, config: dict[str, Any] | None = None, **marks: str) -> str | None:
    return span_of(set(keys), {k.replace("__", "."): v for k, v in marks.items()}, config or {}).text()


def trainer(*keys: str, config: dict[str, Any] | None = None, **hints: str) -> str | None:
    named = {k.replace("__", "."): v for k, v in hints.items()}
    return trainer_of(set(keys), named, config or {}, span_of(set(keys), named, config or {}))[0]


LENGTHS = ("response_length/clip_ratio", "prompt_length/mean", "critic/score/mean")
AGENT = (
    "timing_s/agent_loop/generate_sequences/max",
    "timing_s/agent_loop/slowest/response_length",
)


@pytest.mark.parametrize(
    ("keys", "marks", "wanted"),
    [
        (("timing/gen", "critic/lr(1e-4)"), {}, "0.1"),
        (("timing_s/gen", "mfu/actor", "Tokens/Sec/GPU"), {"mark__fixed3": "1"}, "0.2"),
        (("perf/throughput", *LENGTHS), {"mark__fixed3": "1"}, "0.3"),
        (("perf/throughput", "training/global_step", *LENGTHS), {"mark__fixed3": "1"}, "0.4"),
        (("timing_s/generate_sequences", "timing_s/reshard"), {"mark__fixed3": "1"}, "0.4.1"),
        (
            ("timing_s/generate_sequences", "timing_s/start_profile", *LENGTHS, "training/global_step"),
            {},
            "0.5",
        ),
        (("timing_s/generation_timing/max", "response_length_non_aborted/mean"), {}, "0.6"),
        (("timing_s/gen",), {"mark__json_logger": "1"}, ">=0.6,<0.7.1"),
        ((*AGENT,), {}, ">=0.5,<0.7.1"),
        ((*AGENT, "timing_s/agent_loop/num_preempted/max"), {"mark__orjson": "1"}, "0.7.1"),
        (
            (*AGENT, "timing_s/agent_loop/compute_score/max", "actor/perf/max_memory_allocated_gb"),
            {},
            ">=0.8",
        ),
        (("training/num_turns/max", "timing_s/gen"), {}, ">=0.8"),
        (("training/off_policy/trajectory_spans/mean",), {"mark__TaskRunnerV1": "1"}, ">=0.9"),
        (("rollout/moe/x",), {}, "0.9.1"),
        (("timing_s/wait_prev_gen",), {}, ">=0.5,<0.7"),
        (("rollouter/idle_ratio", "fully_async/total_wait_time"), {}, ">=0.6.1,<0.7.1"),
        (("actor/lr",), {}, None),
        (("timing_s/generate_sequences",), {"mark__orjson": "1"}, None),  # a fork
    ],
)
def test_releases(keys: tuple[str, ...], marks: dict[str, str], wanted: str | None) -> None:
    assert version(*keys, **marks) == wanted


def test_the_configuration_narrows() -> None:
    assert version("timing_s/gen", config={"trainer.use_v1": False}) == ">=0.9"
    assert version("timing_s/gen", config={"actor_rollout_ref.actor._target_": "x"}) == ">=0.5"
    assert version(config={"trainer.nnodes": 1}, mark__config_whole="1") == "0.1"  # rollout.n came with 0.2


def test_a_fork_is_contradictory() -> None:
    assert span_of({"timing_s/generate_sequences"}, {"mark.orjson": "1"}, {}).contradictory
    assert not Span((0, 5, 0), (0, 6, 0)).contradictory


@pytest.mark.parametrize(
    ("keys", "hints", "config", "wanted"),
    [
        (("timing_s/start_profile", "timing_s/gen"), {}, {}, "legacy"),
        # the configuration says v1, the keys prove the legacy trainer
        (("timing_s/agent_loop/tool_calls/max",), {}, {"trainer.use_v1": True}, "legacy"),
        (("training/num_turns/mean",), {}, {}, "v1"),
        (("training/off_policy/trajectory_spans/mean",), {}, {}, "v1"),
        (("timing_s/gen",), {"mark__TaskRunnerV1": "1"}, {}, "v1"),
        (("timing_s/gen",), {}, {"trainer.use_v1": True}, "v1"),
        (("timing_s/gen",), {"entry": "verl.trainer.main_ppo_sync"}, {}, "v1"),
        (("timing_s/gen",), {"mark__orjson": "1"}, {"trainer.use_v1": False}, "legacy"),
        (("train/num_gen_batches", "timing_s/start_profile"), {}, {}, "dapo"),
        (("timing_s/gen",), {"mark__dapo": "1"}, {}, "dapo"),
        (("timing_s/wait_prev_gen",), {}, {}, "one-step-off"),
        (("timing_s/generate_async", "timing_s/start_profile"), {}, {}, "one-step-off"),
        (("fully_async/rollouter/idle_ratio", "timing_s/agent_loop/tool_calls/max"), {}, {}, "fully-async"),
        (("rollouter/idle_ratio",), {}, {}, "fully-async"),
        (("timing_s/gen",), {"mark__fully_async": "1"}, {}, "fully-async"),
        (("timing/gen",), {}, {}, "legacy"),
        (("timing_s/gen",), {"mark__repr": "1"}, {}, None),
    ],
)
def test_trainers(
    keys: tuple[str, ...], hints: dict[str, str], config: dict[str, Any], wanted: str | None
) -> None:
    assert trainer(*keys, config=config, **hints) == wanted


BASE = "training/off_policy/trajectory"


@pytest.mark.parametrize(
    ("metrics", "config", "wanted"),
    [
        ({}, {"trainer.v1.trainer_mode": "separate_async"}, "separate_async"),
        ({"separate_async/switch/count": 1.0}, {}, "separate_async"),
        ({f"{BASE}_staleness_worst/max": 0.0, f"{BASE}_spans/max": 1.0}, {}, "sync"),
        ({f"{BASE}_staleness_worst/max": 2.0, f"{BASE}_spans/max": 1.0}, {}, None),
        ({"training/num_turns/max": 2.0}, {}, None),
    ],
)
def test_modes_of_the_v1_trainer(
    metrics: dict[str, float], config: dict[str, Any], wanted: str | None
) -> None:
    keys = set(metrics)
    assert v1_mode_of([metrics], keys, config, span_of(keys, {}, config)) == wanted
