"""Very long runs are replayed in part: evenly spaced, said so, and within the stated intervals."""

from __future__ import annotations

import numpy as np
import pytest
from small_runs import length_rows, run_of, tables

from rollprof.analyzers.generations import generations
from rollprof.analyzers.tables import Settings
from rollprof.render.whatif_terminal import render
from rollprof.whatif import sampling
from rollprof.whatif.run import Options, whatif
from rollprof.whatif.sampling import sampled

STEPS, ROLLOUTS = 60, 32


def rows():
    rng = np.random.default_rng(4)
    found = []
    for s in range(1, STEPS + 1):
        L = np.clip(rng.lognormal(5.5, 0.9, ROLLOUTS), 1, 4000).astype(int)
        found += [
            {**r, "group_id": s * 1000 + i // 4, "prompt_id": i // 4}
            for i, r in enumerate(length_rows(L, step=s))
        ]
    return found


@pytest.fixture(scope="module")
def run():
    return tables(rows(), fact={"mode": "sync", "engines": 2})


def picked(asked):
    run = run_of(rows(), fact={"mode": "sync"})
    found = sampled(run, generations(run), asked)
    return [int(run.steps[g.index]) for g in found.phases], found


def test_the_steps_are_evenly_spaced_over_the_whole_run():
    steps, found = picked(6)
    assert steps == [6, 16, 26, 36, 46, 56]
    assert found.of == STEPS
    assert found.note.startswith("6 of 60 steps are replayed, evenly spaced")
    steps, _ = picked(7)
    assert len(set(steps)) == 7
    assert {8, 9} >= set(np.diff(steps).tolist())


@pytest.mark.parametrize("asked", [None, STEPS, 10_000])
def test_all_steps_are_replayed_where_that_is_affordable_or_asked_for(asked):
    steps, found = picked(asked)
    assert steps == list(range(1, STEPS + 1))
    assert found.note == ""


def test_beyond_the_limit_about_as_many_rollouts_as_are_affordable(monkeypatch):
    monkeypatch.setattr(sampling, "MOST_ROLLOUTS", 1000)
    monkeypatch.setattr(sampling, "SAMPLED_ROLLOUTS", 10 * ROLLOUTS)
    monkeypatch.setattr(sampling, "FEWEST_STEPS", 5)
    assert len(picked(None)[0]) == 10
    monkeypatch.setattr(sampling, "FEWEST_STEPS", 12)
    assert len(picked(None)[0]) == 12


def test_a_sample_says_so_and_its_intervals_hold_the_figures_of_the_whole(run):
    policies = ("partial:budget=600", "april:over=1.5", "truncate:cap=1000")
    whole = whatif(run, Settings(), Options(policies))
    part = whatif(run, Settings(), Options(policies, sample=20))
    assert (whole.steps, whole.of_steps) == (STEPS, STEPS)
    assert (part.steps, part.of_steps, part.rollouts) == (20, STEPS, 20 * ROLLOUTS)
    assert "20 of 60 steps" in render(part).splitlines()[0]
    assert "evenly spaced over the run" in " ".join(render(part).split())
    assert "evenly spaced" not in render(whole)
    true = {p.name: p for p in whole.policies}
    for p in part.policies:
        if p.interval is not None and p.name != "baseline":
            low, high = p.interval
            assert low <= true[p.name].speedup <= high, p.name


def test_a_sample_of_aggregates(monkeypatch):
    columns = [
        {"step": s, "rollouts": 64, "response_tokens_mean": 900.0 + s, "response_tokens_max": 4000.0}
        for s in range(1, 41)
    ]
    made = tables([], columns, fact={"mode": "sync", "engines": 2})
    monkeypatch.setattr(sampling, "MOST_ROLLOUTS", 64 * 20)
    monkeypatch.setattr(sampling, "SAMPLED_ROLLOUTS", 64 * 10)
    monkeypatch.setattr(sampling, "FEWEST_STEPS", 1)
    found = whatif(made, Settings(), Options(("partial",)))
    assert (found.steps, found.of_steps) == (10, 40)
