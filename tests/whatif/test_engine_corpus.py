"""A real engine's requests: the replay against the clock, fitted within steps and across steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_runs import engine_requests, tables

from rollprof.analyzers.generations import generations
from rollprof.analyzers.run_data import load_run
from rollprof.analyzers.tables import Settings
from rollprof.model.calibrate import fit_rollouts
from rollprof.model.simulate import replay
from rollprof.whatif.run import Options, whatif
from rollprof.whatif.timed import cost_of, step_times

SLOTS = {"wide_256": None, "queue_32slots": 32}


def of(corpus: Path, name: str):
    fact = {"mode": "sync", "engines": 1, **({"max_num_seqs": SLOTS[name]} if SLOTS[name] else {})}
    return tables(engine_requests(corpus, name), fact=fact)


def steps(corpus: Path, name: str):
    run = load_run(of(corpus, name), Settings(), "train")
    return step_times(run, generations(run))


@pytest.mark.parametrize(("name", "off"), [("wide_256", 0.03), ("queue_32slots", 0.05)])
def test_fitted_on_four_fifths_of_a_steps_times_the_replay_is_near_the_clock(corpus, name, off):
    for t in steps(corpus, name):
        order = np.argsort(t.step.seconds)
        assert len(order) == len(t.lengths)
        times = np.full(len(t.lengths), np.nan)
        # completion times by rollout, in the order of submission
        seconds = _by_submission(corpus, name, t)
        times[:] = seconds
        held = np.argsort(np.argsort(seconds)) % 5 == 4
        times[held] = np.nan
        fit = fit_rollouts(times, t.lengths, t.prompts, slots=t.slots)
        got = replay(t.lengths, fit.cost, prompts=t.prompts, slots=t.slots)
        assert got.slot_idle == pytest.approx(t.slot_idle, abs=off)


def _by_submission(corpus, name, t):
    for rows in _steps_of(engine_requests(corpus, name)):
        start = np.array([r["started_at"] for r in rows])
        end = np.array([r["completed_at"] for r in rows])
        order = np.argsort(start, kind="stable")
        if np.array_equal(np.array([r["response_tokens"] for r in rows])[order], t.lengths):
            return (end - start.min())[order]
    raise AssertionError("no such step")


def _steps_of(rows):
    found: dict[int, list] = {}
    for r in rows:
        found.setdefault(r["step"], []).append(r)
    return list(found.values())


def test_fitted_on_the_other_steps_it_beats_lengths_alone(corpus, capsys):
    times = steps(corpus, "wide_256")
    for k, t in enumerate(times):
        cost = cost_of([o for i, o in enumerate(times) if i != k])
        got = replay(t.lengths, cost, prompts=t.prompts)
        alone = 1 - t.lengths.mean() / t.lengths.max()
        with capsys.disabled():
            print(
                f"\n  wide_256 step {k}: clock {t.slot_idle:.3f}, other steps' cost {got.slot_idle:.3f}, "
                f"lengths alone {alone:.3f}; time off by {got.duration / t.duration - 1:+.0%}",
                end="",
            )
        assert abs(got.slot_idle - t.slot_idle) < abs(alone - t.slot_idle)


def test_the_error_across_steps_is_said(corpus):
    found = whatif(of(corpus, "wide_256"), Settings(), Options(policies=("partial",)))
    c = found.calibration
    assert c.source == "fit-rollouts"
    assert c.held_out_error is not None
    assert c.held_out_error < c.constant_error
    assert 0 < c.drift["idle_error"] < 0.15
    assert 0 < c.drift["time_error"] < 1.0
    partial = next(p for p in found.policies if p.name == "partial")
    assert 1 < partial.speedup <= found.baseline.most * 1.05
