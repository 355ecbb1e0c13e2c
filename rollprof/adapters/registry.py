"""The adapters that are installed: listed without importing them, loaded by name, asked to claim a file.

Built-in adapters come through the entry point group like anybody else's; a checkout without package
metadata falls back on a table of them. A third-party adapter that cannot be imported, or that fails
while it looks at a file, is named once and left out.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Protocol, runtime_checkable

from rollprof.adapters.base import Adapter, Claim
from rollprof.errors import UsageProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

GROUP = "rollprof.adapters"

OWN = "rollprof.adapters."

BUILT_IN: dict[str, str] = {
    "generic": f"{OWN}generic:ADAPTER",
    "nvidia_smi": f"{OWN}telemetry.nvidia_smi:ADAPTER",
    "openrlhf": f"{OWN}openrlhf:ADAPTER",
    "prometheus": f"{OWN}telemetry.prometheus:ADAPTER",
    "sglang": f"{OWN}engines.sglang:ADAPTER",
    "trl": f"{OWN}trl:ADAPTER",
    "verl": f"{OWN}verl:ADAPTER",
    "vllm": f"{OWN}engines.vllm:ADAPTER",
}
"""Adapters of this package, for a checkout whose metadata does not list them."""


@runtime_checkable
class ClaimsMapped(Protocol):
    """An adapter that can read a file of any keys once `--map` names them."""

    def claim_mapped(self, file: SniffedFile, columns: Mapping[str, str]) -> Claim | None: ...


class BrokenAdapterWarning(UserWarning):
    """An adapter of another package could not be used."""


def names() -> list[str]:
    """Names of all installed adapters, sorted. Imports none of them."""
    return sorted(_targets())


def load(name: str) -> Adapter:
    """The adapter called `name`.

    Raises UsageProblem when no adapter has that name, or when the package that brings it is broken.
    """
    # Workers load a built-in adapter by name: they need not read the metadata of all packages for it.
    target = BUILT_IN.get(name) or _targets().get(name)
    if target is None:
        from difflib import get_close_matches

        near = get_close_matches(name.lower(), names(), 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise UsageProblem(f"no adapter {name!r}", hint=f"{meant}installed: {', '.join(names())}")
    try:
        return _import(target)
    except Exception as problem:
        if target.startswith(OWN):
            raise
        raise UsageProblem(
            f"adapter {name!r} ({target}) cannot be used: {type(problem).__name__}: {problem}",
            hint="update or remove the package that brings it",
        ) from problem


def claims(
    file: SniffedFile,
    only: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    ledger: Ledger | None = None,
) -> list[Claim]:
    """What the adapters say this file is, best first.

    `only` asks a single adapter (`--from`); `columns` is `--map`, which lets a generic reader claim a
    file whose keys it does not know by name. A broken adapter of another package is noted in `ledger`,
    or warned about without one.
    """
    found: list[Claim] = []
    for name in [only] if only is not None else names():
        try:
            adapter = load(name)
            claim = adapter.claim(file)
            if claim is None and columns and isinstance(adapter, ClaimsMapped):
                claim = adapter.claim_mapped(file, columns)
        except Exception as problem:
            if only is not None or _targets()[name].startswith(OWN):
                raise
            _report(name, problem, file, ledger)
            continue
        if claim is not None:
            found.append(claim)
    return sorted(found, key=lambda c: (-c.score, c.adapter == "generic", c.adapter))


def _report(name: str, problem: Exception, file: SniffedFile, ledger: Ledger | None) -> None:
    text = f"adapter {name!r} left out: {type(problem).__name__}: {problem}"
    if ledger is not None:
        ledger.note(file.name, 0, text)
    else:
        warnings.warn(text, BrokenAdapterWarning, stacklevel=3)


@cache
def _targets() -> dict[str, str]:
    """Adapter name -> `module:attribute`. A built-in name cannot be taken over by another package."""
    found = _entry_points()
    own = {name: target for name, target in found if target.startswith(OWN)}
    return {**dict(found), **BUILT_IN, **own}


def _entry_points() -> list[tuple[str, str]]:
    """(name, target) of the group, from the metadata of all installed packages."""
    from importlib.metadata import entry_points

    return [(point.name, point.value) for point in entry_points(group=GROUP)]


@cache
def _import(target: str) -> Adapter:
    module, _, attribute = target.partition(":")
    adapter = getattr(importlib.import_module(module), attribute or "ADAPTER")
    if not isinstance(adapter, Adapter):
        raise TypeError("it is not an adapter (see rollprof.adapters.base.Adapter)")
    return adapter


__all__ = ["BrokenAdapterWarning", "claims", "load", "names"]
