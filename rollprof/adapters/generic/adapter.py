"""The generic adapter: JSON lines, JSON documents and Parquet whose keys say what they are. A last resort
beside the frameworks' adapters, and the reader for everything else once `--map` names the keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rollprof.adapters.base import (
    Brings,
    Claim,
    Evidence,
    Interpretation,
    MapperContext,
    MetricPart,
    RowMapper,
)
from rollprof.adapters.generic import mixed
from rollprof.adapters.generic.aliases import resolve, step_of_name, usable
from rollprof.adapters.generic.rows import KeyMapper
from rollprof.adapters.mapping import CONVERT, column_named, lookup
from rollprof.schema.ledger import Ledger
from rollprof.sources.records import SniffedFile

NAME = "generic"
RELATIVE_CLOCK = 1e8
"""Times below this (March 1973) are seconds since some start."""

NO_STEP = "no step column: one step assumed"

_BRINGS = {
    column: Brings(f"a key {column} in each record (or --map {column}=KEY)")
    for column in CONVERT
    if column not in ("prompt", "response", "group", "token_basis")
}


class GenericAdapter:
    """Rollouts and step metrics by the names of their keys."""

    name = NAME
    title = "generic JSON lines or Parquet"

    @property
    def brings(self) -> Mapping[str, Brings]:
        return _BRINGS

    def claim(self, file: SniffedFile) -> Claim | None:
        from rollprof.adapters.generic.metrics import is_step

        if file.kind in ("json_lines", "json_document") and file.objects:
            if all(is_step(record) for record in file.objects):
                return Claim(
                    NAME, "metrics", 0.3, "records of steps, with columns named as rollprof names them"
                )
            keys = dict.fromkeys(key for record in file.objects for key in record)
        elif file.kind == "parquet":
            keys = dict.fromkeys(file.columns)
        else:
            return None
        columns = resolve(keys)
        if not usable(columns):
            return None
        return self._rollouts(file, {column: names[0] for column, names in columns.items()}, 0.15)

    def claim_mapped(self, file: SniffedFile, columns: Mapping[str, str]) -> Claim | None:
        """A claim on a file whose keys `--map` names (COLUMN -> KEY), as far as its head has them."""
        if file.kind not in ("json_lines", "json_document", "parquet"):
            return None
        mapped = {column_named(name): key for name, key in columns.items()}
        if file.kind == "parquet":
            there = {column: key for column, key in mapped.items() if key.partition(".")[0] in file.columns}
        else:
            there = {
                column: key
                for column, key in mapped.items()
                if any(lookup(key)(record) is not None for record in file.objects)
            }
        found = resolve(dict.fromkeys(k for record in file.objects for k in record) or file.columns)
        named = {**{column: names[0] for column, names in found.items()}, **there}
        return self._rollouts(file, named, 0.2) if there and usable(named) else None

    def mapper(self, context: MapperContext) -> RowMapper:
        return KeyMapper(context)

    def read(self, file: SniffedFile, claim: Claim, ledger: Ledger) -> list[MetricPart]:
        if mixed.STEPS_TOO in claim.hints:
            return mixed.read(file, claim, ledger)
        from rollprof.adapters.generic import metrics

        return metrics.read(file, claim, ledger)

    def interpret(self, evidence: Evidence) -> Interpretation:
        from rollprof.adapters.generic import metrics

        return metrics.interpret(evidence)

    def arrange(
        self,
        files: Sequence[tuple[SniffedFile, Claim]],
        _config: Mapping[str, object],
        ledger: Ledger,
    ) -> list[tuple[SniffedFile, Claim]]:
        """All files as they stand; what was assumed about them is noted."""
        for file, claim in files:
            if claim.hints.get("step") == NO_STEP:
                ledger.note(file.name, 0, NO_STEP)
        return list(files)

    def _rollouts(self, file: SniffedFile, named: Mapping[str, str], score: float) -> Claim:
        hints: dict[str, str] = {}
        if "step" not in named:
            numbered = file.stem.isdigit()
            hints["step"] = f"step {step_of_name(file.stem)} by the file's name" if numbered else NO_STEP
        clock = _clock(file.objects, [named[c] for c in ("started_at", "completed_at") if c in named])
        if clock:
            hints["clock"] = clock
        hints |= mixed.hints_for(file, named)
        shown = ", ".join(f"{c} from {k}" if c != k else c for c, k in sorted(named.items())[:6])
        claim = Claim(
            NAME,
            "rollouts",
            score,
            f"records with {shown}" + (f" and {len(named) - 6} more" if len(named) > 6 else ""),
            "eval" if _is_eval(file) else "train",
            file.name.rpartition("/")[0] or file.name if file.stem.isdigit() else file.name,
            hints,
        )
        return replace(claim, beside=mixed.beside(claim, named))


def _clock(objects: Iterable[Mapping[str, object]], keys: Sequence[str]) -> str | None:
    moment = CONVERT["completed_at"]
    times = [t for record in objects for key in keys if (t := moment(lookup(key)(dict(record)))) is not None]
    if not times:
        return None
    return "relative" if max(times) < RELATIVE_CLOCK else "epoch"


def _is_eval(file: SniffedFile) -> bool:
    folders = file.name.replace("\\", "/").split("/")[:-1]
    return any(folder.lower() in ("eval", "evaluation", "val", "validation") for folder in folders)


ADAPTER = GenericAdapter()
