"""A what-if as JSON: stable, sorted, versioned."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rollprof import __version__
from rollprof.whatif.results import Advice, PolicyResult, WhatIf

FORMAT = 1
"""1: first public form."""


def dumps(found: WhatIf) -> str:
    """The document as text: sorted keys, two blanks of indentation, ASCII only, a final newline."""
    return json.dumps(document(found), sort_keys=True, indent=2, allow_nan=False) + "\n"


def document(found: WhatIf) -> dict[str, Any]:
    """The document as plain values; also the `whatif` of a run's own JSON. NaN and infinities are null."""
    c, b = found.calibration, found.baseline
    plain: dict[str, Any] = _plain(
        {
            "format": FORMAT,
            "rollprof": __version__,
            "calibration": {
                "k0": c.k0,
                "a": c.a,
                "b": c.b,
                "c": c.c,
                "source": c.source,
                "held_out_error": c.held_out_error,
                "constant_error": c.constant_error,
                "ratio": c.ratio,
                "drift": dict(c.drift),
                "steps": c.steps,
                "relative": c.relative,
                "rough": c.rough or None,
            },
            "baseline": {
                "step_s": b.step_s,
                "generate_s": b.generate_s,
                "slot_idle": b.slot_idle,
                "engine_idle": b.engine_idle,
                "effective_idle": b.effective_idle,
                "useful_tokens_per_s": b.useful_tokens_per_s,
                "most": b.most,
            },
            "run": {
                "framework": found.framework,
                "steps": found.steps,
                "of_steps": found.of_steps or found.steps,
                "rollouts": found.rollouts,
                "engines": found.engines,
                "max_num_seqs": found.slots,
                "unit": found.unit,
                "whole_step": found.whole_step,
            },
            "tail": {
                "kind": found.tail.kind,
                "max_over_median": found.tail.max_over_median,
                "p99_over_p50": found.tail.p99_over_p50,
                "max_over_p99": found.tail.max_over_p99,
                "truncated_share": found.tail.truncated_share,
                "icc": found.tail.icc,
            },
            "policies": [_policy(p) for p in found.policies],
            "advice": [_advice(a) for a in found.advice],
            "notes": list(found.notes),
        }
    )
    return plain


def _policy(p: PolicyResult) -> dict[str, Any]:
    return {
        "name": p.name,
        "parameters": dict(p.parameters),
        "speedup": p.speedup,
        "interval": p.interval,
        "range": p.range,
        "generation_speedup": p.generation_speedup,
        "useful_gain": p.useful_gain,
        "step_s": p.step_s,
        "useful_tokens_per_s": p.useful_tokens_per_s,
        "slot_idle": p.slot_idle,
        "engine_idle": p.engine_idle,
        "effective_idle": p.effective_idle,
        "step_idle": p.step_idle,
        "trainer_idle": p.trainer_idle,
        "rollout_idle": p.rollout_idle,
        "intervals": dict(p.intervals),
        "off_policy_share": p.off_policy_share,
        "staleness": list(p.staleness),
        "staleness_max": p.staleness_max,
        "generated_tokens": p.generated_tokens,
        "trained_tokens": p.trained_tokens,
        "dropped_tokens": p.dropped_tokens,
        "buffered_tokens": p.buffered_tokens,
        "lost_tokens": p.lost_tokens,
        "dropped_share": p.dropped_share,
        "length_bias": p.length_bias,
        "length_ks": p.length_ks,
        "starved_prompts": p.starved_prompts,
        "needs": list(p.needs),
        "notes": list(p.notes),
        "pareto": p.pareto,
        "within_limits": p.within_limits,
    }


def _advice(a: Advice) -> dict[str, Any]:
    return {"policy": a.policy, "text": a.text, "why": dict(a.why), "enable": dict(a.enable)}


def _plain(value: Any) -> Any:
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return str(value)
