"""The adapter: which reader gets which file. Readers are imported when they are needed, so that workers,
which only map rows, load nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollprof.adapters.base import (
    Brings,
    Claim,
    Evidence,
    Interpretation,
    MapperContext,
    MetricPart,
    RowMapper,
)
from rollprof.adapters.framework import FrameworkAdapter
from rollprof.adapters.sinks import Vocabulary
from rollprof.adapters.verl.dumps import DumpMapper
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile


class VerlAdapter(FrameworkAdapter):
    """verl: https://github.com/verl-project/verl"""

    name = "verl"
    title = "verl"

    @property
    def brings(self) -> Mapping[str, Brings]:
        from rollprof.adapters.verl.brings import BRINGS

        return BRINGS

    def vocabulary(self) -> Vocabulary:
        from rollprof.adapters.verl.tracked import VOCABULARY

        return VOCABULARY

    def claim_own(self, file: SniffedFile) -> Claim | None:
        from rollprof.adapters.verl.detect import claim

        return claim(file)

    def row_mapper(self, context: MapperContext) -> RowMapper:
        return DumpMapper(context)

    def read_console(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        from rollprof.adapters.verl import console

        return console.read(file, claim, ledger)

    def read_own(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        if claim.role != "metrics":
            return self.read_console(file, claim, ledger)
        from rollprof.adapters.verl import filelogger

        return filelogger.read(file, claim, ledger)

    def interpret(self, evidence: Evidence) -> Interpretation:
        from rollprof.adapters.verl.interpret import interpret

        return interpret(evidence)

    def arrange(
        self, files: Sequence[tuple[SniffedFile, Claim]], config: Mapping[str, Any], ledger: Ledger
    ) -> list[tuple[SniffedFile, Claim]]:
        """Give the mapper what the configuration knows, and say what the dump's scores are."""
        from rollprof.adapters.verl.arranging import arrange

        return arrange(files, config, ledger)


ADAPTER = VerlAdapter()
