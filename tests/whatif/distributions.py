"""Four length distributions with the printed statistics of public runs, made here from random numbers."""

from __future__ import annotations

import numpy as np

from rollprof.whatif.workload import Workload, make_workload

SHAPE = (30, 64, 8)
"""Steps, prompts, responses."""


def lognormal(rng, median, sd, icc, shape=SHAPE):
    S, G, n = shape
    prompt = rng.normal(0, sd * icc**0.5, (S * G, 1))
    return median * np.exp(prompt + rng.normal(0, sd * (1 - icc) ** 0.5, (S * G, n)))


def workload(lengths, cap, shape=SHAPE) -> Workload:
    from dataclasses import replace

    S, G, n = shape
    L = np.minimum(np.rint(lengths), cap).ravel()
    w = make_workload(L, np.full(S, G), np.full(S * G, n), prompts=np.full(S * G * n, 150))
    return replace(w, truncated=w.lengths >= cap)


def capped(seed=0) -> Workload:
    """A reasoning model at its cap: mean about 9,400, 15 % cut at 16,000, ICC .92."""
    rng = np.random.default_rng(seed)
    return workload(lognormal(rng, 9300, 0.53, 0.93), 16_000)


def runaway_tail(seed=0) -> Workload:
    """A base model: median 470, P99 about 2,700, longest over median about 22, ICC .05."""
    rng = np.random.default_rng(seed)
    L = lognormal(rng, 466, 0.62, 0.05)
    tail = rng.random(L.shape) < 0.02
    return workload(np.where(tail, 1800 * np.exp(rng.exponential(0.45, L.shape)), L), 10_240)


def single_runaways(seed=0) -> Workload:
    """A model that loops now and then: median 159, P99 about 315, a few at the cap of 16,000."""
    rng = np.random.default_rng(seed)
    L = lognormal(rng, 159, 0.29, 0.09)
    return workload(np.where(rng.random(L.shape) < 0.0008, rng.uniform(4000, 17_000, L.shape), L), 16_000)


def spread_prompts(seed=0) -> Workload:
    """Log-normal, median 3,000, sd .8, ICC .5, cap 16,000."""
    return workload(lognormal(np.random.default_rng(seed), 3000, 0.8, 0.5), 16_000)
