"""From the tables of a run to the rollouts that are replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rollprof.analyzers.generations import Generation
from rollprof.analyzers.idle.shapes import decoded_lengths
from rollprof.analyzers.run_data import RunData
from rollprof.analyzers.tables import Tables
from rollprof.model.aggregates import sample_from_aggregates
from rollprof.model.schedule import Floats, Ints
from rollprof.whatif.waits import waits_between_turns
from rollprof.whatif.workload import Workload, make_workload

_SEED = 20_251


@dataclass(frozen=True, slots=True)
class Loaded:
    """`workload`, and where the log has only aggregates a second one: in the first the responses of a
    prompt are unlike each other, in `alike` they are as alike as can be. `phases` are those replayed."""

    workload: Workload
    phases: tuple[Generation, ...]
    alike: Workload | None = None
    notes: tuple[str, ...] = ()


def load_workload(tables: Tables, run: RunData, phases: Sequence[Generation]) -> Loaded | None:
    """Rollouts where the log has them, else typical ones that have each step's aggregates. None without."""
    lengths = decoded_lengths(run)
    chosen = [g for g in phases if g.span is not None and np.isfinite(lengths[g.span]).any()]
    if chosen:
        return _from_rollouts(tables, run, chosen, lengths)
    return _from_aggregates(run, phases)


def _from_rollouts(tables: Tables, run: RunData, phases: Sequence[Generation], lengths: Floats) -> Loaded:
    r = run.rollouts
    at = np.concatenate([np.arange(g.span.start, g.span.stop) for g in phases if g.span is not None])
    step = np.repeat(
        np.arange(len(phases)), [0 if g.span is None else g.span.stop - g.span.start for g in phases]
    )
    known = np.isfinite(lengths[at])
    aborted = np.zeros(len(at), np.bool_) if r.aborted is None else r.aborted[at] == 1
    keep = known & ~aborted
    if not keep.any():
        keep = known
    table = _columns(tables.rollouts, r.row, at[keep], step[keep]).sort("at_step", "first", "position")
    order = table["position"].to_numpy()
    change = np.flatnonzero(np.diff(table["first"].to_numpy(), prepend=-1))
    sizes = np.diff(np.append(change, len(table)))
    per_step = np.bincount(table["at_step"].to_numpy()[change], minlength=len(phases))
    if (per_step == 0).any():  # a step of which nothing is left is no step
        phases = [g for g, n in zip(phases, per_step.tolist(), strict=True) if n]
        per_step = per_step[per_step > 0]
    named = bool(table["named"].all())
    grouped = named and bool((sizes > 1).any())
    prompt = table["prompt_id"]
    reward = _optional(table["reward"])
    right = table["correct"]
    cut = np.zeros(len(order), np.bool_) if r.truncated is None else r.truncated[order] == 1
    delay = _optional(table["tool_s"], fill=0.0)
    if delay is None:
        delay = waits_between_turns(tables.segments, r.row[order])
    w = make_workload(
        lengths[order],
        per_step,
        sizes,
        prompts=_prompts(r.prompt, order),
        reward=reward,
        prompt=None if prompt.null_count() else prompt.to_numpy().astype(np.uint64)[change],
        delay=delay,
    )
    w = replace(
        w,
        truncated=cut,
        grouped=grouped,
        right=_best(reward) if right.null_count() else right.to_numpy().astype(np.bool_),
    )
    return Loaded(
        w, tuple(phases), notes=_notes(run, int((known & aborted).sum()), named=named, grouped=grouped)
    )


def _columns(rollouts: pl.LazyFrame, row: Ints, at: Ints, step: Ints) -> pl.DataFrame:
    """What groups are made from, of the run's rollouts `at`; read column by column: the others may be
    many."""
    names = set(rollouts.collect_schema().names())
    kinds = {
        "group_id": pl.UInt64,
        "prompt_id": pl.UInt64,
        "reward": pl.Float64,
        "tool_s": pl.Float64,
        "correct": pl.Boolean,
    }
    found = [
        rollouts.select(pl.col(c).cast(t, strict=False)).collect().to_series()[row[at]]
        if c in names
        else pl.repeat(None, len(at), dtype=t, eager=True).alias(c)
        for c, t in kinds.items()
    ]
    table = pl.DataFrame([*found, pl.Series("at_step", step), pl.Series("position", at)])
    key = pl.coalesce("group_id", "prompt_id")
    first = pl.col("position").min().over("at_step", key)
    return table.with_columns(
        named=key.is_not_null(), first=pl.when(key.is_null()).then(pl.col("position")).otherwise(first)
    )


