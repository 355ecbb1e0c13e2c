"""What the mapper of a dump must know from the run's configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rollprof.adapters.base import Claim
from rollprof.adapters.verl.dumps import extras_aligned, overlong_hint, steps_per_version
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

OVERWRITTEN = (
    "acc and pred stand beside score: the score may be the reward function's own, before penalties, and not "
    "what was trained on"
)


def arrange(
    files: Sequence[tuple[SniffedFile, Claim]], config: Mapping[str, Any], ledger: Ledger
) -> list[tuple[SniffedFile, Claim]]:
    """The same files; their claims carry the overlong penalty's parameters, and whether the reward extras
    stand in the rows they belong to."""
    hints: dict[str, str] = {}
    overlong = overlong_hint(config)
    if overlong is not None:
        hints["overlong"] = overlong
    per_version = steps_per_version(config)
    if per_version is not None and per_version > 1:
        hints["steps_per_version"] = str(per_version)
        if files:
            ledger.note(
                files[0][0].name, 0, f"{per_version} trainer steps of the dump make one model version"
            )
    if _is_dapo(config) and not extras_aligned(config):
        hints["extras_aligned"] = "no"
        if files:
            ledger.note(files[0][0].name, 0, "the DAPO recipe dumps reward extras out of order: not used")
    first = next((file for file, claim in files if claim.hints.get("score") == "overwritten"), None)
    if first is not None:
        ledger.note(first.name, 0, OVERWRITTEN)
    if not hints:
        return list(files)
    return [(file, replace(claim, hints={**claim.hints, **hints})) for file, claim in files]


def _is_dapo(config: Mapping[str, Any]) -> bool:
    """True for a configuration of the DAPO recipe: its filter is on, in the trainer that has one."""
    return bool(config.get("algorithm.filter_groups.enable")) and config.get("trainer.use_v1") is not True
