"""`--tz`: clocks that name no zone, put right."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from rollprof.adapters.base import MetricPart
from rollprof.adapters.engines.collecting import LOCAL
from rollprof.errors import UsageProblem

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?$")
_NAMED = re.compile(rb"^\d{4}-\d\d-\d\dT[\d:]{8}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) ", re.MULTILINE)


def zone_of(text: str) -> tzinfo:
    """`Europe/Paris`, `+02:00` or `UTC`. Raises UsageProblem for anything else."""
    from zoneinfo import ZoneInfo

    found = _OFFSET.match(text.strip())
    if found is not None and int(found[2]) <= 14 and int(found[3] or 0) < 60:
        minutes = 60 * int(found[2]) + int(found[3] or 0)
        return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes))
    try:
        return ZoneInfo(text.strip())
    except (ValueError, OSError, KeyError):
        raise UsageProblem(
            f"--tz {text}: no such time zone", hint="--tz Europe/Paris or --tz +02:00"
        ) from None


def with_zone(part: MetricPart, zone: tzinfo) -> MetricPart:
    """The part with its times moved, where its clock names no zone and so was read as UTC."""
    if not _is_local(part):
        return part

    moved = _mover(zone)
    return replace(
        part,
        metrics=[r if r.time is None else r._replace(time=moved(r.time)) for r in part.metrics],
        engines=[s._replace(time=moved(s.time)) for s in part.engines],
        gpus=[s._replace(time=moved(s.time)) for s in part.gpus],
        hints={k: v for k, v in part.hints.items() if k != LOCAL},
    )


def _is_local(part: MetricPart) -> bool:
    if part.hints.get(LOCAL):
        return True
    named = part.file.metadata.get("sink") or _NAMED.search(part.file.head)
    return part.claim.role == "console" and not part.hints.get("samples") and not named


def _mover(zone: tzinfo) -> Callable[[float], float]:
    def moved(time: float) -> float:
        wall = datetime.fromtimestamp(time, UTC).replace(tzinfo=zone)
        return wall.timestamp()

    return moved
