"""A lower cap on the length of responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rollprof.errors import UsageProblem
from rollprof.whatif.policies.base import Parameter, Parameters, Policy, nothing
from rollprof.whatif.setting import Setting


def cap_of(setting: Setting, parameters: Parameters) -> int:
    """The cap in tokens: given, or a quantile of this run's lengths (`p99`)."""
    given = str(parameters.get("cap", "p99"))
    lengths = setting.workload.lengths
    if given.startswith("p"):
        try:
            share = float(given[1:]) / 100
        except ValueError:
            share = -1.0
        if not 0 < share <= 1:
            raise UsageProblem(f"truncate:cap={given}: not a percentile", hint="cap=p99, or tokens")
        return max(1, int(np.quantile(lengths, share, method="inverted_cdf")))
    try:
        cap = float(given)
    except ValueError:
        cap = 0.0
    if not 1 <= cap < 1e12:
        raise UsageProblem(f"truncate:cap={given}: not a cap", hint="cap=p99, or tokens")
    return int(cap)


def change(setting: Setting, parameters: Parameters) -> Setting:
    """Cut every response at the cap: what it would have said beyond is lost."""
    w = setting.workload
    cap = cap_of(setting, parameters)
    if cap > w.lengths.max() and w.truncated.any():
        raise UsageProblem(
            f"truncate:cap={cap}: responses were cut below it, and what they would have said is not known",
            hint=f"lower it to {int(w.lengths.max())} at most",
        )
    lost = int((w.lengths - np.minimum(w.lengths, cap)).sum())
    notes: tuple[str, ...] = (
        f"cap at {cap:,} tokens: {100 * float((w.lengths > cap).mean()):.1f} % of the responses are cut",
    )
    if w.right is not None and w.right.any():
        wrong = float((w.right & (w.lengths > cap)).sum() / w.right.sum())
        notes = (*notes, f"{100 * wrong:.1f} % of the correct answers would have been cut")
    return replace(
        setting,
        workload=w.cut(cap),
        reference=setting.reference or w,
        lost_tokens=setting.lost_tokens + lost,
        notes=setting.notes + notes,
    )


def scan(setting: Setting) -> Sequence[Parameters]:
    """The percentiles that lie below the longest response."""
    top = int(setting.workload.lengths.max())
    return [{"cap": p} for p in ("p99", "p95", "p90") if cap_of(setting, {"cap": p}) < top] or [
        {"cap": "p99"}
    ]


TRUNCATE = Policy(
    name="truncate",
    doc="cap every response at fewer tokens",
    parameters=(Parameter("cap", "p99", "tokens, or a percentile of this run's lengths (p99)"),),
    needs=nothing,
    scan=scan,
    change=change,
    off_policy=0.0,
    order=0,
)
