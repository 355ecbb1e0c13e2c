"""Rollouts that live longer than a step: what is in flight, how far it is, and how old its tokens are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rollprof.model.schedule import Floats, Ints
from rollprof.whatif.workload import Workload

Flags = NDArray[np.bool_]


class Carried:
    """Prompt groups in flight, oldest first. Arrays over rollouts: `row` of the workload, `done` tokens,
    `of` the position of its group; over groups: `group` of the workload, `ages[:, k]` tokens generated `k`
    versions ago."""

    def __init__(self, workload: Workload) -> None:
        self._w = workload
        none = np.zeros(0, np.int64)
        self.row, self.done, self.of, self.group = none, none, none, none
        self.engine = none
        self.ages: Floats = np.zeros((0, 2))

    def __len__(self) -> int:
        return len(self.group)

    @property
    def left(self) -> Ints:
        """Tokens each rollout still has to go."""
        return self._w.lengths[self.row] - self.done

    @property
    def buffered(self) -> int:
        """Tokens on hand."""
        return int(self.done.sum())

    def launch(self, groups: Ints, engines: int = 0) -> None:
        """New groups behind the others; with `engines`, dealt round robin behind the last rollout."""
        rows = self._w.rows(groups)
        sizes = self._w.group_sizes[groups]
        self.of = np.concatenate([self.of, len(self.group) + np.repeat(np.arange(len(groups)), sizes)])
        self.row = np.concatenate([self.row, rows])
        self.done = np.concatenate([self.done, np.zeros(len(rows), np.int64)])
        self.group = np.concatenate([self.group, groups])
        self.ages = np.concatenate([self.ages, np.zeros((len(groups), self.ages.shape[1]))])
        if engines:
            last = int(self.engine[-1]) + 1 if len(self.engine) else 0
            dealt = (last + np.arange(len(rows))) % engines
            self.engine = np.concatenate([self.engine, dealt])

    def advance(self, active: Ints, tokens: Ints) -> None:
        """`tokens` more for the rollouts at `active`, by the present version."""
        self.done[active] += tokens
        self.ages[:, 0] += np.bincount(self.of[active], tokens, minlength=len(self.group))

    def new_version(self) -> None:
        """Everything on hand is one version older."""
        if not len(self.group):
            return
        if self.ages[:, -1].any():
            self.ages = np.pad(self.ages, ((0, 0), (0, self.ages.shape[1])))
        self.ages[:, 1:] = self.ages[:, :-1].copy()
        self.ages[:, 0] = 0.0

    def as_of_start(self, groups: Ints) -> None:
        """Weights stay those of the start: all tokens of these groups are as old as the oldest."""
        for g in groups.tolist():
            old = np.flatnonzero(self.ages[g])
            if len(old):
                total = self.ages[g].sum()
                self.ages[g] = 0.0
                self.ages[g, old[-1]] = total

    def group_times(self, active: Ints, finish: Floats) -> Floats:
        """When the last rollout of each group completes; 0 for a group that is complete already."""
        times = np.zeros(len(self.group))
        np.maximum.at(times, self.of[active], finish)
        return times

    def complete(self) -> Ints:
        """Groups all of whose rollouts are at their length."""
        open_ = np.bincount(self.of, self.left > 0, minlength=len(self.group))
        return np.flatnonzero(open_ == 0)

    def tokens_of(self, groups: Ints) -> int:
        """Tokens of these groups once they are complete."""
        return int(self._w.lengths[self.row[np.isin(self.of, groups)]].sum())

    def take(self, groups: Ints) -> tuple[Ints, Floats]:
        """Remove these groups: the lengths of their rollouts, and their tokens by age."""
        out = np.zeros(len(self.group), np.bool_)
        out[groups] = True
        gone = out[self.of]
        lengths = self._w.lengths[self.row[gone]]
        by_age = self.ages[out].sum(axis=0) if len(groups) else np.zeros(2)
        position = np.cumsum(~out) - 1
        self.row, self.done, self.of = self.row[~gone], self.done[~gone], position[self.of[~gone]]
        if len(self.engine):
            self.engine = self.engine[~gone]
        self.group, self.ages = self.group[~out], self.ages[~out]
        return lengths, by_age
