"""The decode cost from nothing but the model and the GPU: reading weights and cache from memory.

`a = 1.36*weights/bandwidth + 32 us*layers + 0.13 ms`, `c = 1.95*cache bytes per token/bandwidth`, both over
the GPUs of an engine, `b` 15 us: the form and the factors of a simulator fitted to 36 served models (BLIS,
trained-physics). Engines in training frameworks were 1.3 to 2.3 times slower, so the prior is scaled to the
run's own generation times where there are any.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

from rollprof.errors import UsageProblem
from rollprof.model.decode import DecodeCost

BANDWIDTH = {
    "a100": 2.0e12,
    "a800": 2.0e12,
    "h100": 3.35e12,
    "h800": 3.35e12,
    "h20": 4.0e12,
    "h200": 4.8e12,
    "l40s": 0.864e12,
    "b200": 8.0e12,
    "mi300x": 5.3e12,
}
"""Memory bandwidth in bytes per second (vendors' data sheets)."""


@dataclass(frozen=True, slots=True)
class Model:
    """Parameters, layers, and bytes that the cache holds per token (bf16)."""

    parameters: float
    layers: int
    cache_bytes: int


MODELS = {
    "0.5b": Model(0.49e9, 24, 12_288),
    "1.5b": Model(1.54e9, 28, 28_672),
    "3b": Model(3.09e9, 36, 36_864),
    "4b": Model(4.02e9, 36, 147_456),
    "7b": Model(7.62e9, 28, 57_344),
    "8b": Model(8.19e9, 36, 147_456),
    "14b": Model(14.8e9, 48, 196_608),
    "32b": Model(32.8e9, 64, 262_144),
    "72b": Model(72.7e9, 80, 327_680),
}
"""Dense models of the Qwen2.5 and Qwen3 families by size, from their published configurations."""

_T = TypeVar("_T")

PER_ROLLOUT_S = 15e-6
_WEIGHTS, _CACHE, _LAYER_S, _STEP_S = 1.3625, 1.947, 32.1e-6, 126e-6


def prior_cost(gpu: str, model: str, gpus_per_engine: int = 1) -> DecodeCost:
    """Seconds per decode step of this model on these GPUs. UsageProblem for names that are not known."""
    bandwidth = _known(gpu, BANDWIDTH, "--gpu") * max(gpus_per_engine, 1)
    m = _known(model, MODELS, "--model")
    a = _WEIGHTS * 2.0 * m.parameters / bandwidth + _LAYER_S * m.layers + _STEP_S
    return DecodeCost(0.0, a, PER_ROLLOUT_S, _CACHE * m.cache_bytes / bandwidth)


def _known(name: str, table: dict[str, _T], flag: str) -> _T:
    key = name.strip().lower()
    if key not in table:
        near = get_close_matches(key, table, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(table)}"
        raise UsageProblem(f"{flag} {name}: not known", hint=hint)
    return table[key]
