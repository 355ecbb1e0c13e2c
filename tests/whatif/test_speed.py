"""A long run under all policies, intervals included: in time, and linear in the steps."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from small_runs import tables

from rollprof.analyzers.tables import Settings
from rollprof.whatif.run import whatif

GROUPS, SIZE = 128, 8


def long_run(steps: int, slots: int):
    """1,024 rollouts a step with groups, rewards, prompts of two epochs and step times."""
    rng = np.random.default_rng(0)
    n = steps * GROUPS * SIZE
    log = np.repeat(rng.normal(0, 0.55, steps * GROUPS), SIZE) + rng.normal(0, 0.55, n)
    L = np.minimum(3000 * np.exp(log), 16_000).astype(int)
    group = np.repeat(np.arange(steps * GROUPS, dtype=np.uint64), SIZE)
    rollouts = pl.DataFrame(
        {
            "step": np.repeat(np.arange(1, steps + 1), GROUPS * SIZE),
            "split": ["train"] * n,
            "group_id": group,
            "prompt_id": group % np.uint64(max(steps * GROUPS // 2, 1)),
            "response_tokens": L,
            "prompt_tokens": np.full(n, 200),
            "token_basis": ["exact"] * n,
            "reward": (rng.random(n) < 0.5).astype(float),
        }
    )
    by_step = L.reshape(steps, -1)
    took = (7e-3 * by_step.max(1) + 1e-5 * by_step.sum(1) / 8) * rng.lognormal(0, 0.03, steps)
    rows = [
        {"step": i + 1, "generate_s": t, "update_s": 60.0, "step_s": t + 70}
        for i, t in enumerate(took.tolist())
    ]
    made = tables([], rows, fact={"engines": 8, "max_num_seqs": slots, "mode": "sync"})
    return replace(made, rollouts=rollouts.lazy())


def seconds(steps: int, slots: int) -> float:
    run = long_run(steps, slots)
    begin = time.process_time()
    found = whatif(run, Settings())
    assert sum(p.interval is not None for p in found.policies) >= 18
    return time.process_time() - begin


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1024, 64])
def test_a_thousand_steps_take_less_than_a_minute(slots):
    assert seconds(1000, slots) < 60


@pytest.mark.slow
def test_a_very_long_run_is_sampled_and_takes_seconds():
    run = long_run(3000, 1024)
    begin = time.process_time()
    found = whatif(run, Settings())
    assert time.process_time() - begin < 20
    assert (found.steps, found.of_steps) == (195, 3000)


@pytest.mark.slow
def test_cost_is_linear_in_the_steps():
    seconds(10, 1024)  # imports
    one, two = seconds(50, 1024), seconds(150, 1024)
    assert two < one * 3 * 1.5
