"""nvidia-smi's logs as samples of GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from rollprof.adapters.base import (
    Brings,
    Claim,
    Evidence,
    Interpretation,
    MapperContext,
    MetricPart,
    RowMapper,
)
from rollprof.adapters.engines.collecting import LOCAL, SAMPLES
from rollprof.schema.ledger import Ledger
from rollprof.sources.nvidia_smi import DMON, form_of, read_nvidia_smi
from rollprof.sources.records import SniffedFile

NAME = "nvidia_smi"
TITLES = {"query": "nvidia-smi --query-gpu", DMON: "nvidia-smi dmon"}


class NvidiaSmiAdapter:
    """nvidia-smi, NVIDIA's command-line monitor"""

    name = NAME
    title = "logs of nvidia-smi"
    brings: Mapping[str, Brings] = {}

    def claim(self, file: SniffedFile) -> Claim | None:
        form = form_of(file)
        if form is None:
            return None
        return Claim(
            NAME, "metrics", 0.8, f"GPU samples of {TITLES[form]}", hints={SAMPLES: "1", "form": form}
        )

    def mapper(self, context: MapperContext) -> RowMapper:
        raise NotImplementedError(f"{context.name}: a log of nvidia-smi holds no rollouts")

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        part = MetricPart(file, claim, hints={**claim.hints, LOCAL: "1"}, precision="printed")
        part.gpus = list(read_nvidia_smi(file, claim.hints["form"], ledger))
        return [part]

    def interpret(self, evidence: Evidence) -> Interpretation:  # noqa: ARG002
        return Interpretation(steps=[], facts={})


ADAPTER = NvidiaSmiAdapter()
