"""Steps served from the sample buffer (since 0.10.0): one generation call feeds several steps.

Such a step logs a generation time of well under a millisecond, and its responses are those of the call
before that took longest: the buffer is filled in completion order.
"""

from __future__ import annotations

from collections.abc import Sequence

MOMENT = 0.05
"""Seconds. Any generation call goes through Ray and at least one decode step."""

SHARE = 0.01
"""Of the longest generation call of the run."""


def served_from_buffer(generation_s: Sequence[float | None]) -> list[bool]:
    """Which steps, given their generation times in order, were served by an earlier step's call.

    The first step never is: what would have filled the buffer is not in the log.
    """
    longest = max((s for s in generation_s if s is not None), default=0.0)
    return [
        at > 0 and s is not None and s < MOMENT and s < SHARE * longest for at, s in enumerate(generation_s)
    ]
