"""A race: more is launched than is needed, and the first to finish are kept. What tail batching and
over-sampling have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rollprof.model.schedule import Floats, Ints
from rollprof.whatif.outcome import Use, use_of
from rollprof.whatif.policies.base import Parameter, Parameters, Policy
from rollprof.whatif.setting import Setting
from rollprof.whatif.workload import Workload, offsets


def launched(kept: Ints, factor: float) -> Ints:
    """Responses launched where `kept` are needed."""
    found: Ints = np.ceil(factor * kept - 1e-9).astype(np.int64)
    return found


def kept_of(logged: Ints, factor: float) -> Ints:
    """The most responses per prompt whose over-provisioned launch the log still has, at least 1."""
    kept: Ints = np.floor(logged / factor + 1e-9).astype(np.int64)
    return np.maximum(kept, 1)


def sub_sampled(workload: Workload, factor: float) -> tuple[Workload, Workload, Ints]:
    """The launched workload, the baseline's (the first responses that are kept), and how many are kept.

    Never redrawn: redrawing logged siblings overstates the gain of launching more.
    """
    kept = kept_of(workload.group_sizes, factor)
    return (
        workload.first_responses(np.minimum(launched(kept, factor), workload.group_sizes)),
        workload.first_responses(kept),
        kept,
    )


EXTRA = Parameter(
    "extra", "logged", "extra responses: sub-sampled from the logged ones, or redrawn", ("logged", "redrawn")
)


def over_provisioned(setting: Setting, policy: Policy, parameters: Parameters, factor: float) -> Setting:
    """The setting in which `factor` times the responses are launched, and the baseline has those needed."""
    w = setting.workload
    if policy.word(parameters, "extra") == "redrawn":
        launch, reference, kept = w.with_redrawn(launched(w.group_sizes, factor)), w, w.group_sizes
    else:
        launch, reference, kept = sub_sampled(w, factor)
    logged, needed, more = (int(np.median(n)) for n in (w.group_sizes, kept, launch.group_sizes))
    note = (
        f"of {logged} logged responses a prompt, {needed} are needed and {more} launched; the baseline has "
        f"the first {needed}"
    )
    return replace(setting, workload=launch, reference=reference, notes=(*setting.notes, note))


def redrawn(parameters: Parameters) -> str:
    """Why redrawn responses are no honest launch; "" where they are the logged ones."""
    if parameters.get(EXTRA.name) != "redrawn":
        return ""
    return "responses redrawn from logged siblings repeat, which overstates the gain"


@dataclass(frozen=True, slots=True)
class Race:
    """`time` when enough prompts had enough responses; `won` positions of these prompts among those that
    ran, `kept` their first responses (rollouts of the workload); `tokens` decoded in all."""

    time: float
    won: NDArray[np.intp]
    kept: Ints
    tokens: int
    use: Use


def race(setting: Setting, groups: Ints, prompts: int, responses: Ints) -> Race:
    """Run `groups` until the first `prompts` of them have `responses` (of each) complete rollouts.

    A prompt is done with its R-th response; the race ends with the P-th prompt. Rollouts that are no longer
    needed run until the race ends.
    """
    w = setting.workload
    rows, sizes = w.rows(groups), w.group_sizes[groups]
    drain = setting.drain(rows)
    finish = setting.complete(drain, rows)
    rank = _ranks(finish, sizes)
    done_at = np.zeros(len(groups))
    owner = np.repeat(np.arange(len(groups)), sizes)
    decisive = rank == responses[owner] - 1
    done_at[owner[decisive]] = finish[decisive]
    order = np.argsort(done_at, kind="stable")
    won = np.sort(order[:prompts])
    time = float(done_at[order[prompts - 1]])
    seen = drain.at(time)
    wins = np.zeros(len(groups), np.bool_)
    wins[won] = True
    keep = wins[owner] & (rank < responses[owner])
    return Race(time, won, rows[keep], seen.decoded, use_of(drain, seen, time))


def _ranks(finish: Floats, sizes: Ints) -> Ints:
    """The place of each rollout in the order in which those of its group finish."""
    owner, first = np.repeat(np.arange(len(sizes)), sizes), offsets(sizes)
    order = np.lexsort((finish, owner))
    rank = np.empty(len(finish), np.int64)
    rank[order] = np.arange(len(finish)) - first[owner[order]]
    return rank


def extra(factor: float, prompts: int) -> int:
    """Prompts launched where `prompts` are needed."""
    return math.ceil(factor * prompts - 1e-9)
