"""Figures of inference engines, and of policy versions (staleness)."""

from __future__ import annotations

from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.analyzers.results import Basis

_SAMPLES = ("engines.time", "engines.running", "engines.waiting")
_VERSIONS = ("rollouts.policy_version_first", "rollouts.policy_version_last")
_MEASURED: tuple[tuple[Basis, str], ...] = (("measured", "policy versions of each rollout or segment"),)


def _staleness(stat: str, formula: str, aggregation: str, column: str | None) -> FigureSpec:
    return FigureSpec(
        f"staleness_{stat}",
        "versions",
        formula,
        aggregation,
        (_VERSIONS, (f"steps.{column}",)) if column else (_VERSIONS,),
        True,
        "Versions between the policy that is trained and the one that produced the token.",
        "AReaL (2505.24298)",
        (*_MEASURED, ("logged", "the framework's own aggregate")) if column else _MEASURED,
    )


ENGINE_FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "tokens_per_gpu_s",
        "tokens/s",
        "prompt and response tokens / (gpus * step_s)",
        "median over steps",
        (("steps.tokens_per_gpu_s",), ("steps.tokens_total", "steps.step_s", "fact.gpus")),
        True,
        "Throughput of the whole step per GPU, training included.",
        "verl perf/throughput",
        (("logged", "as logged, or from logged tokens, GPUs and step time"),),
    ),
    FigureSpec(
        "engine_imbalance",
        "ratio",
        "max_e T_e / mean_e T_e;  T_e when engine e finishes its last rollout",
        "weighted by GPU-seconds, as 1/(1 - engine_idle)",
        (
            ("rollouts.started_at", "rollouts.completed_at", "rollouts.engine"),
            _SAMPLES,
            ("steps.engine_s_mean", "steps.engine_s_max"),
        ),
        True,
        "How much longer the slowest engine works than the average one: 1 is perfect balance.",
        "fastest and slowest rank: verl issue 658",
        (
            ("measured", "each rollout's end and engine, or samples of every engine"),
            ("logged", "logged time of each engine"),
        ),
    ),
    FigureSpec(
        "queue_share",
        "fraction",
        "integral of max(n(t) - C, 0) dt / integral of n(t) dt;  or sum(queue_s) / sum(queue_s + generate_s)",
        "weighted by rollout-seconds",
        (
            ("rollouts.started_at", "rollouts.completed_at", "fact.max_num_seqs"),
            ("rollouts.queue_s", "rollouts.generate_s"),
            _SAMPLES,
        ),
        True,
        "Share of the rollouts' time spent waiting for a decode slot.",
        "",
        (("measured", "each rollout's times, or samples of the engines"),),
    ),
    FigureSpec(
        "preemptions",
        "count",
        "requests evicted from the KV cache and computed again",
        "sum",
        (("engines.time", "engines.running"), ("metrics.num_preempted",)),
        True,
        "Preemptions as the engine counts them: the KV cache is too small for the batch.",
        "vLLM num_preemptions",
        (("measured", "the engines' own count, in their log"), ("logged", "the framework's own count")),
    ),
    FigureSpec(
        "kv_usage_max",
        "fraction",
        "max over samples of the KV cache in use",
        "max",
        (("engines.time", "engines.kv_usage"),),
        True,
        "How full the KV cache got. Near 1, requests queue or are preempted.",
        "",
        (("measured", "samples of the engines over time"),),
    ),
)

STALENESS_FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "off_policy_token_share",
        "fraction",
        "tokens produced by an older policy than the one trained / all tokens",
        "token-weighted",
        (_VERSIONS,),
        True,
        "How much of what is trained on was produced by an older policy.",
        "AReaL (2505.24298), APRIL (2509.18521)",
        _MEASURED,
    ),
    _staleness(
        "mean",
        "token-weighted mean of (version trained - version that produced the token)",
        "token-weighted",
        "staleness_mean",
    ),
    _staleness("p95", "token-weighted 95th percentile of the staleness", "token-weighted", None),
    _staleness("max", "largest staleness", "max", "staleness_max"),
    FigureSpec(
        "resumed_share",
        "fraction",
        "share of rollouts whose first and last token come from different policy versions",
        "rollout-weighted",
        (_VERSIONS,),
        True,
        "Rollouts that were interrupted and resumed under a newer policy.",
        "partial rollouts: Kimi k1.5 (2501.12599)",
        _MEASURED,
    ),
)
