"""Idle slots from samples of a curve: what lies between the samples is drawn straight, its two ends by the
window's own start and end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAIN_ONE, DRAIN_MANY = 1.0, 0.6
"""Mean share still running between the last sample and the end: of one request, and of several that end one
after another."""
LEAST_ERROR = 0.03
TICKS_OFF = 0.75
"""Requests arrive and end between samples: at `max(.03, .75 * tick / T)` to either side the interval held
the clock's value in all but a few of some 250 samplings of nine windows of a real engine, at ticks of 1 to
10 s."""
COARSEST = 0.3
"""Above this share of the window a tick tells too little of it."""


def busy_area(
    time: Floats, load: Floats, capacity: float, start: float, end: float, *, full: bool = False
) -> float:
    """Slot-seconds that were used in a window: the integral of min(n(t), C).

    `time`, `load` (K,) are its samples, all within `start..end`. Before the first one the load rises from
    everything at once; after the last one it drains. `full`: requests that were sent together were still
    being taken in at the first sample, so that all slots count as used until the second one.
    """
    n = np.minimum(load, capacity)
    before = (capacity if full else (capacity + float(n[0])) / 2) * max(0.0, float(time[0]) - start)
    mean = (n[1:] + n[:-1]) / 2
    if full and len(mean):
        mean[0] = capacity
    inside = float((np.diff(time) * mean).sum())
    left = float(n[-1])
    after = (DRAIN_ONE if left <= 1 else DRAIN_MANY) * left * max(0.0, end - float(time[-1]))
    return before + inside + after


def sampling_error(tick: float, seconds: float) -> float:
    """Half the width of the interval of an idle share that was sampled every `tick` seconds."""
    return max(LEAST_ERROR, TICKS_OFF * tick / seconds)


def too_coarse(tick: float, seconds: float) -> bool:
    """Whether a window is too short for its samples."""
    return not tick <= COARSEST * seconds
