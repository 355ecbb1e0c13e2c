"""Analyses to render: made up, but consistent; worked out in plain Python from drawn lengths."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rollprof.analyzers.results import (
    Analysis,
    Basis,
    Figure,
    Finding,
    Histogram,
    Lengths,
    Missing,
    RunInfo,
    StepFigure,
    StepResult,
    Straggler,
)

Maker = Callable[..., Analysis]
CAP = 8192


@pytest.fixture(scope="session")
def make() -> Maker:
    """`make(kind)`: an Analysis of a run of that kind (see KINDS)."""

    def build(kind: str = "calibrated", **changes: Any) -> Analysis:
        return replace(KINDS[kind](), **changes)

    return build


def draw(steps: int, per_step: int, seed: int = 7) -> list[list[int]]:
    rng = random.Random(seed)
    return [
        [min(CAP, max(8, int(math.exp(rng.gauss(6.4 + 0.01 * s, 1.0))))) for _ in range(per_step)]
        for s in range(steps)
    ]


def _seconds(length: float) -> float:
    return 1.5 + 0.012 * length


def _quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def _log_histogram(values: Sequence[int], bins: int = 60) -> Histogram:
    low, high = math.log(min(values)), math.log(max(values))
    edges = [math.exp(low + (high - low) * i / bins) for i in range(bins + 1)]
    counts = [0] * bins
    for v in values:
        counts[min(int((math.log(v) - low) / (high - low) * bins), bins - 1)] += 1
    return Histogram(tuple(edges), tuple(counts), "tokens", "log")


def _linear_histogram(values: Sequence[int], bins: int = 20) -> Histogram:
    top = max(values)
    counts = [0] * bins
    for v in values:
        counts[min(int(v / top * bins), bins - 1)] += 1
    return Histogram(tuple(top * i / bins for i in range(bins + 1)), tuple(counts), "tokens", "linear")


def figure(
    name: str, value: float | None, unit: str = "fraction", basis: Basis | None = None, **more: Any
) -> Figure:
    return Figure(name, value, unit, basis, **more)


def length_figures(lengths: Sequence[int]) -> dict[str, Figure]:
    n, ordered = len(lengths), sorted(lengths)
    mean = sum(lengths) / n
    values: dict[str, tuple[float, str]] = {
        "response_tokens_mean": (mean, "tokens"),
        "response_tokens_p50": (_quantile(lengths, 0.5), "tokens"),
        "response_tokens_p90": (_quantile(lengths, 0.9), "tokens"),
        "response_tokens_p99": (_quantile(lengths, 0.99), "tokens"),
        "response_tokens_max": (max(lengths), "tokens"),
        "max_over_median": (max(lengths) / _quantile(lengths, 0.5), "ratio"),
        "truncated_share": (sum(v >= CAP for v in lengths) / n, "fraction"),
        "tail_token_share_10": (sum(ordered[-(n // 10) :]) / sum(lengths), "fraction"),
    }
    return {k: figure(k, v, unit, "logged", n=n) for k, (v, unit) in values.items()}


def step_results(drawn: Sequence[Sequence[int]], basis: Basis) -> list[StepResult]:
    results = []
    for index, lengths in enumerate(drawn):
        times = [_seconds(v) for v in lengths]
        end = max(times)
        mean_wait = end - sum(times) / len(times)
        results.append(
            StepResult(
                step=index + 1,
                columns={
                    "generate_s": end,
                    "step_s": end * 1.4,
                    "rollouts": float(len(lengths)),
                    "response_tokens_mean": sum(lengths) / len(lengths),
                },
                figures={
                    "slot_idle": StepFigure(mean_wait / end, basis),
                    "straggler_wait_mean_s": StepFigure(mean_wait, basis),
                    "generation_idle": StepFigure(None, "calibrated", interval=(0.2, 0.4)),
                    "engine_idle": StepFigure(None, None),
                },
            )
        )
    return results


def straggler(step: int, lengths: Sequence[int], wait: float) -> Straggler:
    longest = max(lengths)
    why = "truncated" if longest >= CAP else "long"
    return Straggler(step, 12_345_678_901_234_567_890, longest, 0.0, "length", wait, why)


def base(steps: int = 20, per_step: int = 256, basis: Basis = "measured") -> Analysis:
    drawn = draw(steps, per_step)
    pooled = [v for step in drawn for v in step]
    results = step_results(drawn, basis)
    ends = [max(map(_seconds, step)) for step in drawn]
    waits = [r.figures["straggler_wait_mean_s"].value or 0.0 for r in results]
    slot = sum(waits) / sum(ends)
    tails = [end - _quantile([_seconds(v) for v in step], 0.9) for step, end in zip(drawn, ends, strict=True)]
    figures = {
        **length_figures(pooled),
        "slot_idle": figure("slot_idle", slot, basis=basis, n=steps),
        "straggler_wait_mean_s": figure("straggler_wait_mean_s", sum(waits) / steps, "s", basis, n=steps),
        "straggler_wait_max_s": figure("straggler_wait_max_s", max(ends) - 1.6, "s", basis, n=steps),
        "tail_time_share": figure("tail_time_share", sum(tails) / sum(ends), basis=basis, n=steps),
    }
    return Analysis(
        run=RunInfo(
            framework="verl",
            framework_version="0.8",
            trainer="legacy",
            steps=steps,
            rollouts=len(pooled),
            prompts=len(pooled) // 8,
            gpus=8,
            engines=4,
            response_cap=CAP,
            facts={
                "gpus": {"value": 8, "origin": "config", "how": "trainer.n_gpus_per_node x trainer.nnodes"}
            },
            sources=[{"name": "rollouts/1.jsonl", "size": 1000}, {"name": "train.log", "size": 2000}],
        ),
        figures=figures,
        steps=results,
        eval_steps=[],
        headline="step_idle",
        lengths=Lengths("tokens", "exact", _linear_histogram(pooled), _log_histogram(pooled), (), CAP),
        phases={},
        stragglers=[straggler(r.step, d, w) for r, d, w in zip(results, drawn, waits, strict=True)],
        in_flight=[],
        findings=[],
        missing=[],
        ledger={"read": len(pooled), "repaired": 0, "skipped": 0, "problems": []},
    )


FINDINGS = (
    Finding(
        "tail_dominates",
        "high",
        "The tail dominates generation: the last 10 % of rollouts take three quarters of its time.",
        {"tail_time_share": 0.75},
        "Let the trainer go on before the last rollouts are done (partial rollouts), "
        "or cap responses at the p99.",
    ),
    Finding(
        "cap_binds",
        "medium",
        "1.4 % of responses run into the cap of 8,192 tokens.",
        {"truncated_share": 0.014},
    ),
    Finding(
        "length_drift", "low", "Responses grow by 1.1 % a step.", {}, "Expect the next 50 steps to be longer."
    ),
)
PHASES = {
    name: figure(f"phase_share_{name}", value, basis="logged")
    for name, value in (("generate", 0.714), ("update", 0.2), ("reward", 0.05), ("other", 0.036))
}
BUCKETS = tuple(
    {
        "bucket": name,
        "prompts": prompts,
        "rollouts": prompts * 8,
        "length_mean": mean,
        "length_p95": mean * 3,
        "truncated_share": share,
        "tail_share": tail,
        "wait_share": tail / 2 + 0.1,
    }
    for name, prompts, mean, share, tail in (
        ("all wrong", 110, 1900.0, 0.08, 0.44),
        ("mostly wrong", 140, 1400.0, 0.03, 0.25),
        ("mixed", 180, 1000.0, 0.01, 0.18),
        ("mostly right", 130, 800.0, 0.004, 0.09),
        ("all right", 80, 500.0, 0.0, 0.04),
    )
)


def calibrated() -> Analysis:
    """verl with step times that identify the decode cost: everything there is."""
    run = base()
    figures = {
        **run.figures,
        "step_idle": figure("step_idle", 0.412, basis="calibrated", n=20, interval=(0.385, 0.434)),
        "generation_idle": figure("generation_idle", 0.577, basis="calibrated", n=20, interval=(0.54, 0.607)),
        "effective_idle": figure("effective_idle", 0.577, basis="calibrated", n=20, interval=(0.54, 0.607)),
        "engine_idle": figure("engine_idle", 0.112, basis="measured", n=20),
        "gpu_hours_lost": figure("gpu_hours_lost", 2.143, "h", "calibrated"),
    }
    ledger = {
        "read": 5105,
        "repaired": 12,
        "skipped": 3,
        "problems": [
            {"file": "rollouts/2.jsonl", "offset": 4, "reason": "NaN", "kind": "repaired"},
            {"file": "rollouts/7.jsonl", "offset": 18231, "reason": "half a line", "kind": "skipped"},
        ],
    }
    return replace(run, figures=figures, phases=PHASES, findings=FINDINGS, ledger=ledger)


def with_difficulty() -> Analysis:
    """The same, with prompts and rewards."""
    run = calibrated()
    rho = figure("difficulty_length_spearman", 0.41, "correlation", "logged", interval=(0.31, 0.5))
    return replace(run, difficulty=BUCKETS, figures={**run.figures, rho.name: rho})


def logged() -> Analysis:
    """verl's aggregates only: an upper bound, no single rollouts."""
    run = base(basis="logged")
    kept = {k: v for k, v in run.figures.items() if k in ("response_tokens_mean", "response_tokens_max")}
    figures = {
        **kept,
        "slot_idle": figure("slot_idle", 0.5058, basis="logged", n=1, bound="lower"),
        "step_idle": figure("step_idle", 0.2351, basis="logged", n=1, bound="upper"),
        "straggler_wait_mean_s": figure("straggler_wait_mean_s", 272.9, "s", "logged", n=1),
        "gpu_hours_lost": figure("gpu_hours_lost", 0.608, "h", "logged", bound="upper"),
    }
    return replace(
        run,
        run=replace(run.run, rollouts=0, prompts=0, steps=1, trainer=None),
        figures=figures,
        steps=[StepResult(1, {"generate_s": 541.2}, {"straggler_wait_mean_s": StepFigure(272.9, "logged")})],
        stragglers=[],
        lengths=Lengths("tokens", None, None, None),
        missing=[
            Missing(
                "engine_idle",
                "not in this log: no time per engine",
                "actor_rollout_ref.rollout.disable_log_stats=False",
            ),
            Missing("effective_idle", "step times do not identify the decode cost here"),
            Missing(
                "difficulty_length_spearman", "no rollout dump", "trainer.rollout_data_dir=DIR (0.4.0 on)"
            ),
            Missing("icc_log_length", "no rollout dump", "trainer.rollout_data_dir=DIR (0.4.0 on)"),
        ],
    )


