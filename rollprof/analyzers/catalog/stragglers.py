"""Figures of waiting for the last rollout."""

from __future__ import annotations

from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.analyzers.results import Basis

_TIMES = ("rollouts.started_at", "rollouts.completed_at")
_DURATIONS = ("rollouts.generate_s",)
_AGGREGATES = ("steps.rollout_s_mean", "steps.rollout_s_max")
_LENGTHS_T = ("rollouts.response_tokens", "steps.generate_s")
_LENGTHS = ("rollouts.response_tokens",)

_RULES: tuple[tuple[Basis, str], ...] = (
    ("measured", "each rollout's start and end"),
    ("logged", "logged per-rollout times of the step, or each rollout's duration in a synchronous step"),
    ("modelled", "completion time proportional to response tokens: f_i = T * L_i / max L"),
)

_WAIT = (
    "A rollout that is done waits for the last one of its step: T - f_i, with f_i its completion and T "
    "the last."
)


def _wait(stat: str, formula: str, aggregation: str, what: str) -> tuple[FigureSpec, FigureSpec]:
    aggregates = ("steps.rollout_s_min", "steps.rollout_s_max") if stat == "max" else _AGGREGATES
    needs = (
        (_TIMES, _DURATIONS, _LENGTHS_T) if stat == "p50" else (_TIMES, _DURATIONS, aggregates, _LENGTHS_T)
    )
    seconds = FigureSpec(
        f"straggler_wait_{stat}_s",
        "s",
        formula,
        aggregation,
        needs,
        True,
        f"{what} {_WAIT}",
        "instance idle and tail latency: Seer (2511.14617)",
        _RULES,
    )
    tokens = FigureSpec(
        f"straggler_wait_{stat}_tokens",
        "tokens",
        formula.replace("T - f_i", "max(L) - L_i"),
        aggregation,
        (_LENGTHS,),
        True,
        f"{what} {_WAIT} Without any time in the log it is counted in response tokens.",
        "",
        (("modelled", "completion proportional to response tokens, no time known"),),
    )
    return seconds, tokens


STRAGGLER_FIGURES: tuple[FigureSpec, ...] = (
    *_wait(
        "mean", "mean over rollouts of T - f_i", "rollout-weighted mean", "The mean over the step's rollouts."
    ),
    *_wait(
        "p50",
        "median over rollouts of T - f_i",
        "rollout-weighted mean",
        "The median of the step's rollouts.",
    ),
    *_wait("max", "max over rollouts of T - f_i", "max", "The first rollout to finish waits longest."),
    FigureSpec(
        "tail_time_s",
        "s",
        "T - t_90;  t_90 when 90 % of the step's rollouts are done (nearest rank)",
        "sum",
        (_TIMES, _DURATIONS, _LENGTHS_T),
        True,
        "Time spent on the last tenth of the rollouts alone.",
        "tail time, 'the last 10 % of requests': Seer (2511.14617)",
        _RULES,
    ),
    FigureSpec(
        "tail_time_share",
        "fraction",
        "(T - t_90) / T",
        "sum of tail_time / sum of T",
        (_TIMES, _DURATIONS, _LENGTHS_T, _LENGTHS),
        True,
        "Share of the generation time spent on the last tenth of the rollouts alone. Seer reports 0.26 to "
        "0.58.",
        "tail time, 'the last 10 % of requests': Seer (2511.14617)",
        _RULES,
    ),
    FigureSpec(
        "decode_s_per_token",
        "s",
        "(f_i - d_i) / L_i of the last rollout of the step",
        "median",
        (
            (*_TIMES, "rollouts.response_tokens"),
            (*_DURATIONS, "rollouts.response_tokens"),
            ("steps.rollout_s_max", "steps.response_tokens_max"),
        ),
        True,
        "Seconds per token that the slowest rollout saw, queueing and tools included: T/M, not the fixed "
        "cost of "
        "a decode step.",
        "",
        (
            ("measured", "the last rollout's own time and length"),
            ("logged", "the last rollout's own duration and length"),
            ("modelled", "the longest logged time over the longest logged response"),
        ),
    ),
)
