"""Placement by expected length: the longest first, each to the engine with the least work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rollprof.model.schedule import Floats
from rollprof.whatif.policies.base import Parameter, Parameters, Policy
from rollprof.whatif.setting import Placement, Setting
from rollprof.whatif.workload import Workload


def change(setting: Setting, parameters: Parameters) -> Setting:
    """Estimate every length: `oracle` knows it, `history` takes the mean of the same prompt's last epoch,
    `probe` sends one rollout of each prompt ahead and takes its length for the others."""
    w = setting.workload
    source = LENGTH_AWARE.word(parameters, "by")
    if source == "oracle":
        return replace(setting, placement=Placement(w.lengths.astype(np.float64)))
    if source == "history":
        estimate, known = history(w)
        note = f"{100 * known:.0f} % of the groups had been seen before"
        return replace(setting, placement=Placement(estimate), notes=(*setting.notes, note))
    probes = np.zeros(len(w.lengths), np.bool_)
    probes[w.first[:-1]] = True
    estimate = np.repeat(w.lengths[w.first[:-1]], w.group_sizes).astype(np.float64)
    # before a probe is complete nobody knows how long it is: all probes look alike
    estimate[probes] = float(w.lengths.mean())
    return replace(setting, placement=Placement(estimate, probes))


def history(w: Workload) -> tuple[Floats, float]:
    """The mean length of the same prompt's last group (N,), the mean so far for new prompts; and the share
    of groups that had one."""
    sums = np.add.reduceat(w.lengths, w.first[:-1]).astype(np.float64)
    mean = sums / w.group_sizes
    estimate = np.full(w.n_groups, float(mean.mean()))
    before = _last_seen(w)
    seen = before >= 0
    estimate[seen] = mean[before[seen]]
    return np.repeat(estimate, w.group_sizes), float(seen.mean())


def _last_seen(w: Workload) -> NDArray[np.int64]:
    """The latest group of the same prompt in an earlier step; -1 for none."""
    before = np.full(w.n_groups, -1, np.int64)
    if w.prompt is None:
        return before
    step = np.repeat(np.arange(w.n_steps), np.diff(w.steps))
    order = np.lexsort((step, w.prompt))
    same = (w.prompt[order][1:] == w.prompt[order][:-1]) & (step[order][1:] > step[order][:-1])
    before[order[1:][same]] = order[:-1][same]
    return before


def needs(setting: Setting, parameters: Parameters) -> list[str]:
    """Something to place: several engines, or a queue whose order matters."""
    w, engines = setting.workload, setting.engines
    per_step = float(np.diff(w.first[w.steps]).mean())
    queue = engines.slots is not None and per_step > engines.slots * engines.count
    source = LENGTH_AWARE.word(parameters, "by")
    found = []
    if engines.count < 2 and not queue:
        found.append("several engines, or a queue: on one engine without one there is nothing to place")
    if source == "history" and not (_last_seen(w) >= 0).any():
        found.append("prompts that come back: a second epoch")
    if source == "probe" and not w.grouped:
        found.append("which rollouts belong to one prompt")
    if source == "probe" and not queue and engines.count > 1:
        found.append("a queue: without one all rollouts start before any probe is complete")
    return found


def scan(_setting: Setting) -> Sequence[Parameters]:
    """All three sources."""
    return [{"by": "oracle"}, {"by": "history"}, {"by": "probe"}]


LENGTH_AWARE = Policy(
    name="length-aware",
    doc="the longest first, to the engine with the least work",
    parameters=(Parameter("by", "oracle", "where the estimate comes from", ("oracle", "history", "probe")),),
    needs=needs,
    scan=scan,
    change=change,
    off_policy=0.0,
    placement_like=True,
    order=2,
)
