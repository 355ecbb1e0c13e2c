"""JSON Schema of a what-if: of `rollprof whatif --json`, and of the `whatif` in a run's own JSON."""

from __future__ import annotations

from typing import get_args, get_type_hints

from rollprof.render.json_shapes import (
    COUNT,
    COUNT_OR_NULL,
    FLAG,
    INTERVAL,
    NUMBER,
    TEXT,
    Schema,
    by_name,
    closed,
    described,
    many,
    or_null,
)
from rollprof.render.whatif_json import FORMAT
from rollprof.whatif.results import Source, Tail

_INTERVAL = or_null(INTERVAL)
_FRACTION: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_KINDS = get_args(get_type_hints(Tail)["kind"])

_CALIBRATION = described(
    closed(
        {
            "k0": described(NUMBER, "fixed seconds of a generation phase that no policy changes"),
            "a": described(NUMBER, "seconds of a decode step, whatever runs"),
            "b": described(NUMBER, "seconds of a decode step per running rollout"),
            "c": described(NUMBER, "seconds of a decode step per context token"),
            "source": {"enum": list(get_args(Source))},
            "steps": described(COUNT, "steps (samples, of engines) that it was fitted to"),
            "held_out_error": described(NUMBER, "mean relative error on what the fit had not seen"),
            "constant_error": described(NUMBER, "that of the median"),
            "ratio": described(or_null(many({"type": "number"})), "b/a and the ends of its 90 % interval"),
            "drift": described(
                closed(
                    {name: {"type": "number"} for name in ("factor", "time_error", "idle_error")},
                    optional=("factor", "time_error", "idle_error"),
                ),
                "how much slower the second half is; errors of each step's time and slot_idle by the others",
            ),
            "relative": described(FLAG, "only ratios are known: no seconds"),
            "rough": described({"type": ["string", "null"]}, "why the replay is only rough"),
        }
    ),
    "the decode cost, a + b*running + c*context tokens a step",
)
_BASELINE = described(
    closed(
        {
            "step_s": NUMBER,
            "generate_s": NUMBER,
            "slot_idle": _FRACTION,
            "engine_idle": _FRACTION,
            "effective_idle": _FRACTION,
            "useful_tokens_per_s": NUMBER,
            "most": described(NUMBER, "1/(1 - effective_idle): no tail remedy gains more of generation"),
        }
    ),
    "the simulated synchronous run that all policies are compared with",
)
_RUN = closed(
    {
        "framework": TEXT,
        "steps": described(COUNT, "that were replayed"),
        "of_steps": described(COUNT, "that the run has"),
        "rollouts": COUNT,
        "engines": COUNT,
        "max_num_seqs": COUNT_OR_NULL,
        "unit": {"enum": ["tokens", "characters"]},
        "whole_step": described(FLAG, "training times are known; if not, speed-ups are of generation"),
    }
)
_TAIL = closed(
    {
        "kind": {"enum": list(_KINDS)},
        "max_over_median": NUMBER,
        "p99_over_p50": NUMBER,
        "max_over_p99": NUMBER,
        "truncated_share": _FRACTION,
        "icc": NUMBER,
    }
)
_POLICY = described(
    closed(
        {
            "name": described(TEXT, "parts of a composition are joined by +"),
            "parameters": by_name({"type": ["number", "string"]}),
            "speedup": described(NUMBER, "of the whole step where its times are known; null: see needs"),
            "interval": described(_INTERVAL, "95 % interval of the speed-up"),
            "range": described(_INTERVAL, "what unknown facts make of it"),
            "generation_speedup": NUMBER,
            "useful_gain": described(NUMBER, "trained tokens per second over the baseline's"),
            "step_s": NUMBER,
            "useful_tokens_per_s": NUMBER,
            "slot_idle": NUMBER,
            "engine_idle": NUMBER,
            "effective_idle": described(NUMBER, "of the engines; all the time where they never stop"),
            "step_idle": described(NUMBER, "of all GPUs over the whole step"),
            "trainer_idle": described(NUMBER, "GPUs that only train: waiting"),
            "rollout_idle": described(NUMBER, "GPUs that only generate: waiting, or idle"),
            "intervals": described(by_name(INTERVAL), "95 % intervals by figure"),
            "off_policy_share": described(_FRACTION, "of the trained tokens"),
            "staleness": described(
                many({"type": "number"}), "share of trained tokens that are 0, 1, ... versions old"
            ),
            "staleness_max": COUNT_OR_NULL,
            "generated_tokens": described(
                COUNT_OR_NULL, "warm-up included; = trained + dropped + buffered tokens"
            ),
            "trained_tokens": COUNT_OR_NULL,
            "dropped_tokens": COUNT_OR_NULL,
            "buffered_tokens": COUNT_OR_NULL,
            "lost_tokens": described(COUNT_OR_NULL, "cut off by a lower cap, never generated"),
            "dropped_share": _FRACTION,
            "length_bias": described(NUMBER, "mean trained length over the mean of all"),
            "length_ks": described(_FRACTION, "Kolmogorov-Smirnov distance of trained and all lengths"),
            "starved_prompts": described(COUNT_OR_NULL, "launched and never trained"),
            "needs": described(many(TEXT), "facts that the log lacks for this policy"),
            "notes": many(TEXT),
            "pareto": described(FLAG, "nothing gains more at as little off-policy share and bias"),
            "within_limits": described(FLAG, "of --max-off-policy and --max-bias"),
        }
    ),
    "one policy with its parameters, replayed",
)
_ADVICE = closed(
    {
        "policy": described(TEXT, "baseline: the remark on the tail, always the first"),
        "text": TEXT,
        "why": described({"type": "object"}, "the numbers behind it"),
        "enable": described(by_name(TEXT), "the option to set, by framework"),
    }
)

SCHEMA: Schema = {
    "title": "rollprof what-if",
    "description": "What `rollprof whatif --json` prints.",
    **closed(
        {
            "format": {"const": FORMAT},
            "rollprof": described(TEXT, "version that wrote it"),
            "calibration": _CALIBRATION,
            "baseline": _BASELINE,
            "run": _RUN,
            "tail": _TAIL,
            "policies": many(_POLICY),
            "advice": many(_ADVICE),
            "notes": many(TEXT),
        }
    ),
}
