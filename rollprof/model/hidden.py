"""How much of the durations of steps may be a fixed cost that the log does not separate.

Where every step reaches the cap, a fixed cost and decode steps cannot be told apart, and where the longest
response varies but the tokens do not, a fixed cost looks like the cost per rollout. So a fixed cost is
never fitted; its posterior says how much lower an idle fraction may be than a fit without one says, and
when the fit is not to be believed at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rollprof.model.ratio import Draws, Floats, Grid, Prior, Work, pick, weigh

_SHARES = np.linspace(0.0, 0.8, 17)
_RATIO_POINTS = 31
_MOST_STEPS = 500


@dataclass(frozen=True, slots=True)
class HiddenCost:
    """`share` is the 95 % quantile of the fixed share of a typical step, were it at most the allowed one.

    `excess` is the evidence that it is more: by how much the durations raise (above 1) or lower the odds
    of that. `draws` are of the posterior up to the allowed share.
    """

    share: float
    excess: float
    draws: Draws


def hidden_cost(log_seconds: Floats, work: Work, prior: Prior, allowed: float) -> HiddenCost:
    """The posterior of costs with a fixed share of 0 to .8, flat, of the geometric mean step.

    Of long runs every n-th step is looked at, 500 at most: the grid is large.
    """
    every = slice(None, None, -(-max(len(log_seconds), 1) // _MOST_STEPS))
    log_seconds = log_seconds[every]
    work = Work(work.steps[every], work.tokens[every], work.context[every])
    grid = Grid.of(prior, points=_RATIO_POINTS)
    log_work = grid.log_work(work)
    typical = np.exp(log_work.mean(axis=0)) if len(log_seconds) else np.ones(len(grid.ratio))
    fixed = np.outer(typical, _SHARES / (1.0 - _SHARES))
    together = np.log(np.exp(log_work)[:, :, None] + fixed).reshape(len(log_seconds), fixed.size)
    weight, scale = weigh(np.repeat(grid.log_prior, len(_SHARES)), log_seconds, together)
    share = np.tile(_SHARES, len(grid.ratio))
    over = share > allowed + 1e-9
    prior_odds = np.mean(over) / np.mean(~over)
    excess = float(weight[over].sum() / max(float(weight[~over].sum()), 1e-300) / prior_odds)
    within = np.where(over[:, None], 0.0, weight) if excess < 1e12 else weight
    at, noise = pick(within)
    point = at // len(_SHARES)
    a = np.exp(scale[at])
    draws = Draws(grid.ratio[point], grid.context_ratio[point], a, noise, fixed.ravel()[at] * a)
    return HiddenCost(float(np.quantile(share[at], 0.95)), excess, draws)
