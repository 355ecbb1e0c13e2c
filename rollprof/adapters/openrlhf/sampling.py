"""Dynamic sampling: the true share of prompt groups that passed the filter.

`dynamic_filtering_pass_rate` is a percentage with three meanings: kept over sampled responses (0.8.1 to
0.9.0), batch over prompts consumed (0.9.1 to 0.9.8), and since 0.9.9 responses over prompts, which is the
true rate times the group size: 133.33 for 8 of 24 prompts with 4 responses each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollprof.adapters.openrlhf.releases import Range

Values = Mapping[str, float]

_AGREE = 0.02


@dataclass(frozen=True, slots=True)
class PassRate:
    """`share` of the groups sampled over the run that were kept, and `how` it is known. `logged_wrong`:
    values of the key (in %) that are the true rate times the group size."""

    share: float | None
    how: str
    logged_wrong: tuple[float, ...] = ()


def pass_rate(steps: Sequence[Values], release: Range, group_size: int | None) -> PassRate | None:
    """The pass rate of a run, pooled over its steps; None where nothing was filtered.

    Counts that the log has (bars, log lines) come before the key, whose meaning depends on the release.
    """
    logged = [s["dynamic_filtering_pass_rate"] for s in steps if "dynamic_filtering_pass_rate" in s]
    counted = [c for s in steps if (c := _counted(s, group_size)) is not None]
    if not logged and not any("log/rejected_groups" in s or "log/kept_samples" in s for s in steps):
        return None
    inflated = _inflated(logged, counted, release, group_size)
    wrong = tuple(logged) if inflated else ()
    if counted:
        kept, sampled = (sum(c[i] for c in counted) for i in (0, 1))
        return PassRate(kept / sampled, "groups kept / groups sampled, as counted by the log", wrong)
    if not logged:
        return None
    # Pooled, a share is the harmonic mean of the steps' shares: every step keeps one batch.
    share = (
        len(logged) / sum(100 / rate for rate in logged if rate > 0) if all(r > 0 for r in logged) else 0.0
    )
    if inflated is None:
        how = "dynamic_filtering_pass_rate means something else since 0.9.9, and the release is unknown"
        return PassRate(None, how)
    if inflated and group_size is None:
        return PassRate(None, "dynamic_filtering_pass_rate is the rate times the unknown group size", wrong)
    return PassRate(
        share / (group_size or 1) if inflated else share,
        "dynamic_filtering_pass_rate / group size" if inflated else "dynamic_filtering_pass_rate",
        wrong,
    )


def _counted(step: Values, group_size: int | None) -> tuple[float, float] | None:
    """(groups kept, groups sampled) as the log counts them."""
    groups = step.get("bar/generate_samples/groups")
    consumed = step.get("bar/generate_samples/prompts_consumed")
    if groups and consumed and consumed >= groups:
        return groups, consumed
    kept, sampled = step.get("log/kept_samples"), step.get("log/sampled_samples")
    if kept is not None and sampled:
        return kept, sampled
    rejected, samples = step.get("log/rejected_groups"), step.get("log/samples")
    if rejected is not None and samples and group_size:
        return samples / group_size, samples / group_size + rejected
    return None


def _inflated(
    logged: Sequence[float],
    counted: Sequence[tuple[float, float]],
    release: Range,
    group_size: int | None,
) -> bool | None:
    """Whether the key is the rate times the group size; None where that cannot be told."""
    if not logged:
        return False
    if max(logged) > 100:
        return True
    if group_size == 1 or release.before("0.9.9"):
        return False
    if release.at_least("0.9.9"):
        return True
    if counted and len(counted) == len(logged):
        true = [100 * kept / sampled for kept, sampled in counted]
        return not all(abs(a - b) <= _AGREE * b for a, b in zip(logged, true, strict=True))
    return None
