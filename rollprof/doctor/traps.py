"""Numbers in a log that are not what they seem: those its reading met, and those its lines betray."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rollprof.analyzers.results import Finding
from rollprof.assemble.inputs import Input
from rollprof.doctor.results import Trap
from rollprof.sources.searching import search_text

_DEDUPLICATED = re.compile(
    rb"(?:Processed prompts|[Gg]eneration throughput|gen throughput|Decode batch|Engine \d+)"
    rb"[^\n]*\[repeated \d+x across cluster\]"
)
"""Statistics and bars of engines that Ray took for repetitions."""


def traps(meta: Mapping[str, Any], findings: Iterable[Finding], inputs: Iterable[Input]) -> list[Trap]:
    """Alarms of the adapters, contradictions that the analysis found, and lines that Ray left out."""
    found: dict[str, Trap] = {}
    for alarm in meta.get("alarms") or ():
        code = str(alarm.get("code") or "alarm")
        found[code] = Trap(
            code, str(alarm.get("text")), bool(alarm.get("handled")), dict(alarm.get("evidence") or {})
        )
    for finding in findings:
        if finding.severity == "alarm" and finding.code not in found:
            found[finding.code] = Trap(finding.code, finding.text, False, finding.evidence)
    for trap in _deduplicated(inputs):
        found.setdefault(trap.code, trap)
    return list(found.values())


def _deduplicated(inputs: Iterable[Input]) -> Iterator[Trap]:
    """Ray drops lines that differ in numbers only: of several engines' lines, one is left."""
    names = [i.file.name for i in inputs if i.claim.role == "console" and search_text(i.file, _DEDUPLICATED)]
    if names:
        yield Trap(
            "ray-deduplicated",
            f"Ray left out lines of engines that differ in numbers only ({', '.join(names[:3])}): of "
            "several engines one speaks for all; RAY_DEDUP_LOGS=0 where Ray is started keeps them",
            False,
            {"files": names},
        )
