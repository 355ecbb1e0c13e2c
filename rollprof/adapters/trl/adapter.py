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
from rollprof.adapters.trl.completions import CompletionMapper
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile


class TrlAdapter(FrameworkAdapter):
    """TRL: https://github.com/huggingface/trl, and those that log as it does: Unsloth, open-r1, ms-swift."""

    name = "trl"
    title = "TRL"

    @property
    def brings(self) -> Mapping[str, Brings]:
        from rollprof.adapters.trl.brings import BRINGS

        return BRINGS

    def vocabulary(self) -> Vocabulary:
        from rollprof.adapters.trl.tracked import VOCABULARY

        return VOCABULARY

    def claim_own(self, file: SniffedFile) -> Claim | None:
        from rollprof.adapters.trl.detect import claim

        return claim(file)

    def row_mapper(self, context: MapperContext) -> RowMapper:
        return CompletionMapper(context)

    def read_console(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        from rollprof.adapters.trl.stdout import read_stdout

        return read_stdout(file, claim, ledger)

    def read_own(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        if claim.role == "console":
            return self.read_console(file, claim, ledger)
        if claim.role == "config":
            from rollprof.adapters.trl import training_args

            if file.kind == "binary":
                return training_args.read_training_args(file, claim, ledger)
            return training_args.read_model_card(file, claim, ledger)
        from rollprof.adapters.trl import trainer_state

        if "log_history" in (file.objects[0] if file.objects else {}):
            return trainer_state.read_trainer_state(file, claim, ledger)
        return trainer_state.read_logging_lines(file, claim, ledger)

    def interpret(self, evidence: Evidence) -> Interpretation:
        from rollprof.adapters.trl.interpret import interpret

        return interpret(evidence)

    def arrange(
        self, files: Sequence[tuple[SniffedFile, Claim]], config: Mapping[str, Any], ledger: Ledger
    ) -> list[tuple[SniffedFile, Claim]]:
        """Leave out repeats, tell evaluations apart, and give the mapper groups, rewards and engines."""
        from rollprof.adapters.trl.arranging import arrange

        return arrange(files, config, ledger)


ADAPTER = TrlAdapter()
