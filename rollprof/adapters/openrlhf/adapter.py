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
from rollprof.adapters.openrlhf import dumps
from rollprof.adapters.sinks import Vocabulary
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile


class OpenRLHFAdapter(FrameworkAdapter):
    """OpenRLHF: https://github.com/OpenRLHF/OpenRLHF"""

    name = "openrlhf"
    title = "OpenRLHF"

    @property
    def brings(self) -> Mapping[str, Brings]:
        from rollprof.adapters.openrlhf.brings import BRINGS

        return BRINGS

    def vocabulary(self) -> Vocabulary:
        from rollprof.adapters.openrlhf.tracked import VOCABULARY

        return VOCABULARY

    def claim_own(self, file: SniffedFile) -> Claim | None:
        from rollprof.adapters.openrlhf.detect import claim

        return claim(file)

    def row_mapper(self, context: MapperContext) -> RowMapper:
        return dumps.RowMapper(context)

    def read_console(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        from rollprof.adapters.openrlhf import console

        return console.read(file, claim, ledger)

    def read_own(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        return self.read_console(file, claim, ledger) if claim.role == "console" else []

    def interpret(self, evidence: Evidence) -> Interpretation:
        from rollprof.adapters.openrlhf.interpret import interpret

        return interpret(evidence)

    def arrange(
        self, files: Sequence[tuple[SniffedFile, Claim]], config: Mapping[str, Any], ledger: Ledger
    ) -> list[tuple[SniffedFile, Claim]]:
        """Leave out shards whose rows stand in the joined file as well."""
        del config
        return dumps.without_shards(files, ledger)


ADAPTER = OpenRLHFAdapter()
