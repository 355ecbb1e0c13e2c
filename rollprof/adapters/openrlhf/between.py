"""What a process says between two step lines."""

from __future__ import annotations

from dataclasses import dataclass

from rollprof.adapters.openrlhf.loglines import Remark


@dataclass(slots=True)
class Between:
    """What a process said since its last step line: it belongs to the next one.

    `generated_at` is when generation had ended; `rounds` how often sampling had to go on; `kept` responses
    that passed the filter of `sampled`; `rejected` prompt groups that did not.
    """

    samples: int | None = None
    generated_at: float | None = None
    made_s: float | None = None
    rounds: int = 0
    kept: int | None = None
    sampled: int | None = None
    rejected: int = 0

    def add(self, remark: Remark, time: float | None) -> None:
        """Take one remark."""
        match remark.kind:
            case "samples":
                self.samples, self.generated_at = remark.count, time
            case "made":
                self.made_s = remark.seconds
            case "round":
                self.rounds += 1
            case "kept":
                self.kept, self.sampled = remark.count, remark.of
            case "filtered":
                self.rejected += 1