def bracket() -> Analysis:
    """Lengths alone: no clock anywhere."""
    run = base(basis="modelled")
    keep = {k: v for k, v in run.figures.items() if "_s" not in k[-2:] and k != "tail_time_share"}
    idle = {
        name: figure(name, None, basis="modelled", n=20, interval=(0.488, 0.871))
        for name in ("generation_idle", "slot_idle")
    }
    steps = [
        StepResult(
            r.step,
            {"rollouts": r.columns["rollouts"]},
            {
                "slot_idle": StepFigure(None, "modelled", interval=(0.4, 0.8)),
                "straggler_wait_mean_tokens": StepFigure(4000.0 + 137 * (r.step % 7), "modelled"),
            },
        )
        for r in run.steps
    ]
    wait = figure("straggler_wait_mean_tokens", 4391.0, "tokens", "modelled")
    why = "no generation times"
    return replace(
        run,
        headline="generation_idle",
        figures={**keep, **idle, wait.name: wait},
        steps=steps,
        missing=[Missing(name, why, "trainer.logger=[console,file]") for name in ("engine_idle", "step_s")],
        lengths=replace(run.lengths, token_basis="characters", unit="characters", cap=None),
    )


def straggler_512() -> Analysis:
    """500 responses done at 2 s, 12 at 30 s: the worked example of the definitions."""
    slot = 1 - (500 * 2 + 12 * 30) / (512 * 30)
    wait = 500 * 28 / 512
    lengths = [100] * 500 + [1500] * 12
    run = base(steps=1)
    figures = {
        **length_figures(lengths),
        "slot_idle": figure("slot_idle", slot, basis="measured", n=1),
        "generation_idle": figure("generation_idle", slot, basis="measured", n=1, bound="upper"),
        "tail_time_share": figure("tail_time_share", 28 / 30, basis="measured", n=1),
        "straggler_wait_mean_s": figure("straggler_wait_mean_s", wait, "s", "measured", n=1),
    }
    step = StepResult(1, {"rollouts": 512.0}, {"straggler_wait_mean_s": StepFigure(wait, "measured")})
    info = replace(
        run.run, framework="generic", framework_version=None, trainer=None, rollouts=512, prompts=64,
        gpus=None, engines=None, response_cap=None, sources=[{"name": "straggler_512.jsonl"}],
    )  # fmt: skip
    shape = replace(run.lengths, log=_log_histogram(lengths), linear=_linear_histogram(lengths), cap=None)
    return replace(
        run, run=info, figures=figures, steps=[step], headline="generation_idle", lengths=shape,
        stragglers=[Straggler(1, 5, 1500.0, 1.0, "stop", 0.0, "long")],
    )  # fmt: skip


