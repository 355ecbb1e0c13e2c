"""What changed in the configuration from run to run, as far as the logs tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rollprof.analyzers.results import RunInfo


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A fact or version with its value in each run, None where a run does not say."""

    name: str
    values: tuple[Any, ...]


def changed_settings(runs: Sequence[RunInfo]) -> tuple[SettingChange, ...]:
    """Facts, versions and frameworks that are not the same in all runs; by name, frameworks first."""
    tables = [_settings(run) for run in runs]
    names = dict.fromkeys(name for table in tables for name in table)
    rows = [SettingChange(name, tuple(table.get(name) for table in tables)) for name in names]
    return tuple(row for row in rows if any(value != row.values[0] for value in row.values))


def _settings(run: RunInfo) -> dict[str, Any]:
    found: dict[str, Any] = {
        "framework": run.framework,
        "framework version": run.framework_version,
        "trainer": run.trainer,
    }
    facts = {
        name: entry.get("value")
        for name, entry in sorted(run.facts.items())
        if isinstance(entry, dict) and not isinstance(entry.get("value"), dict | list)
    }
    for name, known in (("gpus", run.gpus), ("engines", run.engines), ("response_cap", run.response_cap)):
        if facts.get(name) is None:
            facts[name] = known
    # what a fact says already is not said twice
    versions = {
        f"{name} version": text
        for name, text in sorted(run.versions.items())
        if name != run.framework and name not in facts
    }
    return {**found, **facts, **versions}
