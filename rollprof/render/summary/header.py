"""What was read: framework, size, and what the ledger says about the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.analyzers.results import Analysis, RunInfo
from rollprof.render.numbers import number, plural
from rollprof.render.summary.page import Page, joined
from rollprof.render.text import clean

_TITLES = {
    "verl": "verl",
    "openrlhf": "OpenRLHF",
    "trl": "TRL",
    "generic": "generic log",
    "vllm": "vLLM",
    "sglang": "SGLang",
}
_KINDS = ("skipped", "repaired", "note")


def header(page: Page, analysis: Analysis) -> None:
    """Two lines, and a third where the input was not whole."""
    run = analysis.run
    page.row((_framework(run), "bold"), _basis(analysis), ("  " + _sources(run.sources), "dim"))
    page.add(_size(run, inferred=analysis.samples is not None and analysis.samples.inferred), hang=2)
    ledger_line(page, analysis.ledger)


def _framework(run: RunInfo) -> str:
    title = _TITLES.get(run.framework, run.framework)
    version = f" {run.framework_version}" if run.framework_version else ""
    if not run.trainer:
        return f"{title}{version}"
    word = "" if run.trainer.lower().endswith("trainer") else " trainer"
    return f"{title}{version}, {run.trainer}{word}"


def _sources(sources: Sequence[Mapping[str, Any]]) -> str:
    names = [str(s.get("name") or s.get("path") or "") for s in sources]
    names = [name for name in names if name]
    if not names:
        return ""
    others = f" and {plural(len(names) - 1, 'more file')}" if len(names) > 1 else ""
    return clean(names[0], 48) + others


def _basis(analysis: Analysis) -> str:
    headline, lengths = analysis.figures.get(analysis.headline), analysis.lengths.token_basis
    idle = headline.basis if headline is not None else None
    return "".join((f" · lengths {lengths}" if lengths else "", f" · idle {idle}" if idle else ""))


def _size(run: RunInfo, *, inferred: bool) -> str:
    return joined(
        (
            plural(run.steps, "inferred generation" if inferred else "step"),
            plural(run.rollouts, "rollout") if run.rollouts else "no single rollouts",
            plural(run.prompts, "prompt") if run.prompts else "",
            plural(run.gpus, "GPU") if run.gpus else "",
            plural(run.engines, "engine") if run.engines else "",
            f"cap {number(run.response_cap)}" if run.response_cap else "",
        )
    )


def ledger_line(page: Page, ledger: Mapping[str, Any]) -> None:
    """Nothing when every line was read as it stood; else the counts and the first place."""
    words = ledger_words(ledger)
    if words:
        page.row((words, "yellow" if ledger.get("skipped") else "dim"))


def ledger_words(ledger: Mapping[str, Any]) -> str:
    """`5,120 lines, 12 repaired, 3 skipped (run.jsonl at byte 18,231: half a line)`; empty when clean."""
    repaired, skipped, dropped, notes = (
        int(ledger.get(name, 0)) for name in ("repaired", "skipped", "dropped", "notes")
    )
    if not (repaired or skipped or dropped or notes):
        return ""
    counts = joined(
        (
            plural(int(ledger.get("read", 0)) + repaired + skipped, "line"),
            f"{number(repaired)} repaired" if repaired else "",
            f"{number(skipped)} skipped" if skipped else "",
            f"{plural(dropped, 'row')} left out on purpose" if dropped else "",
            plural(notes, "remark") if notes else "",
        ),
        ", ",
    )
    problems = sorted(ledger.get("problems", ()), key=lambda p: _rank(str(p.get("kind"))))
    return counts + (f" ({place(problems[0], name=24)})" if problems else "")


def _rank(kind: str) -> int:
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def place(problem: Mapping[str, Any], limit: int = 70, name: int = 200) -> str:
    """`run.jsonl at byte 18,231: half a line`; a file's name keeps its last `name` characters."""
    offset = problem.get("offset")
    file = clean(str(problem.get("file", "")))
    file = file if len(file) <= name else "…" + file[1 - name :]
    where = f" at byte {number(offset)}" if isinstance(offset, int) and offset >= 0 else ""
    return f"{file}{where}: {clean(str(problem.get('reason', '')), limit)}"
