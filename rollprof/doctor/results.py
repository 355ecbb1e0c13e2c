"""What a diagnosis says. Frozen; the same names in Python, JSON and the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Fit = Literal["yes", "no", "unknown"]
"""Whether the release that wrote the log has an option."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file, and what it gives.

    `steps` are the training steps in it, `columns` those of the step table that it alone would fill,
    `facts` the names of what it says about the job. `runs` names the runs that it is part of.
    """

    path: str
    size: int
    adapter: str
    role: str
    sink: str
    why: str
    split: str
    precision: str
    steps: int
    first_step: int | None
    last_step: int | None
    columns: Sequence[str]
    facts: Sequence[str]
    samples: int
    """Of engines and GPUs."""
    runs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Stranger:
    """A file that nobody recognised: what it looks like, and the keys of its records."""

    path: str
    size: int
    kind: str
    why: str
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class Join:
    """Why a file is part of a run."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Run:
    """A candidate: what would be analysed under this name. `older`: an earlier run in the same file."""

    name: str
    steps: int
    files: int
    joins: Sequence[Join]
    older: bool
    chosen: bool


@dataclass(frozen=True, slots=True)
class KnownFact:
    """Something about the job, where it comes from and how it is known."""

    name: str
    value: Any
    origin: str
    how: str


@dataclass(frozen=True, slots=True)
class Available:
    """A figure that this log allows. `value` None with an `interval` is a bracket."""

    figure: str
    value: float | None
    unit: str
    basis: str | None
    bound: str | None
    interval: tuple[float, float] | None
    note: str


@dataclass(frozen=True, slots=True)
class Absent:
    """A figure that this log does not allow, and what would."""

    figure: str
    why: str
    enable: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """One option of the framework (or of rollprof), and the figures it would bring or put on a better basis.

    `releases` says which have it, `fits` whether the one that wrote this log is among them. That there is
    none is said too (`none`): nobody needs to search for it. A figure that needs two options stands at both.
    """

    option: str
    releases: str
    fits: Fit
    none: bool
    brings: Sequence[str]
    improves: Sequence[str]


@dataclass(frozen=True, slots=True)
class Trap:
    """A number in this log that is not what it seems. `handled`: read correctly all the same."""

    code: str
    text: str
    handled: bool
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code that makes a framework without such an option write its rollouts."""

    file: str
    use: str
    code: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All of it. `run` None where several runs are there and none was chosen, or none could be read;
    `problem` says why figures are not there."""

    framework: str
    title: str
    version: str | None
    trainer: str | None
    sources: Sequence[Source]
    strangers: Sequence[Stranger]
    runs: Sequence[Run]
    run: str | None
    facts: Sequence[KnownFact]
    figures: Sequence[Available]
    missing: Sequence[Absent]
    remedies: Sequence[Remedy]
    traps: Sequence[Trap]
    notes: Sequence[str]
    snippet: Snippet | None
    ledger: Mapping[str, Any]
    problem: str | None = None
    usable: bool = True
