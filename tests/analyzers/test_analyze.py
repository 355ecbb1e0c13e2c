from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from small_runs import analyzed, length_rows, straggler_512, tables, timed_rows

from rollprof.analyzers.analyze import analyze
from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.tables import Settings


def test_who_wrote_the_run_and_how_big_it_is() -> None:
    rows = [
        {**r, "prompt_id": i // 2}
        for i, r in enumerate([*length_rows([1, 2, 3, 4]), *length_rows([5, 6], step=2)])
    ]
    sources = [{"name": "a.jsonl", "size": 10}]
    a = analyzed(
        rows,
        fact={"gpus": 8, "engines": 4, "response_cap": 100},
        framework="verl",
        framework_version="0.8",
        trainer="legacy",
        sources=sources,
        versions={"vllm": "0.11"},
    )
    run = a.run
    assert (run.framework, run.framework_version, run.trainer) == ("verl", "0.8", "legacy")
    assert (run.steps, run.rollouts, run.prompts) == (2, 6, 3)
    assert (run.gpus, run.engines, run.response_cap) == (8, 4, 100)
    assert run.facts["gpus"]["how"] == "said in the test"
    assert (list(run.sources), dict(run.versions)) == (sources, {"vllm": "0.11"})


def test_sizes_from_aggregates_alone() -> None:
    steps = [{"step": s, "rollouts": 64, "prompts": 8, "gpus": 4.0} for s in (1, 2, 3)]
    run = analyzed(steps=steps).run
    assert (run.steps, run.rollouts, run.prompts, run.gpus) == (3, 192, 24, 4)


def test_steps_carry_columns_and_figures_of_both_tables() -> None:
    rows = [*timed_rows([1] * 2, [1.0, 4.0], step=1), *timed_rows([1] * 2, [1.0, 4.0], step=3, t0=1.7e9 + 90)]
    a = analyzed(rows, [{"step": 2, "generate_s": 5.0, "reward_mean": 0.5}, {"step": 3, "generate_s": 4.0}])
    assert [s.step for s in a.steps] == [1, 2, 3]
    assert a.steps[1].columns == {"generate_s": 5.0, "reward_mean": 0.5}
    assert a.steps[2].figures["slot_idle"].value == pytest.approx(0.375)
    assert a.steps[0].figures["straggler_wait_mean_s"].value == pytest.approx(1.5)


def test_a_range_of_steps_is_all_there_is() -> None:
    rows = [r for s in range(1, 6) for r in length_rows([10 * s, 10 * s], step=s)]
    a = analyzed(rows, settings=Settings(steps=(2, 3)))
    assert [s.step for s in a.steps] == [2, 3]
    assert (a.run.rollouts, a.figures["response_tokens_mean"].value) == (4, 25)


def test_rollouts_without_a_step_join_the_only_step_there_is() -> None:
    rows = [{k: v for k, v in r.items() if k != "step"} for r in timed_rows([1] * 2, [1.0, 4.0])]
    alone = analyzed(rows)
    assert [s.step for s in alone.steps] == [1]
    one = analyzed(rows, [{"step": 7, "step_s": 8.0, "generate_s": 4.0}])
    assert [s.step for s in one.steps] == [7]
    assert one.steps[0].figures["step_idle"].value == pytest.approx(0.375 / 2)
    several = analyzed(rows, [{"step": 7}, {"step": 8}])
    assert all("slot_idle" not in s.figures for s in several.steps)
    assert several.figures["response_tokens_mean"].n == 2


def test_an_empty_run_has_reasons_and_no_numbers() -> None:
    a = analyzed()
    assert (a.run.steps, a.run.rollouts, len(a.steps), len(a.in_flight)) == (0, 0, 0, 0)
    assert not [f for f in a.figures.values() if f.value is not None]
    assert all(m.why for m in a.missing)


@pytest.mark.parametrize(
    "rows",
    [
        length_rows([0, 0, 0]),
        length_rows([5]),
        timed_rows([5], [3.0]),
        timed_rows([0, 0], [3.0, 4.0]),
        timed_rows([5, 5], [0.0, 0.0]),
        [{"step": 1}],
        [{"step": -3, "response_tokens": 2**31 - 1}],
        [{**r, "reward": float("nan"), "generate_s": float("inf")} for r in length_rows([1, 2])],
    ],
)
def test_odd_rollouts_end_in_figures_or_reasons(rows: list) -> None:  # type: ignore[type-arg]
    a = analyzed(rows, fact={"mode": "sync", "engines": 1, "max_num_seqs": 1})
    for f in a.figures.values():
        assert f.value is None or np.isfinite(f.value)
        assert f.interval is None or np.isfinite(f.interval).all()


@pytest.mark.parametrize(
    "fact",
    [
        {"engines": "four", "gpus": -1, "max_num_seqs": float("nan"), "mode": 7, "colocated": "yes"},
        {"engines": 0, "gpus": 1e300, "response_cap": "inf"},
        {"engines": [1], "gpus": {"a": 1}},
    ],
)
def test_facts_may_hold_anything(fact: dict) -> None:  # type: ignore[type-arg]
    a = analyzed(straggler_512(), fact=fact)
    assert a.figures["slot_idle"].value == pytest.approx(0.9115, abs=1e-4)


def test_metadata_may_be_bare() -> None:
    t = tables(straggler_512())
    bare = analyze(
        type(t)(t.rollouts, t.steps, t.metrics, t.engines, t.gpus, t.segments, {}), Settings(resamples=20)
    )
    assert bare.run.framework == "unknown"
    assert bare.figures["slot_idle"].value == pytest.approx(0.9115, abs=1e-4)


def test_figures_are_of_the_registry_and_in_its_order() -> None:
    a = analyzed(straggler_512(), [{"step": 1, "step_s": 60.0, "generate_s": 31.0, "update_s": 20.0}])
    assert list(a.figures) == [n for n in REGISTRY if n in a.figures]
    for name, f in a.figures.items():
        assert f.name == name
        assert f.unit == REGISTRY[name].unit or f.unit == "characters"


def test_the_same_run_gives_the_same_analysis() -> None:
    rng = np.random.default_rng(0)
    rows = [
        {**r, "prompt_id": i // 4, "group_id": i // 4, "reward": float(rng.random() < 0.5)}
        for s in range(5)
        for i, r in enumerate(
            timed_rows(rng.integers(1, 900, 40), rng.random(40) * 50 + 1, step=s, t0=1.7e9 + 100 * s)
        )
    ]
    assert analyzed(rows) == analyzed(rows)


@pytest.mark.parametrize(("tokens", "basis"), [("exact", "measured"), ("scaled", "modelled")])
def test_what_is_computed_from_scaled_lengths_is_modelled(tokens: str, basis: str) -> None:
    rng = np.random.default_rng(1)
    rows = [
        {
            "step": 1,
            "prompt_id": i // 4,
            "group_id": i // 4,
            "response_tokens": int(rng.integers(10, 900)),
            "token_basis": tokens,
            "reward": float(rng.random() < 0.5),
        }
        for i in range(80)
    ]
    figures = analyzed(rows).figures
    assert figures["icc_log_length"].basis == basis
    assert figures["useless_token_share"].basis == basis
    assert figures["zero_variance_share"].basis == "measured"
