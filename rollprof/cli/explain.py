"""`rollprof explain`: what a figure is, how it is computed, and what each basis of it means."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rollprof.cli.output import emit, screen

if TYPE_CHECKING:
    from rollprof.analyzers.figure_spec import FigureSpec
    from rollprof.render.summary.page import Page

EPILOG = """\b
Examples:
  rollprof explain slot_idle
  rollprof explain                         the list of all figures
"""


def _names(incomplete: str) -> list[str]:
    """For shell completion."""
    from rollprof.analyzers.registry import REGISTRY

    return [name for name in REGISTRY if name.startswith(incomplete)]


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="FIGURE", help="Name of a figure; without it, all are listed.", autocompletion=_names
    ),
]


def explain(figure: Name = None) -> None:
    """Explain a figure: formula, unit, basis rules, source."""
    from rollprof.analyzers.registry import REGISTRY, spec
    from rollprof.render.summary.page import Page

    size = screen(sys.stdout, os.environ)
    page = Page(min(max(size.width, 60), 120))
    if figure is None:
        for known in REGISTRY.values():
            _line(page, known)
    else:
        _whole(page, spec(figure))
    emit(page.text(color=size.color, unicode=size.unicode))


def _line(page: Page, spec: FigureSpec) -> None:
    first = spec.doc.split(". ")[0].rstrip(".")
    page.row((f"{spec.name:<30}", "bold"), (f" {spec.unit or '-':<8} ", "dim"), first)


def _whole(page: Page, spec: FigureSpec) -> None:
    page.add((spec.name, "bold"), (f"  {spec.unit}" if spec.unit else "", "dim"))
    page.add(spec.doc, indent=2)
    page.heading("Formula")
    page.add(spec.formula, indent=2, hang=4)
    page.heading("Over the run")
    page.add(spec.aggregation + ("; also per step" if spec.per_step else "; not per step"), indent=2)
    if spec.basis_rules:
        page.heading("Basis")
        for basis, rule in spec.basis_rules:
            page.add((f"{basis}: ", "bold"), rule, indent=2, hang=4)
    if spec.needs:
        page.heading("Needs", ("  one of these lines" if len(spec.needs) > 1 else "", "dim"))
        for group in spec.needs:
            page.add(", ".join(group), indent=2, hang=4)
    if spec.source:
        page.heading("Source")
        page.add(spec.source, indent=2, hang=4)
