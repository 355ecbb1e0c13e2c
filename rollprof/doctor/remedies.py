"""From figures that a log lacks, or has on a weak basis only, to the options that would change that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rollprof.analyzers.catalog.idle import IDLE_FIGURES
from rollprof.analyzers.catalog.stragglers import STRAGGLER_FIGURES
from rollprof.analyzers.missing import SILENT, option_of, remedy_needs
from rollprof.analyzers.registry import REGISTRY
from rollprof.analyzers.results import Analysis, Figure
from rollprof.doctor.results import Remedy
from rollprof.doctor.versions import fits, spelled

NONE = "no option"
WEAK = ("modelled", "calibrated")
"""Bases that a log with more in it would improve on."""
CLOCKED = frozenset(f.name for f in (*IDLE_FIGURES, *STRAGGLER_FIGURES))
"""Figures that clocks know better than lengths do."""

Brings = Mapping[str, Any]


def remedies(analysis: Analysis, version: str | None) -> list[Remedy]:
    """Options by what they would bring, those of this release that bring most first."""
    brings, have = analysis.brings, analysis.have
    found: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for item in analysis.missing:
        for need in remedy_needs(item.figure, item.why, brings, have):
            found.setdefault(_entry(need, brings), ([], []))[0].append(item.figure)
    for name, figure in analysis.figures.items():
        for need in _better(name, figure, brings, have):
            found.setdefault(_entry(need, brings), ([], []))[1].append(name)
    return sorted(
        (_remedy(option, releases, *names, version) for (option, releases), names in found.items()),
        key=_order,
    )


def _remedy(
    option: str, releases: str, new: Sequence[str], better: Sequence[str], version: str | None
) -> Remedy:
    return Remedy(
        option=spelled(option, version),
        releases=releases,
        fits=fits(releases, version) if releases else "unknown",
        none=option.startswith(NONE),
        brings=tuple(dict.fromkeys(new)),
        improves=tuple(dict.fromkeys(better)),
    )


def _order(remedy: Remedy) -> tuple[bool, bool, int, int, str]:
    return (
        remedy.none,
        remedy.fits == "no",
        -len(remedy.brings),
        -len(remedy.improves),
        remedy.option,
    )


def _better(name: str, figure: Figure, brings: Brings, have: frozenset[str]) -> Iterable[str]:
    """What the best alternative of a figure needs and the log lacks, where all of that can be had."""
    spec = REGISTRY[name]
    if name not in CLOCKED or name in SILENT or figure.basis not in WEAK or not spec.needs:
        return ()
    lacking = [need for need in spec.needs[0] if need not in have]
    options = [option_of(need, brings) for need in lacking]
    real = all(o is not None and not o[0].startswith(NONE) for o in options)
    return lacking if real else ()


def _entry(need: str, brings: Brings) -> tuple[str, str]:
    return option_of(need, brings) or (need, "")
