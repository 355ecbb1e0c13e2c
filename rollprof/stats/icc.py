"""Intraclass correlation ICC(1) of unbalanced groups, with a cluster bootstrap interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MAX_BOOTSTRAP_GROUPS = 4000
"""More groups than this are thinned for the interval, which is then scaled by sqrt(m/n)."""


@dataclass(frozen=True, slots=True)
class Icc:
    """ICC(1) and its interval; `groups` of at least two members, `members` in them."""

    value: float
    low: float
    high: float
    groups: int
    members: int


def icc1(
    values: npt.ArrayLike,
    groups: npt.ArrayLike,
    *,
    blocks: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Icc | None:
    """One-way random effects ICC: (MSB - MSW) / (MSB + (n0 - 1) MSW), n0 for unequal group sizes.

    `values`, `groups` and `blocks` have shape (n,). Groups of one member say nothing about the spread inside
    a group and are left out. With `blocks` (the training step of each value; groups lie within blocks) the
    block means are taken out first, at the price of their degrees of freedom: centring by hand and using
    G - 1 would bias ICC down when a block has few groups. The interval comes from resampling whole groups,
    so that it needs no normal distribution, with the bias of resampling taken out. None with fewer than
    three groups, or when nothing varies. (Shrout & Fleiss 1979; n0: Donner 1986.)
    """
    v = np.asarray(values, float)
    labels = np.asarray(groups)
    block = np.zeros(len(v), np.int64) if blocks is None else np.asarray(blocks)
    _, first, index, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    keep = (counts >= 2)[index] & np.isfinite(v)
    if not keep.all():
        _, first, index = np.unique(index[keep], return_index=True, return_inverse=True)
    if len(first) < 3:
        return None
    stats = _group_stats(v[keep], index, block[keep][first])
    value = float(_icc(np.ones((1, len(first))), stats)[0])
    if not np.isfinite(value):
        return None
    rng = np.random.default_rng(seed)
    some = _thinned(stats, rng)
    m = len(some.n)
    draws = rng.multinomial(m, np.full(m, 1 / m), size=resamples)
    at = float(_icc(np.ones((1, m)), some)[0])
    drawn = _icc(draws, some.centred())
    drawn = drawn[np.isfinite(drawn)]
    if len(drawn) < resamples // 2 or not np.isfinite(at):
        return None
    low, high = _bias_corrected(drawn, at, level)
    # m groups were drawn in place of all; and block means took their share of the m.
    spent = len(some.starts) if blocks is not None else 1
    shrink = float(np.sqrt(m / len(first) * m / (m - spent))) if m > spent else 1.0
    return Icc(value, value + (low - at) * shrink, value + (high - at) * shrink, len(first), int(keep.sum()))


@dataclass(frozen=True, slots=True)
class _Groups:
    """Size, mean and within-group sum of squares of each group, in block order; `starts` of blocks."""

    n: Floats
    mean: Floats
    within: Floats
    starts: npt.NDArray[np.intp]

    def take(self, rows: npt.NDArray[np.intp], block: npt.NDArray[np.generic]) -> _Groups:
        starts = np.unique(block, return_index=True)[1]
        return _Groups(self.n[rows], self.mean[rows], self.within[rows], starts)

    def centred(self) -> _Groups:
        """The same groups around zero in one block. A resampled block would lose a degree of freedom twice,
        so the residuals are stretched by sqrt(b / (b - 1)), b groups in the block, and stay put."""
        sizes = np.diff(np.append(self.starts, len(self.n))).astype(float)
        weight = np.add.reduceat(self.n, self.starts)
        level = np.add.reduceat(self.n * self.mean, self.starts) / weight
        stretch = np.sqrt(sizes / np.maximum(sizes - 1, 1))
        mean = (self.mean - level[self.block]) * stretch[self.block]
        return _Groups(self.n, np.asarray(mean, dtype=np.float64), self.within, np.array([0], np.intp))

    @property
    def block(self) -> npt.NDArray[np.intp]:
        sizes = np.diff(np.append(self.starts, len(self.n)))
        return np.repeat(np.arange(len(self.starts)), sizes)


def _group_stats(v: Floats, index: npt.NDArray[np.intp], block: npt.NDArray[np.generic]) -> _Groups:
    n: Floats = np.bincount(index).astype(np.float64)
    mean: Floats = np.asarray(np.bincount(index, v) / n, dtype=np.float64)
    within: Floats = np.asarray(np.bincount(index, (v - mean[index]) ** 2), dtype=np.float64)
    order = np.argsort(block, kind="stable")
    starts = np.unique(block[order], return_index=True)[1]
    return _Groups(n[order], mean[order], within[order], starts)


def _thinned(groups: _Groups, rng: np.random.Generator) -> _Groups:
    """At most about MAX_BOOTSTRAP_GROUPS groups: whole blocks where there are several, else some groups."""
    total = len(groups.n)
    if total <= MAX_BOOTSTRAP_GROUPS:
        return groups
    block = groups.block
    blocks = len(groups.starts)
    wanted = max(1, round(blocks * MAX_BOOTSTRAP_GROUPS / total))
    rows = np.flatnonzero(np.isin(block, rng.choice(blocks, wanted, replace=False)))
    if len(rows) > MAX_BOOTSTRAP_GROUPS:
        rows = np.sort(rng.choice(rows, MAX_BOOTSTRAP_GROUPS, replace=False))
    return groups.take(rows, block[rows])


def _icc(weights: npt.NDArray[np.generic], g: _Groups) -> Floats:
    """ICC(1) for each row of group weights (how often a group was drawn), shape (rows,)."""
    w = np.asarray(weights, float)

    def by_block(per_group: Floats) -> Floats:
        return np.asarray(np.add.reduceat(per_group, g.starts, axis=1), dtype=np.float64)

    k = w.sum(axis=1)
    size = by_block(w * g.n)
    total = size.sum(axis=1)
    present = (size > 0).sum(axis=1)
    safe = np.where(size > 0, size, 1.0)
    between = w @ (g.n * g.mean**2) - (by_block(w * (g.n * g.mean)) ** 2 / safe).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        msb = between / (k - present)
        msw = (w @ g.within) / (total - k)
        n0 = (total - (by_block(w * g.n**2) / safe).sum(axis=1)) / (k - present)
        return np.asarray((msb - msw) / (msb + (n0 - 1) * msw), dtype=np.float64)


def _bias_corrected(drawn: Floats, value: float, level: float) -> tuple[float, float]:
    """Bias-corrected percentile interval (Efron): resampled groups repeat, which biases ICC a little."""
    from scipy.stats import norm

    share = float(np.clip(np.mean(drawn < value), 1 / len(drawn), 1 - 1 / len(drawn)))
    z0 = norm.ppf(share)
    z = norm.ppf((1 + level) / 2)
    ends = np.quantile(drawn, np.array([norm.cdf(2 * z0 - z), norm.cdf(2 * z0 + z)]))
    return float(ends[0]), float(ends[1])
