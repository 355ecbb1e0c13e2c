"""Hard prompts and wasted groups: length against difficulty, dynamic sampling, staleness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.analyzers.results import Analysis
from rollprof.render.numbers import number, percent
from rollprof.render.report.layout import axis, layout, step_axis
from rollprof.render.report.model import Block, Cell, Plot, Section, Spec, Table
from rollprof.render.report.over_steps import curve, in_blocks, numbers
from rollprof.render.report.words import cell, figure_table, interval_text, series, step_numbers, value_text

DIFFICULTY = (
    "difficulty_length_spearman",
    "difficulty_length_spearman_untruncated",
    "difficulty_length_kendall",
    "difficulty_length_kendall_untruncated",
    "wrong_minus_correct_tokens",
    "icc_log_length",
    "probe_spearman",
    "epoch_spearman",
    "repeat_offender_share",
)
SAMPLING = (
    "zero_variance_share",
    "all_correct_share",
    "all_wrong_share",
    "useless_token_share",
    "dynamic_sampling_rounds",
    "dynamic_sampling_length_shift",
)
STALENESS = ("off_policy_token_share", "staleness_mean", "staleness_p95", "staleness_max", "resumed_share")
MOST_DATASETS = 30
_COLUMNS = (
    ("prompts", "prompts", "count"),
    ("rollouts", "rollouts", "count"),
    ("length_mean", "mean length", "count"),
    ("length_p95", "p95 length", "count"),
    ("truncated_share", "cut off", "fraction"),
    ("tail_share", "of the longest 5 %", "fraction"),
    ("wait_share", "of the straggler wait", "fraction"),
)
_KINDS = ("kept", "all right", "all wrong", "dropped")


def difficulty(analysis: Analysis) -> Section | None:
    """Buckets of pass rate, data sources, correlations; None where no prompt has a reward."""
    buckets = [row for row in analysis.difficulty if row.get("bucket") is not None]
    datasets = [row for row in analysis.difficulty if row.get("dataset") is not None]
    found: list[Block] = []
    if buckets:
        found.append(_bucket_plot(analysis, buckets))
        found.append(_rows(buckets, "bucket", "By difficulty of the prompt"))
    if datasets:
        table = _rows(datasets[:MOST_DATASETS], "dataset", "By data source")
        left = len(datasets) - MOST_DATASETS
        found.append(table if left <= 0 else _with_more(table, f"{left:,} more are in the JSON."))
    table_of_figures = figure_table(analysis, DIFFICULTY, "Do hard prompts get the long answers?")
    if table_of_figures is not None:
        found.append(table_of_figures)
    if not found:
        return None
    question = (
        "If the stragglers are the hard prompts, they can be told beforehand, and placed or batched apart."
    )
    return Section("difficulty", "Length against difficulty", question, tuple(found))


def _with_more(table: Table, more: str) -> Table:
    return Table(table.head, table.rows, table.caption, more, table.folded)


def _name(row: Mapping[str, Any], key: str) -> str:
    return str(row[key]).replace("_", " ") if key == "bucket" else str(row[key])


def _rows(rows: Sequence[Mapping[str, Any]], key: str, caption: str) -> Table:
    present = [c for c in _COLUMNS if any(_number(row.get(c[0])) is not None for row in rows)]
    head = ("pass rate" if key == "bucket" else "data source", *(title for _, title, _ in present))
    body = tuple(
        (Cell(_name(row, key)), *(cell(_number(row.get(k)), unit) for k, _, unit in present)) for row in rows
    )
    return Table(head, body, caption)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return float(value)


def _bucket_plot(analysis: Analysis, buckets: Sequence[Mapping[str, Any]]) -> Plot:
    rho = analysis.figures.get("difficulty_length_spearman")
    bare = analysis.figures.get("difficulty_length_spearman_untruncated")
    text = "Hardest prompts first. "
    if rho is not None and rho.value is not None:
        ends = interval_text(rho)
        text += f"Rank correlation of difficulty with length {value_text(rho, 'correlation')}"
        text += f" (95 % interval {ends})" if ends else ""
        if bare is not None and bare.value is not None:
            text += f"; without truncated rollouts {value_text(bare, 'correlation')}"
        text += "."
    unit = str(buckets[0].get("unit") or analysis.lengths.unit)
    return Plot("difficulty", "Hard prompts and long answers", {"": bucket_spec(buckets, unit)}, text)


def bucket_spec(buckets: Sequence[Mapping[str, Any]], unit: str) -> Spec:
    """Left: mean and p95 of the lengths. Right: share of the longest responses and of the waiting."""
    names = [_name(row, "bucket") for row in buckets]

    def bars(key: str, name: str, color: str, template: str, axes: Mapping[str, str]) -> dict[str, Any]:
        return {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": names,
            "x": [_number(row.get(key)) for row in buckets],
            "marker": {"color": color},
            "hovertemplate": template,
            **axes,
        }

    right = {"xaxis": "x2", "yaxis": "y2"}
    data = [
        bars("length_mean", "mean length", "@work", "%{x:,.0f}", {}),
        bars("length_p95", "p95 length", "@n4", "%{x:,.0f}", {}),
        bars("tail_share", "of the longest 5 %", "@accent-soft", "%{x:.0%}", right),
        bars("wait_share", "of the straggler wait", "@accent-mid", "%{x:.0%}", right),
    ]
    data = [trace for trace in data if any(v is not None for v in trace["x"])]
    upside_down = {"autorange": "reversed", "showgrid": False}
    return {
        "data": data,
        "layout": layout(
            330,
            hovermode="y unified",
            showlegend=True,
            barmode="group",
            bargap=0.3,
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
            xaxis=axis(f"length ({unit})", domain=[0, 0.52]),
            yaxis=axis("", **upside_down),
            xaxis2=axis("share", domain=[0.6, 1], tickformat=".0%", anchor="y2"),
            yaxis2=axis("", matches="y", showticklabels=False, anchor="x2", **upside_down),
        ),
    }


def sampling(analysis: Analysis) -> Section | None:
    """Groups that teach nothing, and what they cost; None where no group has rewards."""
    found: list[Block] = []
    plot = _sampling_plot(analysis)
    if plot is not None:
        found.append(plot)
    table = _kinds(analysis.sampling)
    if table is not None:
        found.append(table)
    figures = figure_table(analysis, SAMPLING, "Groups without a signal, over the run")
    if figures is not None:
        found.append(figures)
    if not found:
        return None
    question = (
        "A group whose rewards are all equal has no advantage and teaches nothing; dynamic sampling (DAPO) "
        "drops it. Its tokens were generated all the same."
    )
    return Section("sampling", "Dynamic sampling", question, tuple(found))


def _sampling_plot(analysis: Analysis) -> Plot | None:
    steps = step_numbers(analysis)
    wanted = (
        ("all_correct_share", "all right", "@n3"),
        ("all_wrong_share", "all wrong", "@accent-mid"),
        ("zero_variance_share", "no signal, together", "@work"),
        ("useless_token_share", "their share of the tokens", "@muted"),
    )
    known = [(n, label, color, series(analysis, n)) for n, label, color in wanted]
    known = [k for k in known if any(v is not None for v in k[3])]
    if len(steps) < 2 or not known:
        return None
    data = [
        t for _, label, color, v in known for t in curve(label, steps, v, color, hovertemplate="%{y:.0%}")
    ]
    whole, tokens = (analysis.figures.get(n) for n in ("zero_variance_share", "useless_token_share"))
    text = ""
    if whole is not None and whole.value is not None:
        text = f"{percent(whole.value, 0)} of the groups carry no signal"
        if tokens is not None and tokens.value is not None:
            text += f"; they hold {percent(tokens.value, 0)} of the generated tokens"
        text += ". "
    table = numbers(
        steps, {label: (v, "fraction") for _, label, _, v in known}, "Groups without a signal by step"
    )
    spec = {
        "data": data,
        "layout": layout(
            280,
            showlegend=True,
            xaxis=step_axis(steps),
            yaxis=axis("share of groups", tickformat=".0%", rangemode="tozero"),
        ),
    }
    return Plot("sampling", "Groups without a signal", {"": spec}, text + in_blocks(steps), table)


def _kinds(table: Mapping[str, Any] | None) -> Table | None:
    groups = dict((table or {}).get("groups") or {})
    unit = str((table or {}).get("unit") or "tokens")
    rows = []
    for kind in (*_KINDS, *sorted(groups.keys() - set(_KINDS))):
        row = groups.get(kind)
        if row is None:
            continue
        keys = ("groups", "rollouts", unit, "length_mean", "length_p50", "length_p90", "length_p99")
        rows.append((Cell(str(kind)), *(cell(_number(row.get(k)), "count") for k in keys)))
    if not rows:
        return None
    head = ("groups that were", "groups", "rollouts", unit, "mean length", "median", "p90", "p99")
    return Table(head, tuple(rows), "What is kept and what is dropped")


def staleness(analysis: Analysis) -> Section | None:
    """How old the weights were that produced the trained tokens; None where no version is logged."""
    shares = dict((analysis.staleness or {}).get("token_share") or {})
    figures = figure_table(analysis, STALENESS, "Staleness over the run")
    if not shares or figures is None:
        return None
    ages = sorted(shares, key=int)
    data = [
        {
            "type": "bar",
            "name": "tokens",
            "x": [int(a) for a in ages],
            "y": [float(shares[a]) for a in ages],
            "marker": {"color": ["@work" if a == "0" else "@accent-mid" for a in ages]},
            "hovertemplate": "%{y:.1%} of tokens<extra></extra>",
        }
    ]
    spec = {
        "data": data,
        "layout": layout(
            280,
            xaxis=axis("policy versions between writing and training a token", dtick=max(1, len(ages) // 20)),
            yaxis=axis("share of tokens", tickformat=".0%", rangemode="tozero"),
        ),
    }
    rows = tuple((Cell(number(int(a)), "number"), cell(float(shares[a]), "fraction")) for a in ages)
    table = Table(("versions old", "share of tokens"), rows, "Tokens by age", "", folded=True)
    fresh = percent(float(shares.get("0", 0.0)), 0)
    text = f"{fresh} of the tokens were trained by the weights that wrote them."
    plot = Plot("staleness", "Age of the trained tokens", {"": spec}, text, table)
    question = "Carrying rollouts over fills empty slots and makes them older. This is how old."
    return Section("staleness", "Staleness", question, (plot, figures))
