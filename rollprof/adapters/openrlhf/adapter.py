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
from rollprof.adapters.openrlhf import dumps
from rollprof.adapters.sinks import (
    SETTINGS,
    claim_settings,
    claim_sink,
    read_settings_alone,
    read_tracked,
)
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sinks import sink_of


class OpenRLHFAdapter:
    """OpenRLHF: https://github.com/OpenRLHF/OpenRLHF"""

    name = "openrlhf"
    title = "OpenRLHF"

    @property
    def brings(self) -> Mapping[str, Brings]:
        from rollprof.adapters.openrlhf.brings import BRINGS

        return BRINGS

    def claim(self, file: SniffedFile) -> Claim | None:
        from rollprof.adapters.openrlhf.detect import claim
        from rollprof.adapters.openrlhf.tracked import VOCABULARY

        if sink_of(file) is not None:
            return claim_sink(file, VOCABULARY)
        return claim(file) or claim_settings(file, VOCABULARY)

    def mapper(self, context: MapperContext) -> RowMapper:
        mapper = dumps.RowMapper(context)
        if not context.columns:
            return mapper
        from rollprof.adapters.mapping import Mapped

        return Mapped(mapper, context.columns)

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        if SETTINGS in claim.hints:
            from rollprof.adapters.openrlhf.tracked import VOCABULARY

            return read_settings_alone(file, claim, ledger, VOCABULARY)
        if sink_of(file) is not None and claim.role == "metrics":
            from rollprof.adapters.openrlhf import console
            from rollprof.adapters.openrlhf.tracked import VOCABULARY

            return read_tracked(file, claim, ledger, VOCABULARY, console.read)
        if claim.role != "console":
            return []
        from rollprof.adapters.openrlhf import console

        return console.read(file, claim, ledger)

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
