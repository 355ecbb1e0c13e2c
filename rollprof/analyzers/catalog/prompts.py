"""Figures that need prompts, groups and rewards: difficulty, dynamic sampling, repeat offenders."""

from __future__ import annotations

from rollprof.analyzers.figure_spec import FigureSpec
from rollprof.analyzers.results import Basis

_GROUPS = ("rollouts.prompt_id", "rollouts.reward", "rollouts.response_tokens")
_RULES: tuple[tuple[Basis, str], ...] = (
    ("measured", "each rollout's prompt, reward and length"),
    ("modelled", "lengths scaled from characters"),
)
_CLUSTER = "cluster bootstrap over prompts, 95 % interval"


def _correlation(kind: str, symbol: str, untruncated: bool) -> FigureSpec:
    tail = "_untruncated" if untruncated else ""
    without = ", truncated rollouts left out" if untruncated else ""
    return FigureSpec(
        f"difficulty_length_{kind}{tail}",
        "correlation",
        f"{symbol} between difficulty (1 - pass rate) and mean log response tokens, one point per "
        f"prompt{without}",
        _CLUSTER,
        (_GROUPS,),
        False,
        f"Whether hard prompts get the long answers, by {symbol}{without}. Averaged per prompt first, "
        "because several steps of the same prompt are not independent. "
        + (
            "Truncated answers are wrong by construction and would make a correlation out of the cap alone."
            if untruncated
            else "A cap alone creates a correlation of .11/.28/.45 at 5/15/30 % truncated: read it beside "
            "the "
            "figure without truncated rollouts."
        ),
        "Spearman (1904), Kendall tau-b (1938)",
        _RULES,
    )


def _share(name: str, formula: str, doc: str, source: str = "DAPO (2503.14476)") -> FigureSpec:
    return FigureSpec(
        name,
        "fraction",
        formula,
        "pooled over groups",
        (("rollouts.group_id", "rollouts.reward"),),
        True,
        doc,
        source,
        _RULES,
    )


PROMPT_FIGURES: tuple[FigureSpec, ...] = (
    _correlation("spearman", "Spearman's rho", False),
    _correlation("kendall", "Kendall's tau-b", False),
    _correlation("spearman", "Spearman's rho", True),
    _correlation("kendall", "Kendall's tau-b", True),
    FigureSpec(
        "wrong_minus_correct_tokens",
        "tokens",
        "mean over groups with both of (mean length of wrong - mean length of correct rollouts)",
        "mixed groups only",
        (_GROUPS,),
        False,
        "How much longer wrong answers are than right ones to the same prompt.",
        "DeepScaleR",
        _RULES,
    ),
    FigureSpec(
        "icc_log_length",
        "ratio",
        "ICC(1) of log length: (MSB - MSW) / (MSB + (n0 - 1) * MSW), centred by step",
        _CLUSTER,
        (("rollouts.group_id", "rollouts.response_tokens"),),
        False,
        "Share of the length variance that lies between prompts. High: remedies that know the prompt "
        "(placement "
        "by length, tail batching) can work. Low: only remedies at the level of the response (partial "
        "rollouts, "
        "speculative decoding). Truncated rollouts are kept at the cap.",
        "one-way random effects ICC: Shrout and Fleiss (1979)",
        _RULES,
    ),
    FigureSpec(
        "probe_spearman",
        "correlation",
        "Spearman's rho between one rollout's length and the mean of its siblings",
        "pooled over groups",
        (("rollouts.group_id", "rollouts.response_tokens"),),
        False,
        "How well one probe per group tells the length of the others.",
        "probe request: Seer (2511.14617)",
        _RULES,
    ),
    FigureSpec(
        "epoch_spearman",
        "correlation",
        "Spearman's rho between a prompt's mean length and its mean length the epoch before",
        "pooled over prompts seen again",
        (("rollouts.prompt_id", "rollouts.response_tokens"),),
        False,
        "How well a prompt's own history tells its length.",
        "HistoPipe: RhymeRL (2508.18588)",
        _RULES,
    ),
    _share(
        "zero_variance_share",
        "share of groups whose rewards are all equal",
        "Groups that carry no gradient under group-normalised advantages; dynamic sampling drops them.",
    ),
    _share(
        "all_correct_share", "share of groups with every rollout correct", "Prompts that are too easy now."
    ),
    _share("all_wrong_share", "share of groups with every rollout wrong", "Prompts that are too hard now."),
    _share(
        "useless_token_share",
        "response tokens in zero-variance groups / all response tokens",
        "Generated for nothing, as far as the gradient is concerned.",
    ),
    FigureSpec(
        "dynamic_sampling_rounds",
        "rounds",
        "1/q, q the share of groups kept; or gen_batches as logged",
        "pooled over groups",
        (("steps.gen_batches",), ("rollouts.group_id", "rollouts.reward")),
        True,
        "Generation rounds that dynamic sampling needs for a full batch.",
        "DAPO (2503.14476)",
        (("logged", "rounds as logged"), ("modelled", "1/q from the groups' rewards")),
    ),
    FigureSpec(
        "dynamic_sampling_length_shift",
        "KS distance",
        "Kolmogorov-Smirnov distance between the lengths of kept and dropped groups",
        "pooled over groups",
        (_GROUPS,),
        True,
        "How far dynamic sampling moves the length distribution of what is trained on.",
        "DAPO (2503.14476)",
        _RULES,
    ),
    FigureSpec(
        "repeat_offender_share",
        "fraction",
        "share of the slowest 5 % of rollouts that belong to 5 % of the prompts (those with most of them)",
        "pooled",
        (("rollouts.prompt_id", "rollouts.response_tokens"),),
        False,
        "Whether the same prompts make the tail every time.",
        "",
        _RULES,
    ),
)
