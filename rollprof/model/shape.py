"""The shape of a step: all that lengths alone say about idle decode slots, before any cost is known.

With a decode step of `a + b*B + c*S` seconds the shares of generation time that go to the fixed cost, to
steps, to rollouts and to context are `w_0 = k0/T`, `w_a = a*M/T`, `w_b = b*sum(L)/(E*T)` and
`w_c = c*Q/(E*T)`, and

    slot_idle = w_a*i_len + w_b*gini + w_c*i_ctx        (k0 counts as busy)

is exact on one engine, with and without a queue; over engines dealt round robin it is an approximation.
So lengths without costs give a bracket, and one ratio of costs turns the bracket into a value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rollprof.model.decode import DecodeCost
from rollprof.model.schedule import (
    Ints,
    capacity,
    make_schedule,
    make_timeline,
    whole_prompts,
    whole_tokens,
)


@dataclass(frozen=True, slots=True)
class StepShape:
    """One step of `n` rollouts on `engines` engines of `slots` slots; `capacity` is `C = min(n, E*slots)`.

    `decode_steps` is `M` of the slowest engine, `tokens` is `sum(L)`, `context` is `Q`, the context tokens
    summed over decode steps (responses alone unless `prompts_known`). The three idle forms, with `B(k)`
    rollouts that hold `S(k)` tokens in step `k`, all engines in lockstep:

    * `i_len = 1 - sum(L)/(C*M)`, `1 - mean/max` without a queue
    * `gini  = 1 - sum_k B(k)^2/(C*sum(L))`, the Gini coefficient of the lengths without a queue
    * `i_ctx = 1 - sum_k S(k)*B(k)/(C*Q)`; with `Q = 0` it carries no weight and equals `gini`

    They are nan where no token is decoded, and 0 for a single rollout. `i_len_error` and `gini_error` say
    how far the forms may be off where the lengths are not known one by one.
    """

    n: int
    capacity: int
    engines: int
    slots: int | None
    decode_steps: float
    tokens: float
    context: float
    i_len: float
    gini: float
    i_ctx: float
    prompts_known: bool = False
    i_len_error: float = 0.0
    gini_error: float = 0.0


class Shares(NamedTuple):
    """Shares of generation time: `w0` fixed, `wa` per step, `wb` per rollout, `wc` per context token."""

    w0: float
    wa: float
    wb: float
    wc: float


def step_shape(
    lengths: ArrayLike,
    prompts: ArrayLike | None = None,
    *,
    slots: int | None = None,
    engines: int = 1,
) -> StepShape:
    """The shape of a step from its response lengths (N,), in tokens; O(N log N).

    When slots bind, the order of `lengths` is the order of submission and requests are dealt round robin
    over the engines. Without `prompts` the context part takes prompts of no tokens. ValueError for lengths
    that are negative or not finite.
    """
    L = whole_tokens(lengths)
    p = whole_prompts(prompts, len(L))
    if engines < 1 or (slots is not None and slots < 1):
        raise ValueError("there is at least one engine, and one slot on it")
    queues = slots is not None and -(-len(L) // engines) > slots
    if queues:
        schedule = make_schedule(L, slots=slots, engines=engines)
        timeline = make_timeline(schedule, p, in_lockstep=True)
        M = int(schedule.finished.max(initial=0))
        width, running, context = timeline.width, timeline.running, timeline.context
    else:
        M = int(L.max(initial=0))
        width, running, context = _without_queue(L, p, one_by_one=prompts is not None)
    C = capacity(len(L), slots, engines)
    forms = _forms(width, running, context, C, M)
    return StepShape(len(L), C, engines, slots, float(M), *forms, prompts_known=prompts is not None)


def _without_queue(L: Ints, p: Ints, *, one_by_one: bool) -> tuple[Ints, Ints, Ints]:
    """Segments between sorted lengths: everybody starts in step 0, so only completions are events."""
    if one_by_one:
        order = np.argsort(L, kind="stable")
        L, p = L[order], p[order]
    else:
        L = np.sort(L)
    at = np.concatenate([np.zeros(1, np.int64), L[:-1]])[: len(L)]
    running = np.arange(len(L), 0, -1)
    held = np.cumsum(p[::-1])[::-1] if one_by_one else p
    return L - at, running, held + running * at


def _forms(
    width: Ints, running: Ints, context: Ints, C: int, M: int
) -> tuple[float, float, float, float, float]:
    """`tokens, context, i_len, gini, i_ctx`; in floats, since sums of B*S pass 2**63 on large steps."""
    B, k = running.astype(np.float64), width.astype(np.float64)
    tokens = float(B @ k)
    held = k * context + B * (k * (k - 1.0) / 2.0)
    Q = float(held.sum())
    if not tokens:
        return 0.0, 0.0, math.nan, math.nan, math.nan
    gini = 1.0 - float((B * B) @ k) / (C * tokens)
    i_ctx = 1.0 - float(held @ B) / (C * Q) if Q else gini
    return tokens, Q, 1.0 - tokens / (C * M), gini, i_ctx


def bracket(shape: StepShape) -> tuple[float, float]:
    """All that slot_idle can be, whatever `a`, `b` and `c` are (`k0 = 0`): the extremes of the three forms.

    `[gini, max(i_len, i_ctx)]`, since `gini <= i_len` always; `i_ctx` falls below `gini` only where the
    long prompts belong to the short responses, and is then the lower end. Exact on one engine, within .05
    over several. nan for a step without tokens.
    """
    low = min(shape.gini, shape.i_ctx) - shape.gini_error
    high = max(shape.i_len + shape.i_len_error, shape.i_ctx)
    return max(low, 0.0), min(high, 1.0)


def model_seconds(shape: StepShape, cost: DecodeCost) -> float:
    """`k0 + a*M + b*sum(L)/E + c*Q/E`."""
    per_engine = cost.b * shape.tokens + cost.c * shape.context
    return cost.k0 + cost.a * shape.decode_steps + per_engine / shape.engines


def shares(shape: StepShape, cost: DecodeCost, T: float | None = None) -> Shares:
    """How generation time divides among the four costs; nan for a step that takes no time.

    With `T`, the measured seconds, they are shares of it, and what the cost does not explain counts as
    busy; a `T` shorter than the model's own time contradicts the cost, and the shares are then of the
    model's time, as without `T`.
    """
    model = model_seconds(shape, cost)
    total = model if T is None else max(T, model)
    if not total > 0:
        return Shares(math.nan, math.nan, math.nan, math.nan)
    e = shape.engines * total
    return Shares(
        cost.k0 / total,
        cost.a * shape.decode_steps / total,
        cost.b * shape.tokens / e,
        cost.c * shape.context / e,
    )


def slot_idle(shape: StepShape, cost: DecodeCost, T: float | None = None) -> float:
    """The identity: exact on one engine, within .045 over many that share enough rollouts."""
    w = shares(shape, cost, T)
    return w.wa * shape.i_len + w.wb * shape.gini + w.wc * shape.i_ctx


def effective_idle(shape: StepShape, cost: DecodeCost, T: float | None = None) -> float:
    """`w_a*i_len`: time that the same tokens at this step's own full batch would have saved."""
    return shares(shape, cost, T).wa * shape.i_len
