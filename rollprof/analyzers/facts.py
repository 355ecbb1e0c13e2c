"""Facts of the run as analyzers need them, each with how it is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["sync", "async", "unknown"]


@dataclass(frozen=True, slots=True)
class Facts:
    """GPUs, engines, slots and mode. None where the log cannot tell.

    `engines` is never None: `engines_how` is "" where the log (or the user) says it and otherwise the
    assumption made. `slots` is decode slots per engine (max_num_seqs); None means that no limit is known
    and no queue is assumed.
    """

    gpus: float | None
    rollout_gpus: float | None
    trainer_gpus: float | None
    engines: int
    engines_how: str
    slots: int | None
    slots_how: str
    response_cap: float | None
    responses_per_step: float | None
    mode: Mode
    colocated: bool | None
    multi_turn: bool | None
    requests_may_queue: bool

    @property
    def engines_known(self) -> bool:
        return not self.engines_how

    def capacity(self, n: int) -> int:
        """`C = min(N, E*Q)`, decode slots that a step of `n` rollouts could fill."""
        return n if self.slots is None else min(n, self.engines * self.slots)

    def queues(self, n: float) -> bool:
        """Whether some of `n` rollouts submitted together must wait for a slot."""
        return self.requests_may_queue or (self.slots is not None and n > self.engines * self.slots)

    @property
    def separate(self) -> bool:
        """Rollouts and training on GPUs of their own."""
        if self.colocated is not None:
            return not self.colocated
        return self.rollout_gpus is not None and self.trainer_gpus is not None


LARGEST = 1e6
"""More engines, slots or GPUs than this are not a fact about a run."""


def number(value: object, largest: float = math.inf) -> float | None:
    """A positive finite number up to `largest`, or None: metadata is data, and may hold anything."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) and 0 < found <= largest else None


def read_facts(meta: Mapping[str, Any], engines_seen: int = 0) -> Facts:
    """Facts from a dataset's metadata; `engines_seen` distinct engines served rollouts of one step."""
    raw: Mapping[str, Any] = meta.get("facts") or {}

    def value(name: str) -> object:
        entry = raw.get(name)
        return entry.get("value") if isinstance(entry, Mapping) else None

    def how(name: str) -> str:
        entry = raw.get(name)
        if isinstance(entry, Mapping) and entry.get("origin") == "default":
            return str(entry.get("how") or "default")
        return ""

    def truth(name: str) -> bool | None:
        found = value(name)
        return found if isinstance(found, bool) else None

    def few(name: str) -> float | None:
        return number(value(name), LARGEST)

    rollout_gpus, gpus = few("rollout_gpus"), few("gpus")
    engines, engines_how = _engines(
        few("engines"), engines_seen, rollout_gpus or gpus, few("gpus_per_engine")
    )
    slots = few("max_num_seqs")
    mode = value("mode")
    return Facts(
        gpus=gpus,
        rollout_gpus=rollout_gpus,
        trainer_gpus=few("trainer_gpus"),
        engines=engines,
        engines_how=engines_how or how("engines"),
        slots=None if slots is None else max(1, int(slots)),
        slots_how=how("max_num_seqs"),
        response_cap=number(value("response_cap")),
        responses_per_step=number(value("responses_per_step")),
        mode="sync" if mode == "sync" else "async" if mode == "async" else "unknown",
        colocated=truth("colocated"),
        multi_turn=truth("multi_turn"),
        requests_may_queue=truth("requests_may_queue") is True,
    )


def _engines(
    stated: float | None, seen: int, gpus: float | None, per_engine: float | None
) -> tuple[int, str]:
    """Engines, and the assumption behind the number ("" where it is known)."""
    if stated is not None:
        return max(1, int(stated), seen), ""
    if seen:
        return seen, ""
    if gpus is not None and per_engine is not None:
        return max(1, int(gpus // per_engine)), ""
    if gpus is not None:
        return max(1, int(gpus)), "engines unknown: one per GPU assumed"
    return 1, "engines unknown: one assumed"
