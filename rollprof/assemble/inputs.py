"""What the user pointed at: files found, looked at, and claimed by adapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rollprof.adapters import registry
from rollprof.adapters.base import Claim
from rollprof.adapters.engines.collecting import SAMPLES
from rollprof.errors import InputProblem
from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import fingerprint
from rollprof.sources.records import SniffedFile
from rollprof.sources.tree import find_files


@dataclass(frozen=True, slots=True)
class Input:
    """A file and what it was recognised as.

    `also`: claims on what else it holds: samples of engines or GPUs, steps among rollouts.
    """

    file: SniffedFile
    claim: Claim
    also: tuple[Claim, ...] = ()

    def describe(self) -> dict[str, object]:
        """The entry of the metadata's list of sources."""
        return {
            "path": self.file.name,
            "size": self.file.size,
            "hash": fingerprint(self.file.path),
            "adapter": self.claim.adapter,
            "role": self.claim.role,
            "why": self.claim.why,
        }


@dataclass(frozen=True, slots=True)
class Recognised:
    """All inputs with a claim, and the files that nobody recognised."""

    inputs: tuple[Input, ...]
    strangers: tuple[SniffedFile, ...]
    empty: tuple[SniffedFile, ...] = ()


def recognise(
    arguments: Sequence[str], framework: str | None, columns: Mapping[str, str], ledger: Ledger
) -> Recognised:
    """Find the files and let the adapters claim them; the best claim of each file wins.

    `framework` restricts the adapters (`--from`), `columns` (`--map`) makes files with unknown keys
    readable; adapters that fail are named in `ledger`. Raises InputProblem when nothing is recognised.
    """
    found = look(arguments, framework, columns, ledger)
    if not found.inputs:
        raise nothing(arguments, (*found.strangers, *found.empty), framework)
    return found


def look(
    arguments: Sequence[str], framework: str | None, columns: Mapping[str, str], ledger: Ledger
) -> Recognised:
    """As `recognise`, where nothing recognised is an answer too. InputProblem when no file is there."""
    files = find_files(arguments)
    if not files:
        raise nothing(arguments, files, framework)
    inputs: list[Input] = []
    strangers: list[SniffedFile] = []
    for file in files:
        claims = registry.claims(file, only=framework, columns=columns, ledger=ledger)
        if claims:
            also = tuple(c for c in claims[1:] if c.hints.get(SAMPLES))
            inputs.append(Input(file, claims[0], claims[0].beside + also))
        elif file.kind != "empty":
            strangers.append(file)
    return Recognised(tuple(inputs), tuple(strangers), tuple(f for f in files if f.kind == "empty"))


def nothing(arguments: Sequence[str], files: Sequence[SniffedFile], framework: str | None) -> InputProblem:
    """What to say where no file is recognised."""
    shown = ", ".join(arguments)
    if not files:
        return InputProblem(f"{shown}: no files there")
    if all(file.kind == "empty" for file in files):
        return InputProblem(f"{shown}: empty, nothing to read")
    looked = f"as {framework}" if framework else f"as any of {', '.join(registry.names())}"
    what = "the file was" if len(files) == 1 else f"none of the {len(files)} files was"
    negated = "not " if len(files) == 1 else ""
    return InputProblem(
        f"{shown}: {what} {negated}recognised {looked}",
        hint="name the framework with --from, or the keys with --map response_tokens=KEY",
    )