def _optional(values: pl.Series, fill: float | None = None) -> Floats | None:
    """Floats, None where too few are known; `fill` stands for the rest, without it all must be known."""
    if values.null_count() == len(values) or (fill is None and values.null_count()):
        return None
    found = values.to_numpy().astype(np.float64)
    if fill is None and not np.isfinite(found).all():
        return None
    found = np.where(np.isfinite(found), found, fill or 0.0)
    return found if fill is None or (found > 0).any() else None


def _best(reward: Floats | None) -> NDArray[np.bool_] | None:
    """Which rollouts are correct, where the reward takes two values."""
    if reward is None:
        return None
    low, high = float(reward.min()), float(reward.max())
    two = low < high and bool(((reward == low) | (reward == high)).all())
    return reward == high if two else None


def _prompts(prompt: Floats | None, order: NDArray[np.int64]) -> Ints | None:
    if prompt is None:
        return None
    values = prompt[order]
    if np.isnan(values).all():
        return None
    return np.rint(np.where(np.isnan(values), np.nanmean(values), values)).astype(np.int64)


def _notes(run: RunData, aborted: int, *, named: bool, grouped: bool) -> tuple[str, ...]:
    found = []
    if aborted:
        found.append(f"{aborted:,} aborted rollouts left out: their full length is not known")
    if not named or not grouped:
        found.append("which rollouts belong to one prompt is not logged: each is taken by itself")
    if run.rollouts.unit == "characters":
        found.append("lengths are characters, replayed as if they were tokens")
    return tuple(found)


def _from_aggregates(run: RunData, phases: Sequence[Generation]) -> Loaded | None:
    """Both ends: responses of a prompt dealt at random, and sorted so that neighbours share a prompt."""
    names = ("response_tokens_mean", "response_tokens_max", "truncated_share", "prompts")
    mean, top, share, prompts = (run.column(name) for name in names)
    counts = np.where(run.counts() > 0, run.counts(), run.facts.responses_per_step or 0)
    top, typical, guessed = _longest(mean, top, share * counts, run.facts.response_cap)
    rng = np.random.default_rng(_SEED)
    unlike: list[Floats] = []
    alike: list[Floats] = []
    groups: list[int] = []
    sizes: list[int] = []
    chosen = []
    for g in phases:
        i = g.index
        n = counts[i]
        if g.pooled or not (n >= 1 and 0 < mean[i] <= top[i]):
            continue
        try:
            sample, _ = sample_from_aggregates(
                float(mean[i]),
                float(top[i]),
                int(n),
                cap_share=float(share[i]) if 0 <= share[i] <= 1 else None,
                cap=run.facts.response_cap,
                run_ratio=typical,
            )
        except ValueError:
            continue
        size = int(n // prompts[i]) if prompts[i] >= 1 and n % prompts[i] == 0 else 1
        unlike.append(rng.permutation(sample))
        alike.append(rng.permutation(sample.reshape(-1, size)).ravel())
        groups.append(int(n) // size)
        sizes += [size] * (int(n) // size)
        chosen.append(g)
    if not chosen:
        return None
    grouped = max(sizes) > 1
    both = []
    for parts in (unlike, alike):
        w = make_workload(np.concatenate(parts), np.array(groups), np.array(sizes))
        cut = w.lengths >= (run.facts.response_cap or np.inf)
        both.append(replace(w, truncated=np.asarray(cut, dtype=np.bool_), grouped=grouped))
    notes = ["the log has no single rollouts: typical lengths with each step's mean, maximum and cap share"]
    if guessed:
        notes.append(f"the longest response of {guessed} steps is not known: the run's usual one is taken")
    if grouped:
        notes.append("how alike the responses of a prompt are is not known: ranges show both ends")
    return Loaded(both[0], tuple(chosen), both[1] if grouped else None, tuple(notes))


def _longest(mean: Floats, top: Floats, cut: Floats, cap: float | None) -> tuple[Floats, float | None, int]:
    """The longest response of each step: as logged, the cap where any was cut at it, else the run's median
    of longest/mean; that median; and for how many steps it stood in."""
    if cap is not None:
        top = np.where(np.isnan(top) & (cut >= 0.5), cap, top)
    ratio = top / mean
    if not np.isfinite(ratio).any():
        return top, None, 0
    typical = float(np.median(ratio[np.isfinite(ratio)]))
    lacking = np.isnan(top) & (mean > 0)
    usual = mean * typical if cap is None else np.minimum(mean * typical, cap)
    return np.where(lacking, usual, top), typical, int(lacking.sum())
