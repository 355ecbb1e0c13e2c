"""How long the engines of an asynchronous run stood still.

With a queue of one batch, the generator begins batch k + 1 when the trainer takes batch k out of the queue:
at the end of step k - 1, or when it has waited for it. From one such moment to the next is a cycle,

    cycle_k = (step_total_k - queue_wait_k) + queue_wait_(k+1),

in which batch k + 1 is generated: idle_k = 1 - generation_(k+1) / cycle_k. What the trainer waits for at the
queue is what its step has left beside its phases (the broadcast included, which may wait for itself). The
start of a job is such a wait, so that it is in no cycle.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

Values = Mapping[str, float]

_PHASES = ("timing/make_experience", "timing/ppo_train", "timing/broadcast")
_OVERRUN = 0.05
"""Share by which a call may seem longer than its cycle before the two are taken not to belong together."""


def rollout_idle(
    numbers: Sequence[int],
    steps: Sequence[Values],
    served: Sequence[bool],
    evaluated: Collection[int],
    starts: Sequence[bool],
    queue_size: int,
) -> list[float | None]:
    """Share of each step's cycle in which no call ran, None where the log does not tell.

    Steps of one call share one figure (`served` marks those that an earlier call served), and with a longer
    queue, where the generator may be several batches ahead, all do. Cycles with an evaluation in them are
    left out.
    """
    cycles = [_cycle(i, numbers, steps, evaluated, starts) for i in range(len(steps))]
    calls = [step.get("timing/generation") for step in steps[1:]]
    found: list[float | None] = [None] * len(steps)
    for pool in _pools(served, queue_size):
        known = [i for i in pool if cycles[i] is not None and calls[i] is not None]
        if not known or (queue_size == 1 and len(known) < len(pool)):
            continue
        length = sum(cycles[i] or 0.0 for i in known)
        took = sum(calls[i] or 0.0 for i in known)
        if length > 0 and took <= (1 + _OVERRUN) * length:
            for i in known:
                found[i] = max(0.0, 1 - took / length)
    return found


def _cycle(
    i: int,
    numbers: Sequence[int],
    steps: Sequence[Values],
    evaluated: Collection[int],
    starts: Sequence[bool],
) -> float | None:
    """Seconds from taking batch i out of the queue to taking the next one; i counts steps of the log."""
    if i + 1 >= len(steps) or numbers[i + 1] != numbers[i] + 1 or starts[i + 1]:
        return None
    if numbers[i] in evaluated or numbers[i] - 1 in evaluated:
        return None
    total, wait, following = (
        steps[i].get("timing/step_total"),
        _queue_wait(steps[i]),
        _queue_wait(steps[i + 1]),
    )
    if total is None or wait is None or following is None:
        return None
    return total - wait + following


def _queue_wait(step: Values) -> float | None:
    total = step.get("timing/step_total")
    if total is None or not all(phase in step for phase in _PHASES):
        return None
    return max(0.0, total - sum(step[phase] for phase in _PHASES))


def _pools(served: Sequence[bool], queue_size: int) -> list[list[int]]:
    """Cycles to be taken together, by index: those in which one call and what it stored were served.

    Cycle i generates for step i + 1. The call of the first step ran before any cycle, so that the cycles of
    what it stored beside say nothing by themselves.
    """
    if queue_size != 1:
        return [list(range(len(served) - 1))]
    pools: list[list[int]] = []
    for batch in range(1, len(served)):
        if not served[batch]:
            pools.append([batch - 1])
        elif pools:
            pools[-1].append(batch - 1)
    return pools
