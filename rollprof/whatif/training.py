"""How long training takes, per trained token, and the weight update after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rollprof.analyzers.generations import Generation
from rollprof.analyzers.run_data import RunData
from rollprof.model.schedule import Floats
from rollprof.whatif.setting import Trainer

PARTS = ("reward_s", "old_logprob_s", "reference_s", "values_s", "advantage_s", "update_s")
BESIDE = ("generate_s", "weight_sync_s", "eval_s", "checkpoint_s", "wait_s")


def trainer_of(run: RunData, phases: Sequence[Generation], tokens: Floats) -> Trainer:
    """The sum of the logged phases after generation; without the update's, what generation leaves of the
    step in a synchronous run. `tokens` (phases,) are what each trained on. Unknown without either."""
    members = [list(g.members) for g in phases]
    train = np.array([_training(run, rows) for rows in members])
    sync = np.array([float(np.nansum(run.column("weight_sync_s")[rows])) for rows in members])
    known = np.isfinite(train) & (train > 0) & (tokens > 0)
    apart = run.facts.separate
    if not known.any():
        return Trainer(apart=apart)
    per_token = float(train[known].sum() / tokens[known].sum())
    rollout, own = run.facts.rollout_gpus, run.facts.trainer_gpus
    share = own / (own + rollout) if own and rollout else None
    return Trainer(per_token, float(np.median(sync[known])), known=True, apart=apart, share=share)


def _training(run: RunData, rows: list[int]) -> float:
    if np.isfinite(run.column("update_s")[rows]).any():
        return float(sum(np.nansum(run.column(c)[rows]) for c in PARTS))
    step, generate = run.column("step_s")[rows], run.column("generate_s")[rows]
    if run.facts.mode == "async" or not (np.isfinite(step).all() and np.isfinite(generate).all()):
        return float("nan")
    rest = float(step.sum()) - sum(float(np.nansum(run.column(c)[rows])) for c in BESIDE)
    return rest if rest > 0 else float("nan")
