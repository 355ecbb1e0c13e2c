"""What the adapters of frameworks have in common: a tracker's file or a file of settings goes through the
crossing in `sinks`, everything else to the framework's own readers; `--map` stands over its row mapper."""

from __future__ import annotations

from typing import Protocol

from rollprof.adapters.base import Claim, MapperContext, MetricPart, RowMapper
from rollprof.adapters.sinks import (
    SETTINGS,
    Vocabulary,
    claim_settings,
    claim_sink,
    read_settings_alone,
    read_tracked,
)
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile
from rollprof.sources.sinks import sink_of


class FrameworkAdapter(Protocol):
    """The part of an `Adapter` that is the same for every framework.

    A framework says which `vocabulary` its scalars have in a tracker, how it claims, maps and reads its own
    files, and how it reads a console. Whatever is heavy is imported in these, so that workers, which only
    map rows, load nothing else.
    """

    def vocabulary(self) -> Vocabulary: ...

    def claim_own(self, file: SniffedFile) -> Claim | None: ...

    def row_mapper(self, context: MapperContext) -> RowMapper: ...

    def read_console(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]: ...

    def read_own(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]: ...

    def claim(self, file: SniffedFile) -> Claim | None:
        """What the file is, in a tracker's container or as the framework writes it."""
        if sink_of(file) is not None:
            return claim_sink(file, self.vocabulary())
        return self.claim_own(file) or claim_settings(file, self.vocabulary())

    def mapper(self, context: MapperContext) -> RowMapper:
        """The framework's row mapper; the user's columns come before its own."""
        mapper = self.row_mapper(context)
        if not context.columns:
            return mapper
        from rollprof.adapters.mapping import Mapped

        return Mapped(mapper, context.columns)

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        """The runs in a file, oldest first."""
        if SETTINGS in claim.hints:
            return read_settings_alone(file, claim, ledger, self.vocabulary())
        if sink_of(file) is not None and claim.role == "metrics":
            return read_tracked(file, claim, ledger, self.vocabulary(), self.read_console)
        return self.read_own(file, claim, ledger)