def nothing_known() -> Analysis:
    """Steps, and not one figure."""
    run = base(steps=1)
    return replace(
        run,
        run=replace(run.run, rollouts=0, prompts=0, gpus=None, engines=None, response_cap=None, sources=[]),
        figures={},
        steps=[StepResult(1, {}, {})],
        headline="generation_idle",
        stragglers=[],
        lengths=Lengths("tokens", None, None, None),
        missing=[Missing("generation_idle", "neither lengths nor times", "trainer.logger=[console,file]")],
    )


def asynchronous() -> Analysis:
    """Fully async with an unknown split of the GPUs."""
    run = base()
    figures = {
        **{k: v for k, v in run.figures.items() if not k.startswith(("slot", "straggler", "tail_time"))},
        "trainer_idle": figure(
            "trainer_idle",
            0.313,
            basis="logged",
            n=20,
            note="GPUs per side unknown: this is the trainer's side",
        ),
        "rollout_idle": figure("rollout_idle", 0.0004, basis="logged", n=20),
    }
    return replace(run, figures=figures, headline="trainer_idle", steps=[], stragglers=[])


KINDS: Mapping[str, Callable[[], Analysis]] = {
    "calibrated": calibrated,
    "difficulty": with_difficulty,
    "logged": logged,
    "bracket": bracket,
    "straggler_512": straggler_512,
    "nothing_known": nothing_known,
    "asynchronous": asynchronous,
}
