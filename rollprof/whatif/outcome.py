"""What a replay did: seconds and tokens of every round, and what became of the tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rollprof.model.interrupt import Drain, Snapshot
from rollprof.model.schedule import Floats, Ints

if TYPE_CHECKING:
    from rollprof.whatif.setting import Trainer

COLUMNS = (
    "index",
    "generate_s",
    "step_s",
    "trained",
    "generated",
    "dropped",
    "off_policy",
    "prompts",
    "slot_s",
    "slot_room_s",
    "engine_s",
    "engine_room_s",
    "excess_s",
)
"""One row a round. `excess_s`: engine seconds that full batches would have saved, beyond dark engines."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`table` (rounds, COLUMNS), warm-up included; `staleness[k]` tokens trained `k` versions after they were
    generated, `kept` the lengths of trained rollouts (both without the warm-up); `buffered` tokens are on
    hand at the end, `starved` prompts were launched and never trained. `rounds` of the first kind (the long
    ones of tail batching) in `long_rounds`."""

    table: Floats
    staleness: Floats
    kept: Ints
    buffered: int
    starved: int
    carries: bool
    barrier: bool
    long_rounds: int = 0
    lost: int = 0
    notes: tuple[str, ...] = ()
    trainer: Trainer | None = None
    """Where the policy shares GPUs out: the trainer on its part of them."""

    def column(self, name: str, *, warm: bool = False) -> Floats:
        """A column of the measured rounds; of all with `warm`."""
        rows = self.table if warm else self.table[self.table[:, 0] >= 0]
        return rows[:, COLUMNS.index(name)]

    def total(self, name: str, *, warm: bool = False) -> float:
        return float(self.column(name, warm=warm).sum())


@dataclass(slots=True)
class Tally:
    """Collects an Outcome round by round."""

    rows: list[tuple[float, ...]] = field(default_factory=list)
    staleness: Floats = field(default_factory=lambda: np.zeros(1))
    kept: list[Ints] = field(default_factory=list)
    starved: int = 0
    long_rounds: int = 0

    def add(
        self,
        index: int,
        generate_s: float,
        step_s: float,
        *,
        generated: int,
        kept: Ints,
        by_age: Floats,
        dropped: int = 0,
        prompts: int = 0,
        use: Use | None = None,
    ) -> None:
        """A round that trained rollouts of `kept` lengths, whose tokens were `by_age[k]` versions old."""
        use = use or Use()
        trained = float(kept.sum())
        self.rows.append(
            (
                index,
                generate_s,
                step_s,
                trained,
                generated,
                dropped,
                float(by_age[1:].sum()),
                prompts,
                use.slot_s,
                use.slot_room_s,
                use.engine_s,
                use.engine_room_s,
                use.excess_s,
            )
        )
        if index >= 0:
            if len(by_age) > len(self.staleness):
                self.staleness = np.pad(self.staleness, (0, len(by_age) - len(self.staleness)))
            self.staleness[: len(by_age)] += by_age
            self.kept.append(kept)

    def outcome(
        self, *, carries: bool = False, barrier: bool = True, buffered: int = 0, lost: int = 0
    ) -> Outcome:
        """All rounds together."""
        return Outcome(
            table=np.array(self.rows, dtype=np.float64).reshape(-1, len(COLUMNS)),
            staleness=self.staleness,
            kept=np.concatenate(self.kept) if self.kept else np.zeros(0, np.int64),
            buffered=buffered,
            starved=self.starved,
            carries=carries,
            barrier=barrier,
            long_rounds=self.long_rounds,
            lost=lost,
        )


@dataclass(frozen=True, slots=True)
class Use:
    """How a round used its slots and engines, in seconds; `room` is what there was."""

    slot_s: float = 0.0
    slot_room_s: float = 0.0
    engine_s: float = 0.0
    engine_room_s: float = 0.0
    excess_s: float = 0.0

    def __add__(self, other: Use) -> Use:
        return Use(
            self.slot_s + other.slot_s,
            self.slot_room_s + other.slot_room_s,
            self.engine_s + other.engine_s,
            self.engine_room_s + other.engine_room_s,
            self.excess_s + other.excess_s,
        )


def use_of(drain: Drain, seen: Snapshot, time: float) -> Use:
    """Use of a phase that ended after `time` seconds (tool waits included), of which `seen` is the state.

    Full batches need `a*E*tokens/C` of the time that does not depend on how many run: `excess_s` is what
    was spent beyond. (The same definition as `simulate.Replay.effective_idle`.)
    """
    schedule = drain.schedule
    E, C = schedule.engines, schedule.capacity
    full = drain.cost.a * E * seen.decoded / C if C else 0.0
    return Use(
        slot_s=seen.slot_seconds,
        slot_room_s=C * time,
        engine_s=seen.engine_seconds,
        engine_room_s=E * time,
        excess_s=seen.step_seconds - full,
    )
