"""One policy on one setting: replayed beside its baseline, and summed up."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rollprof.whatif import metrics
from rollprof.whatif.compose import Composition, reference_of
from rollprof.whatif.outcome import Outcome
from rollprof.whatif.policies.baseline import play as play_baseline
from rollprof.whatif.results import Interval, PolicyResult
from rollprof.whatif.setting import Setting
from rollprof.whatif.workload import Workload

FEW_STEPS = 8
"""Below as many steps intervals come from replaying resampled groups: whole steps are too few to draw."""
REPLAYS = 24
FEWEST_REPLAYS = 8
FEWEST_ROUNDS_REPLAYED = 12
MOST_WORK = 1_000_000
"""Rollouts, counted once a round, that the replays of one policy take: beyond it there are fewer replays."""
_NORMAL = 1.96
_RATIOS = ("speedup", "generation_speedup", "useful_gain", "useful_tokens_per_s", "step_s")
"""Positive figures, whose draws are spread in the logarithm."""


@dataclass(slots=True)
class Evaluator:
    """Replays policies on one plain setting; baselines of the same workload are played once."""

    plain: Setting
    multi_turn: bool = False
    seed: int = 0
    _known: tuple[tuple[Workload, Outcome], ...] = ()

    def baseline(self, setting: Setting | None = None) -> Outcome:
        """The synchronous baseline of a prepared setting, of the plain one without."""
        reference = reference_of(setting or self.plain, self.plain)
        for workload, outcome in self._known:
            if workload is reference.workload or _same(workload, reference.workload):
                return outcome
        outcome = play_baseline(replace(reference, tick=None), {})
        self._known = (*self._known, (reference.workload, outcome))
        return outcome

    def rounds(self, composition: Composition) -> int:
        """How many rounds `result` replays; none where facts are lacking."""
        if composition.needs(self.plain, multi_turn=self.multi_turn):
            return 0
        return sum(self.plain.n_rounds(carry=composition.carries))

    def result(self, composition: Composition, *, intervals: bool = True) -> PolicyResult:
        """What the policy does to this run; without a needed fact only the list of them."""
        missing = composition.needs(self.plain, multi_turn=self.multi_turn)
        if missing:
            return PolicyResult(
                composition.name,
                composition.parameters,
                off_policy_share=composition.off_policy,
                needs=missing,
            )
        setting = composition.prepared(self.plain)
        base = self.baseline(setting)
        outcome = composition.play(setting)
        useful = metrics.useful_of_baseline(self.plain.workload) if composition.informative else None
        found = metrics.sums(outcome, base, setting.workload.n_steps, useful, self.plain.trainer)
        bounds: dict[str, Interval] = {}
        if intervals:
            bounds = (
                metrics.bootstrap(found, self.seed)
                if setting.workload.n_steps >= FEW_STEPS
                else self._replayed(composition, metrics.totals(found))
            )
        return _summed(composition, setting, self.plain, outcome, found, bounds)

    def _replayed(self, composition: Composition, around: dict[str, float]) -> dict[str, Interval]:
        """Intervals from replays of resampled groups: the figure itself (`around`), and 1.96 standard
        deviations of its draws on both sides (few draws have no usable 2.5 % quantile, and repeated groups
        shift their middle)."""
        w = self.plain.workload
        fewer = replace(self.plain, fewest_rounds=FEWEST_ROUNDS_REPLAYED)
        rounds = max(FEWEST_ROUNDS_REPLAYED, w.n_steps) + fewer.warm_up
        affordable = MOST_WORK * w.n_steps // max(rounds * len(w.lengths), 1)
        draws = replayed_draws(fewer, composition, min(REPLAYS, max(affordable, FEWEST_REPLAYS)), self.seed)
        found = {}
        for name, values in draws.items():
            good, middle = values[np.isfinite(values)], around[name]
            if len(good) < 2 or not math.isfinite(middle):
                continue
            if name in _RATIOS and middle > 0 and (good > 0).all():
                factor = math.exp(_NORMAL * float(np.log(good).std(ddof=1)))
                found[name] = (middle / factor, middle * factor)
            else:
                half = _NORMAL * float(good.std(ddof=1))
                found[name] = (middle - half, middle + half)
        return found


def replayed_draws(
    plain: Setting, composition: Composition, replays: int, seed: int
) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """All figures of `replays` replays of the run with groups drawn anew, with replacement, from all steps:
    drawn within a step, its longest group would come back in most draws, and maxima would hardly vary."""
    rng = np.random.default_rng(seed)
    w = plain.workload
    rows: dict[str, list[float]] = {}
    for _ in range(replays):
        groups = rng.integers(0, w.n_groups, w.n_groups)
        drawn = replace(plain, workload=w.resampled(groups), tick=None)
        if composition.needs(drawn, multi_turn=False):
            continue
        setting = composition.prepared(drawn)
        base = play_baseline(reference_of(setting, drawn), {})
        useful = metrics.useful_of_baseline(drawn.workload) if composition.informative else None
        found = metrics.sums(composition.play(setting), base, w.n_steps, useful, drawn.trainer)
        for name, value in metrics.totals(found).items():
            rows.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in rows.items()}


def _same(one: Workload, two: Workload) -> bool:
    return (
        len(one.lengths) == len(two.lengths)
        and bool(np.array_equal(one.first, two.first))
        and bool(np.array_equal(one.lengths, two.lengths))
    )


def _summed(
    composition: Composition,
    setting: Setting,
    plain: Setting,
    outcome: Outcome,
    found: metrics.Sums,
    bounds: dict[str, Interval],
) -> PolicyResult:
    total = metrics.totals(found)
    generated = int(outcome.total("generated", warm=True))
    dropped = int(outcome.total("dropped", warm=True))
    measured = outcome.total("generated")
    all_lengths = (setting.reference or plain.workload).lengths
    trained = float(outcome.staleness.sum())
    shares = outcome.staleness / trained if trained else outcome.staleness
    old = np.flatnonzero(outcome.staleness)
    return PolicyResult(
        name=composition.name,
        parameters=composition.parameters,
        speedup=_finite(total["speedup"]),
        interval=bounds.get("speedup"),
        generation_speedup=_finite(total["generation_speedup"]),
        useful_gain=_finite(total["useful_gain"]),
        step_s=_finite(total["step_s"]),
        useful_tokens_per_s=_finite(total["useful_tokens_per_s"]),
        slot_idle=_finite(total["slot_idle"]),
        engine_idle=_finite(total["engine_idle"]),
        effective_idle=_finite(total["effective_idle"]),
        step_idle=_finite(total.get("step_idle", math.nan)),
        trainer_idle=_finite(total.get("trainer_idle", math.nan)),
        rollout_idle=_finite(total.get("rollout_idle", math.nan)),
        intervals=bounds,
        off_policy_share=float(shares[1:].sum()),
        staleness=tuple(shares.tolist()),
        staleness_max=int(old[-1]) if len(old) else 0,
        generated_tokens=generated,
        trained_tokens=int(outcome.total("trained", warm=True)),
        dropped_tokens=dropped,
        buffered_tokens=outcome.buffered,
        lost_tokens=outcome.lost,
        dropped_share=_share(outcome.total("dropped") + outcome.lost, measured + outcome.lost),
        length_bias=float(outcome.kept.mean() / all_lengths.mean()) if len(outcome.kept) else None,
        length_ks=metrics.kolmogorov_smirnov(outcome.kept, all_lengths),
        starved_prompts=outcome.starved,
        notes=setting.notes + outcome.notes,
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
