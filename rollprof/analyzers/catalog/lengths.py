"""Figures of response lengths."""

from __future__ import annotations

from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.analyzers.results import Basis

_LENGTHS = ("rollouts.response_tokens",)
_CHARS = ("rollouts.response_chars",)
_POOLED = "pooled over all rollouts"

_RULES: tuple[tuple[Basis, str], ...] = (
    ("measured", "token counts of each rollout, exact or counted with the tokenizer given (or characters)"),
    ("logged", "aggregates of the step, rollout-weighted over steps"),
    ("modelled", "characters scaled so that the step's mean is the logged mean"),
)


def _length(
    stat: str, formula: str, doc: str, column: str | None = None, aggregation: str = _POOLED
) -> FigureSpec:
    logged = ((f"steps.{column}",),) if column else ()
    return FigureSpec(
        f"response_tokens_{stat}",
        "tokens",
        formula,
        aggregation,
        (_LENGTHS, *logged, _CHARS),
        True,
        doc,
        "",
        _RULES if column else tuple(r for r in _RULES if r[0] != "logged"),
    )


def _ratio(name: str, formula: str, doc: str, source: str = "") -> FigureSpec:
    rules = tuple(r for r in _RULES if r[0] != "logged")
    return FigureSpec(name, "ratio", formula, _POOLED, (_LENGTHS, _CHARS), True, doc, source, rules)


def _tail(percent: int) -> FigureSpec:
    return FigureSpec(
        f"tail_token_share_{percent}",
        "fraction",
        f"tokens of the longest ceil({percent} % of N) responses / all response tokens",
        _POOLED,
        (_LENGTHS, _CHARS),
        True,
        f"How much of all tokens the longest {percent} % of the responses hold: a point of the Lorenz curve.",
        "",
        tuple(r for r in _RULES if r[0] != "logged"),
    )


def _drift(stat: str, unit: str, what: str, columns: tuple[tuple[str, ...], ...]) -> FigureSpec:
    return FigureSpec(
        f"length_drift_{stat}",
        unit,
        f"Theil-Sen slope over steps of {what}",
        "Theil-Sen over steps, 90 % interval by Sen's method",
        columns,
        False,
        f"Change of {what} per training step: the median of the slopes between all pairs of steps, so that "
        "single odd steps do not matter.",
        "Theil (1950), Sen (1968)",
        _RULES,
    )


LENGTH_FIGURES: tuple[FigureSpec, ...] = (
    _length("mean", "sum(L) / N", "Mean response length.", "response_tokens_mean"),
    _length("std", "sqrt(mean((L - mean)^2))", "Spread of the response lengths (population form)."),
    _length("min", "min(L)", "Shortest response.", "response_tokens_min", "min over all rollouts"),
    _length("p50", "50th percentile of L, linear interpolation", "Median response length."),
    _length("p90", "90th percentile of L, linear interpolation", "One response in ten is longer."),
    _length("p95", "95th percentile of L, linear interpolation", "One response in twenty is longer."),
    _length("p99", "99th percentile of L, linear interpolation", "One response in a hundred is longer."),
    _length("max", "max(L)", "Longest response.", "response_tokens_max", "max over all rollouts"),
    _ratio(
        "max_over_median",
        "max(L) / median(L)",
        "How far the longest response lies from the middle. Under 2 the cap binds and tail remedies gain "
        "little; "
        "RollPacker reports 25-32 on a 16k cap.",
        "longest / median: RollPacker (2509.21009)",
    ),
    _ratio(
        "p99_over_p50",
        "p99(L) / p50(L)",
        "Weight of the tail without the single longest response. Laminar reports about 10.",
        "P99 / median: Laminar (2510.12633)",
    ),
    _ratio(
        "gini_length",
        "1 - sum_ij min(L_i, L_j) / (N * sum(L))",
        "Inequality of the response lengths, 0 when all are equal. It is also the part of slot_idle that "
        "remains "
        "if decode time went only with tokens, and so the lower end of the bracket from lengths alone.",
        "Gini; identity with the decode-cost shares: this project",
    ),
    FigureSpec(
        "truncated_share",
        "fraction",
        "share of responses with finish_reason == length, or L >= cap",
        _POOLED,
        (
            ("rollouts.finish_reason",),
            ("rollouts.response_tokens", "fact.response_cap"),
            ("steps.truncated_share",),
        ),
        True,
        "Responses that were cut at the cap. They are wrong by construction, and their true length is "
        "unknown.",
        "",
        _RULES,
    ),
    _tail(1),
    _tail(5),
    _tail(10),
    FigureSpec(
        "km_median_tokens",
        "tokens",
        "smallest x with Kaplan-Meier S(x) <= 1/2, truncated and aborted rollouts censored",
        _POOLED,
        (("rollouts.response_tokens", "rollouts.finish_reason"),),
        False,
        "Median of the length that responses would have had, were they not cut or aborted. With one common "
        "cap "
        "it equals the sample's median.",
        "Kaplan-Meier (1958)",
        tuple(r for r in _RULES if r[0] != "logged"),
    ),
    FigureSpec(
        "km_restricted_mean_tokens",
        "tokens",
        "integral of Kaplan-Meier S(x) from 0 to the longest observed length",
        _POOLED,
        (("rollouts.response_tokens", "rollouts.finish_reason"),),
        False,
        "Mean length up to the longest observed one, with truncated and aborted rollouts censored. With one "
        "common cap it equals the sample's mean; with aborts the sample's mean is biased to short answers.",
        "Kaplan-Meier (1958)",
        tuple(r for r in _RULES if r[0] != "logged"),
    ),
    _drift(
        "p50",
        "tokens per step",
        "the step's median response length",
        (_LENGTHS, ("steps.response_tokens_mean",)),
    ),
    _drift("p99", "tokens per step", "the step's 99th percentile of response length", (_LENGTHS,)),
    _drift(
        "truncated",
        "fraction per step",
        "the step's truncated share",
        (("rollouts.finish_reason",), ("steps.truncated_share",)),
    ),
)
