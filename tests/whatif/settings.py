"""Small settings for the tests of replays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from rollprof.model.decode import DecodeCost
from rollprof.whatif.compose import parse
from rollprof.whatif.evaluate import Evaluator
from rollprof.whatif.outcome import Outcome
from rollprof.whatif.setting import Engines, Setting, Trainer
from rollprof.whatif.workload import Workload, make_workload

NO_TRAINER = Trainer()


def steps_of(*steps: Sequence[Sequence[int]], prompts: int = 0, rewards=None) -> Workload:
    """`steps_of([[3, 5], [2, 2]], ...)`: steps of groups of lengths."""
    groups = [g for s in steps for g in s]
    lengths = np.array([L for g in groups for L in g])
    return make_workload(
        lengths,
        np.array([len(s) for s in steps]),
        np.array([len(g) for g in groups]),
        prompts=np.full(len(lengths), prompts),
        reward=None if rewards is None else np.array(rewards, dtype=float),
    )


def setting(
    workload: Workload,
    cost: tuple[float, float, float, float] = (0.0, 1.0, 0.0, 0.0),
    engines: int = 1,
    slots: int | None = None,
    trainer: Trainer = NO_TRAINER,
    resume: float = 0.0,
    **more,
) -> Setting:
    return Setting(workload, Engines(DecodeCost(*cost), engines, slots, resume), trainer, **more)


def play(s: Setting, policy: str) -> Outcome:
    c = parse(policy)
    return c.play(c.prepared(s))


def result(s: Setting, policy: str):
    return Evaluator(s).result(parse(policy), intervals=False)


@st.composite
def workloads(
    draw, *, rewards: bool = False, most: int = 60, steps: int = 4, equal: bool = False
) -> Workload:
    n_steps = draw(st.integers(1, steps))
    groups = (
        [draw(st.integers(1, 4))] * n_steps if equal else [draw(st.integers(1, 4)) for _ in range(n_steps)]
    )
    size = draw(st.integers(1, 4))
    n = sum(groups) * size
    lengths = draw(st.lists(st.integers(1, most), min_size=n, max_size=n))
    reward = draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n)) if rewards else None
    return make_workload(
        np.array(lengths),
        np.array(groups),
        np.full(sum(groups), size),
        prompts=np.full(n, draw(st.integers(0, 30))),
        reward=None if reward is None else np.array(reward),
    )


costs = st.tuples(
    st.floats(0, 5), st.floats(0.1, 3), st.floats(0, 0.5), st.one_of(st.just(0.0), st.floats(1e-5, 0.01))
)


@st.composite
def settings_(draw, **more) -> Setting:
    w = draw(workloads(**more))
    trainer = Trainer(draw(st.floats(0.001, 1)), draw(st.floats(0, 3)), known=True)
    return setting(
        w,
        draw(costs),
        draw(st.integers(1, 4)),
        draw(st.one_of(st.none(), st.integers(1, 6))),
        trainer,
        draw(st.floats(0, 0.01)),
        warm_up=3,
        fewest_rounds=4,
    )
