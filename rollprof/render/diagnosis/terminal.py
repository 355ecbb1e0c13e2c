"""What `doctor` prints."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rollprof.analyzers.results import BASES
from rollprof.doctor.results import Available, Diagnosis, Remedy, Run
from rollprof.render.diagnosis.files import LINES, FileLine, together
from rollprof.render.numbers import between, plural, quantity
from rollprof.render.summary.header import ledger_line, place
from rollprof.render.summary.page import Page, Span, joined

MIN_WIDTH, MAX_WIDTH = 60, 160
FEW = 6
PROBLEMS = 8


def render(
    diagnosis: Diagnosis, *, width: int, color: bool = False, unicode: bool = True, full: bool = False
) -> str:
    """The diagnosis as text, lines at most `width` cells wide (60 to 160).

    `full` lists everything, else long lists end with a count. The text has no escape sequence without
    `color`, and is ASCII without `unicode`.
    """
    page = Page(min(max(width, MIN_WIDTH), MAX_WIDTH))
    _head(page, diagnosis)
    _files(page, diagnosis, full)
    _runs(page, diagnosis, full)
    _facts(page, diagnosis)
    _figures(page, diagnosis)
    _remedies(page, diagnosis, full)
    _traps(page, diagnosis)
    _snippet(page, diagnosis)
    _ledger(page, diagnosis, full)
    return page.text(color=color, unicode=unicode)


def _head(page: Page, d: Diagnosis) -> None:
    named = [f"{d.title} {d.version}" if d.version else d.title]
    named += [f"trainer {d.trainer}"] if d.trainer else []
    named += [f"run {d.run}"] if d.run is not None else []
    page.add((joined(named), "bold"))
    if d.problem:
        page.add(("!! ", "bold red"), d.problem, hang=3)


def _files(page: Page, d: Diagnosis, full: bool) -> None:
    if d.sources:
        page.heading("Files", (f"  {plural(len(d.sources), 'file')} recognised", "dim"))
    lines = together(d.sources)
    shown = lines if full else lines[:LINES]
    for line in shown:
        _file(page, line, full)
    if len(lines) > len(shown):
        page.add(
            (f"and {plural(len(lines) - len(shown), 'more file')}: --verbose lists them", "dim"), indent=2
        )
    if d.strangers:
        page.heading("Not recognised, not read")
    for stranger in d.strangers if full else d.strangers[:FEW]:
        keys = f" (keys: {', '.join(stranger.keys)})" if stranger.keys else ""
        page.add(stranger.path, (f": {stranger.why}{keys}", "dim"), indent=2, hang=4)
    if not full and len(d.strangers) > FEW:
        page.add((f"and {plural(len(d.strangers) - FEW, 'more file')}", "dim"), indent=2)


def _file(page: Page, line: FileLine, full: bool) -> None:
    page.add((line.name, "cyan"), f"  {line.what}", indent=2, hang=4)
    page.add((line.why, "dim"), indent=4)
    for title, names in (("columns", line.source.columns), ("facts", line.source.facts)):
        if names:
            page.add((f"{title}: {_some(names, full)}", "dim"), indent=4, hang=6)


def _some(names: Sequence[str], full: bool, limit: int = FEW) -> str:
    shown = names if full or len(names) <= limit + 1 else names[:limit]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _runs(page: Page, d: Diagnosis, full: bool) -> None:
    if not d.runs:
        return
    count = f"  {plural(len(d.runs), 'run')}: --run NAME chooses" if len(d.runs) > 1 else ""
    page.heading("How the files join", (count, "dim"))
    for run in d.runs if full else d.runs[: 2 * FEW]:
        _run(page, run, full)
    if not full and len(d.runs) > 2 * FEW:
        page.add((f"and {plural(len(d.runs) - 2 * FEW, 'more run')}", "dim"), indent=2)


def _run(page: Page, run: Run, full: bool) -> None:
    steps = plural(run.steps, "step") if run.steps else "no metrics"
    marks = joined((steps, plural(run.files, "file"), "an earlier run" if run.older else ""))
    chosen: tuple[Span, ...] = (("  ← diagnosed", "cyan"),) if run.chosen else ()
    page.add((run.name, "bold"), f"  {marks}", *chosen, indent=2, hang=4)
    for join in run.joins if full else run.joins[:FEW]:
        page.add(join.path, (f": {join.why}", "dim"), indent=4, hang=6)
    if not full and len(run.joins) > FEW:
        page.add((f"and {plural(len(run.joins) - FEW, 'more part')}", "dim"), indent=4)


def _facts(page: Page, d: Diagnosis) -> None:
    if not d.facts:
        return
    page.heading("What is known of the job")
    for fact in d.facts:
        page.add(
            (fact.name, "bold"), f" = {fact.value}", (f"  {fact.origin}: {fact.how}", "dim"), indent=2, hang=6
        )


def _figures(page: Page, d: Diagnosis) -> None:
    if not d.figures:
        return
    page.heading("Figures that this log gives", (f"  {len(d.figures)}, by how well they are known", "dim"))
    ordered = sorted(d.figures, key=lambda f: _rank(f.basis))
    for basis, figures in groupby(ordered, key=lambda f: f.basis):
        words = ", ".join(_value(f) for f in figures)
        page.add((f"{page.basis(basis) if basis else 'known'}: ", "bold"), words, indent=2, hang=4)


def _rank(basis: str | None) -> int:
    return BASES.index(basis) if basis in BASES else len(BASES)


def _value(figure: Available) -> str:
    if figure.value is not None:
        bound = {"upper": "≤ ", "lower": "≥ "}.get(figure.bound or "", "")
        return f"{figure.figure} {bound}{quantity(figure.value, figure.unit)}"
    if figure.interval is not None:
        return f"{figure.figure} {between(*figure.interval, figure.unit)}"
    return figure.figure


def _remedies(page: Page, d: Diagnosis, full: bool) -> None:
    options = [r for r in d.remedies if not r.none]
    if options:
        page.heading("What would bring more")
    for remedy in options:
        _remedy(page, remedy, d, full)
    beyond = [r for r in d.remedies if r.none]
    without = [m.figure for m in d.missing if not m.enable]
    if beyond or without:
        page.heading("What no option brings")
    for remedy in beyond:
        page.add(_some(remedy.brings, full), (f": {remedy.option}{_since(remedy)}", "dim"), indent=2, hang=4)
    why: dict[str, list[str]] = {}
    for item in d.missing:
        if not item.enable:
            why.setdefault(item.why, []).append(item.figure)
    for reason, names in why.items():
        page.add(_some(names, full), (f": {reason}", "dim"), indent=2, hang=4)


def _since(remedy: Remedy) -> str:
    return f" ({remedy.releases})" if remedy.releases else ""


def _remedy(page: Page, remedy: Remedy, d: Diagnosis, full: bool) -> None:
    page.add(("→ ", "cyan"), (remedy.option, "bold"), (_since(remedy), "dim"), indent=2, hang=4)
    if remedy.fits == "no":
        page.add((f"not in the release that wrote this log ({d.version})", "yellow"), indent=4)
    if remedy.brings:
        page.add("brings ", _some(remedy.brings, full, 2 * FEW), indent=4, hang=6)
    if remedy.improves:
        page.add("a better basis for ", _some(remedy.improves, full, 2 * FEW), indent=4, hang=6)


def _traps(page: Page, d: Diagnosis) -> None:
    if d.traps or d.notes:
        page.heading("Traps in this log")
    for trap in d.traps:
        mark = ("- ", "dim") if trap.handled else ("!! ", "bold red")
        told = " (read correctly all the same)" if trap.handled else ""
        page.add(mark, trap.text, (told, "dim"), indent=2, hang=5)
    for note in d.notes:
        page.add(("- ", "dim"), note, indent=2, hang=4)


def _snippet(page: Page, d: Diagnosis) -> None:
    if d.snippet is None:
        return
    page.heading("Code that brings the rollouts", (f"  {d.snippet.file}", "dim"))
    page.add(d.snippet.use, indent=2)
    for line in d.snippet.code.splitlines():
        page.code(line)


def _ledger(page: Page, d: Diagnosis, full: bool) -> None:
    page.heading("Ledger")
    problems = list(d.ledger.get("problems", ()))
    if any(d.ledger.get(kind) for kind in ("repaired", "skipped", "dropped", "notes")):
        ledger_line(page, d.ledger)
    else:
        page.add(f"{plural(int(d.ledger.get('read', 0)), 'line')} read as they stood")
    for problem in problems if full else problems[:PROBLEMS]:
        page.add((f"{problem.get('kind', '')} ", "dim"), place(problem, limit=200), indent=2, hang=4)
    if not full and len(problems) > PROBLEMS:
        page.add((f"and {len(problems) - PROBLEMS} more: --verbose lists them", "dim"), indent=2)
