"""Made-up rollouts whose difficulty effect, intraclass correlation and truncation are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

SCHEMA: dict[str, Any] = {
    "step": pl.Int64,
    "split": pl.String,
    "prompt_id": pl.UInt64,
    "group_id": pl.UInt64,
    "dataset": pl.String,
    "response_tokens": pl.Int32,
    "response_chars": pl.Int32,
    "generated_tokens": pl.Int32,
    "token_basis": pl.String,
    "reward": pl.Float64,
    "rewards": pl.List(pl.Struct({"key": pl.String, "value": pl.Float64})),
    "correct": pl.Boolean,
    "finish_reason": pl.String,
    "policy_version_first": pl.Int64,
    "policy_version_last": pl.Int64,
}


def frame(**columns: Any) -> pl.LazyFrame:
    """A rollouts table: the given columns, nulls elsewhere, exact training tokens by default."""
    n = max(len(v) for v in columns.values())
    full: dict[str, Any] = {name: [None] * n for name in SCHEMA}
    full.update(step=[1] * n, split=["train"] * n, token_basis=["exact"] * n)
    full.update(columns)
    return pl.DataFrame(full, schema=SCHEMA).lazy()


def known_truth(
    seed: int, *, prompts: int = 320, samples: int = 8, icc: float, rho: float, cap: float | None = None
) -> pl.LazyFrame:
    """Prompts with a difficulty and a length level that are bivariate normal with correlation `rho`.

    log L = 6 + .8 * (sqrt(icc) * level + sqrt(1 - icc) * noise); P(right) = 1 - Phi(difficulty). A
    response cut at `cap` is wrong.
    """
    from scipy.stats import norm

    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], prompts)
    noise = rng.normal(size=(prompts, samples))
    lengths = np.exp(6 + 0.8 * (np.sqrt(icc) * z[:, 1:] + np.sqrt(1 - icc) * noise))
    right = rng.random((prompts, samples)) > norm.cdf(z[:, :1])
    cut = lengths >= cap if cap else np.zeros_like(right)
    if cap:
        lengths = np.minimum(lengths, cap)
    owner = np.repeat(np.arange(prompts), samples)
    return frame(
        step=owner % 10,
        prompt_id=owner,
        group_id=owner,
        response_tokens=np.maximum(1, lengths.round()).astype(int).ravel(),
        reward=(right & ~cut).astype(float).ravel(),
        finish_reason=np.where(cut, "length", "stop").ravel(),
    )
