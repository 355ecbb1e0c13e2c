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
from rollprof.adapters.sinks import (
    SETTINGS,
    claim_settings,
    claim_sink,
    read_settings_alone,
    read_tracked,
)
from rollprof.adapters.verl.dumps import DumpMapper
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sinks import sink_of


class VerlAdapter:
    """verl: https://github.com/verl-project/verl"""

    name = "verl"
    title = "verl"

    @property
    def brings(self) -> Mapping[str, Brings]:
        from rollprof.adapters.verl.brings import BRINGS

        return BRINGS

    def claim(self, file: SniffedFile) -> Claim | None:
        from rollprof.adapters.verl.detect import claim
        from rollprof.adapters.verl.tracked import VOCABULARY

        if sink_of(file) is not None:
            return claim_sink(file, VOCABULARY)
        return claim(file) or claim_settings(file, VOCABULARY)

    def mapper(self, context: MapperContext) -> RowMapper:
        mapper = DumpMapper(context)
        if not context.columns:
            return mapper
        from rollprof.adapters.mapping import Mapped

        return Mapped(mapper, context.columns)

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        if SETTINGS in claim.hints:
            from rollprof.adapters.verl.tracked import VOCABULARY

            return read_settings_alone(file, claim, ledger, VOCABULARY)
        if sink_of(file) is not None and claim.role == "metrics":
            from rollprof.adapters.verl import console
            from rollprof.adapters.verl.tracked import VOCABULARY

            return read_tracked(file, claim, ledger, VOCABULARY, console.read)
        if claim.role == "metrics":
            from rollprof.adapters.verl import filelogger

            return filelogger.read(file, claim, ledger)
        from rollprof.adapters.verl import console

        return console.read(file, claim, ledger)

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
