"""Small made-up parts for the assembly tests."""

from __future__ import annotations

from collections.abc import Mapping

from rollprof.adapters.base import Claim, MetricPart, Role
from rollprof.assemble.inputs import Input
from rollprof.assemble.series import Series
from rollprof.sources.records import MetricRecord, SniffedFile


def file(name: str) -> SniffedFile:
    return SniffedFile(path=f"/runs/{name}", name=name, size=100, kind="text")


def part(
    name: str,
    steps: Mapping[int, Mapping[str, float]],
    *,
    role: Role = "console",
    run_id: str | None = None,
    label: str = "",
) -> MetricPart:
    """A metric part with the given values."""
    return MetricPart(
        file=file(name),
        claim=Claim("verl", role, 1.0, "made up"),
        metrics=[
            MetricRecord(step, key, value, None, 0)
            for step, values in steps.items()
            for key, value in values.items()
        ],
        run_id=run_id,
        label=label,
    )


def series(name: str, split: str = "train") -> Series:
    """A dump with one file per step, three steps."""
    claim = Claim("verl", "rollouts", 1.0, "made up", split=split, series=name)  # type: ignore[arg-type]
    inputs = tuple(Input(file(f"{name}/{n}.jsonl"), claim) for n in (1, 2, 3))
    return Series(name, "verl", split, inputs)  # type: ignore[arg-type]
