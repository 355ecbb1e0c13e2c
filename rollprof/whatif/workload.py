"""The rollouts of a run as the replays take them: whole tokens, step by step, group by group."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rollprof.model.schedule import Floats, Ints


@dataclass(frozen=True, slots=True)
class Workload:
    """`N` rollouts in `G` prompt groups in `S` steps, each contiguous, in the order of submission.

    `first[g]:first[g+1]` are the rollouts of group `g`, `steps[s]:steps[s+1]` the groups of step `s`.
    `lengths`, `prompts` (N,) in tokens, lengths at least 1. `delay` (N,) are seconds off the engine (tools,
    environments) after decoding. `reward` (N,) is nan where unknown, `right` whether it counts as correct.
    `prompt` (G,) names the prompt (equal over epochs), None where the log does not. `grouped` is False
    where the log names no groups: every rollout is then one of its own.
    """

    lengths: Ints
    prompts: Ints
    first: Ints
    steps: Ints
    truncated: NDArray[np.bool_]
    delay: Floats | None = None
    reward: Floats | None = None
    right: NDArray[np.bool_] | None = None
    prompt: NDArray[np.uint64] | None = None
    grouped: bool = True

    @property
    def n_steps(self) -> int:
        return len(self.steps) - 1

    @property
    def n_groups(self) -> int:
        return len(self.first) - 1

    @property
    def group_sizes(self) -> Ints:
        return np.diff(self.first)

    @property
    def group_of(self) -> Ints:
        """The group of each rollout (N,)."""
        return np.repeat(np.arange(self.n_groups), self.group_sizes)

    def rows(self, groups: Ints) -> Ints:
        """The rollouts of these groups, in order."""
        return ranges(self.first[groups], self.first[np.asarray(groups) + 1])

    def step_groups(self, s: int) -> Ints:
        """The groups of step `s` (counted from 0)."""
        return np.arange(self.steps[s], self.steps[s + 1])

    def step_rows(self, s: int) -> Ints:
        """The rollouts of step `s`."""
        return np.arange(self.first[self.steps[s]], self.first[self.steps[s + 1]])

    def mixed(self) -> NDArray[np.bool_] | None:
        """Which groups have rewards that differ (G,); None without rewards."""
        if self.reward is None:
            return None
        high = np.maximum.reduceat(self.reward, self.first[:-1])
        low = np.minimum.reduceat(self.reward, self.first[:-1])
        return np.asarray(high > low)

    def first_responses(self, sizes: Ints) -> Workload:
        """The same groups with their first `sizes` (G,) responses each."""
        return self._pick(ranges(self.first[:-1], self.first[:-1] + sizes), sizes, np.diff(self.steps))

    def with_redrawn(self, sizes: Ints, seed: int = 0) -> Workload:
        """The same groups with `sizes` (G,) responses each, no fewer than they have: the further ones are
        drawn from their logged siblings. They repeat, so the spread within a group is too small."""
        rng = np.random.default_rng(seed)
        more = sizes - self.group_sizes
        owner = np.repeat(np.arange(self.n_groups), more)
        drawn = self.first[owner] + rng.integers(0, self.group_sizes[owner])
        rows = np.concatenate([np.arange(len(self.lengths)), drawn])
        order = np.argsort(np.concatenate([self.group_of, owner]), kind="stable")
        return self._pick(rows[order], sizes, np.diff(self.steps))

    def resampled(self, groups: Ints) -> Workload:
        """A workload of these groups (G,) in the same steps: whole groups, never single responses."""
        sizes = self.group_sizes[groups]
        picked = self._pick(self.rows(groups), sizes, np.diff(self.steps))
        return replace(picked, prompt=None if self.prompt is None else self.prompt[groups])

    def head(self, steps: int) -> Workload:
        """The first steps, at most so many."""
        S = min(self.n_steps, steps)
        groups = int(self.steps[S])
        n = int(self.first[groups])
        return Workload(
            lengths=self.lengths[:n],
            prompts=self.prompts[:n],
            first=self.first[: groups + 1],
            steps=self.steps[: S + 1],
            truncated=self.truncated[:n],
            delay=None if self.delay is None else self.delay[:n],
            reward=None if self.reward is None else self.reward[:n],
            right=None if self.right is None else self.right[:n],
            prompt=None if self.prompt is None else self.prompt[:groups],
            grouped=self.grouped,
        )

    def cut(self, cap: int) -> Workload:
        """The same rollouts, none longer than `cap` tokens."""
        over = self.lengths > cap
        right = None if self.right is None else self.right & ~over
        return replace(
            self, lengths=np.minimum(self.lengths, cap), truncated=self.truncated | over, right=right
        )

    def _pick(self, rows: Ints, sizes: Ints, groups_per_step: Ints) -> Workload:
        return Workload(
            lengths=self.lengths[rows],
            prompts=self.prompts[rows],
            first=offsets(sizes),
            steps=offsets(groups_per_step),
            truncated=self.truncated[rows],
            delay=None if self.delay is None else self.delay[rows],
            reward=None if self.reward is None else self.reward[rows],
            right=None if self.right is None else self.right[rows],
            prompt=self.prompt,
            grouped=self.grouped,
        )


def offsets(sizes: Ints) -> Ints:
    """Where parts of these sizes begin, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def ranges(starts: Ints, stops: Ints) -> Ints:
    """`starts[0]..stops[0]-1, starts[1]..stops[1]-1, ...` as one array."""
    sizes = np.asarray(stops) - np.asarray(starts)
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    found: Ints = np.arange(total) + np.repeat(np.asarray(starts) - (ends - sizes), sizes)
    return found


def make_workload(
    lengths: Ints,
    groups_per_step: Ints,
    group_sizes: Ints,
    *,
    prompts: Ints | None = None,
    reward: Floats | None = None,
    prompt: NDArray[np.uint64] | None = None,
    delay: Floats | None = None,
) -> Workload:
    """From arrays that are in order already. ValueError where they do not add up."""
    L = np.maximum(np.rint(np.asarray(lengths, dtype=np.float64)).astype(np.int64), 1)
    first, steps = offsets(np.asarray(group_sizes)), offsets(np.asarray(groups_per_step))
    if first[-1] != len(L) or steps[-1] != len(first) - 1 or (np.asarray(group_sizes) < 1).any():
        raise ValueError("groups have at least one rollout, and make up the steps")
    return Workload(
        lengths=L,
        prompts=np.zeros(len(L), np.int64) if prompts is None else np.asarray(prompts, dtype=np.int64),
        first=first,
        steps=steps,
        truncated=np.zeros(len(L), np.bool_),
        delay=delay,
        reward=reward,
        right=None if reward is None else reward >= np.nanmax(reward),
        prompt=prompt,
    )
