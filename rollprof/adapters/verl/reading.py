"""What is settled about a run before its steps are read: trainer, releases, engine, and with them what
`timing_s/gen` means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rollprof.adapters import values
from rollprof.adapters.base import Evidence
from rollprof.adapters.verl.releases import Span, Trainer, V1Mode, span_of, trainer_of, v1_mode_of

GenMeans = Literal["call", "wait", "unknown"]
"""`timing_s/gen`: the generation call itself, the trainer waiting for rollouts, or not known which."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A run's trainer and releases, and how to take its keys."""

    span: Span
    trainer: Trainer | None
    trainer_how: str
    v1_mode: V1Mode | None
    config: Mapping[str, Any]
    keys: frozenset[str]
    engine_name: str | None

    @property
    def gen_means(self) -> GenMeans:
        if self.trainer in ("one-step-off", "fully-async"):
            return "wait"
        if self.trainer == "v1":
            if self.v1_mode is None:
                return "unknown"
            return "wait" if self.v1_mode == "separate_async" else "call"
        return "call"

    @property
    def mode(self) -> Literal["sync", "async", "unknown"]:
        """async: a step does not wait for all of the rollouts it started."""
        if self.trainer in ("one-step-off", "fully-async"):
            return "async"
        if self.trainer == "v1":
            return "unknown" if self.v1_mode is None else "sync" if self.v1_mode == "sync" else "async"
        return "sync"

    @property
    def separate(self) -> bool | None:
        """Rollouts and training on GPUs of their own; None where the log does not tell."""
        if self.trainer in ("one-step-off", "fully-async"):
            return True
        if self.trainer == "v1":
            return None if self.v1_mode is None else self.v1_mode == "separate_async"
        return False

    @property
    def clip_ratio_holds(self) -> bool | None:
        """Whether `response_length/clip_ratio` is the share at the cap. The v1 trainer compares with the
        longest of the batch; None where the trainer could be either."""
        if self.trainer == "v1":
            return False
        if self.trainer is not None or self.span.before((0, 8, 0)):
            return True
        return None

    @property
    def server_mode(self) -> bool | None:
        """Requests sent to inference servers (agent loop), as opposed to one call on every rank."""
        if (
            any(k.startswith(("timing_s/agent_loop/", "fully_async/")) for k in self.keys)
            or self.trainer == "v1"
        ):
            return True
        if any(
            k.startswith(("timing_s/generate_sequences", "timing_s/generation_timing")) for k in self.keys
        ):
            return False
        if self.span.before((0, 5, 0)):
            return False
        mode = self.config.get("actor_rollout_ref.rollout.mode")
        return {"async": True, "sync": False}.get(mode) if isinstance(mode, str) else None


def read_evidence(evidence: Evidence) -> Reading:
    """Settle trainer, releases and engine of a run."""
    keys = frozenset(k for step in evidence.metrics.values() for k in step)
    span = span_of(keys, evidence.hints, evidence.config)
    trainer, how = trainer_of(keys, evidence.hints, evidence.config, span)
    mode = None
    if trainer == "v1":
        mode = v1_mode_of(evidence.metrics.values(), keys, evidence.config, span)
    engine = values.text(evidence.config.get("actor_rollout_ref.rollout.name"))
    return Reading(span, trainer, how, mode, evidence.config, keys, engine)
